// Builds media-chrome.js from its package: node build.mjs PACKAGES OUT
// scripts/vendor-player.sh runs it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

const [packages, out] = process.argv.slice(2).map((p) => path.resolve(p));
const { build } = createRequire(path.join(packages, "x.js"))("esbuild");
const here = import.meta.dirname;

// Every place where media-chrome writes markup. The build fails if a new version has another one.
const replacements = [
  [/this\.shadowRoot\.setHTMLUnsafe \? this\.shadowRoot\.setHTMLUnsafe\(html\) : this\.shadowRoot\.innerHTML = html;/g, "fill(this.shadowRoot, html);"],
  [/track\.insertAdjacentHTML\(\s*"afterbegin",\s*('[^']*')\s*\);/g, "prepend(track, $1);"],
  [/((?:content|this|__privateGet\(this, _slot\))[\w.]*(?:\.querySelector\([^)]*\))?)\.innerHTML = ([^;]+);/g, "fill($1, $2);"],
  // Titles of chapters are plain text. A strict policy refuses to parse them as a page.
  [/domParser\.parseFromString\(text, "text\/html"\)\.body\.textContent \|\| text/g, "text"],
  [/const layoutRowStyle = [^;]*;\s*/g, ""],
  [/layoutRowStyle\.setAttribute\("media", ([^;]+)\);/g, 'setMedia(this.shadowRoot, "layout-row", $1);'],
];
const harmless = [/!== __privateGet\(this, _slot\)\.innerHTML/, /this\.innerHTML = "";/];

const strictPolicy = {
  name: "strict-policy",
  setup(b) {
    b.onLoad({ filter: /media-chrome\/dist\/.*\.js$/ }, ({ path: file }) => {
      const text = readFileSync(file, "utf8");
      if (file.endsWith("utils/server-safe-globals.js")) return { contents: text };
      let changed = text;
      for (const [from, to] of replacements) changed = changed.replace(from, to);
      for (const line of changed.split("\n")) {
        if (/innerHTML|setHTMLUnsafe|insertAdjacentHTML/.test(line) && !harmless.some((h) => h.test(line))) throw new Error(`${file} writes markup in a new way: ${line}`);
      }
      if (changed !== text) changed = `import { fill, prepend, setMedia } from ${JSON.stringify(path.join(here, "markup.mjs"))};\n${changed}`;
      if (file.endsWith("utils/element-utils.js")) changed = replaceRules(changed);
      return { contents: changed };
    });
  },
};

function replaceRules(text) {
  const without = text.replace(/^function (get|insert)CSSRule\([\s\S]*?^}\n/gm, "");
  if (/^function (get|insert)CSSRule/m.test(without) || without === text) throw new Error("element-utils.js is not as expected");
  return `import { getCSSRule, insertCSSRule } from ${JSON.stringify(path.join(here, "markup.mjs"))};\n${without}`;
}

await build({
  entryPoints: [path.join(here, "media-chrome.mjs")], outfile: path.join(out, "media-chrome.js"), plugins: [strictPolicy],
  bundle: true, format: "esm", minify: true, target: "es2022", legalComments: "none",
  nodePaths: [path.join(packages, "node_modules")], logLevel: "warning",
});
