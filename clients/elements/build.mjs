// Builds dist: the elements as modules that load nothing from elsewhere. The player is the one of Spool's own pages, from
// internal/web/player; the transfer of files is the one of clients/typescript.
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";

import { build } from "esbuild";

const here = import.meta.dirname, web = path.join(here, "../../internal/web");

// The libraries of the player lie beside it, compressed, as the server sends them.
const libraries = {
  name: "libraries",
  setup(b) {
    b.onResolve({ filter: /^\.\/(hls|media-chrome)\.js$/ }, ({ path: file }) => ({ path: path.join(web, "player/thirdparty", `${file}.gz`), namespace: "library" }));
    b.onLoad({ filter: /.*/, namespace: "library" }, ({ path: file }) => ({ contents: gunzipSync(readFileSync(file)), loader: "js" }));
  },
};

// The colours of the uploader are those of the console; its style sheet has them as defaults.
const tokens = {
  name: "tokens",
  setup(b) {
    b.onResolve({ filter: /^tokens$/ }, () => ({ path: "tokens", namespace: "tokens" }));
    b.onLoad({ filter: /.*/, namespace: "tokens" }, () => {
      const [, light, dark] = /:root \{(.*?)\n\}.*?:root \{(.*?)\n {2}\}/s.exec(readFileSync(path.join(web, "assets/design/tokens.css"), "utf8"));
      return { contents: `export default ${JSON.stringify({ light: values(light), dark: values(dark) })};` };
    });
  },
};

const wanted = ["panel", "sunken", "line", "field", "text", "soft", "accent", "ink", "on-ink", "good", "bad"];

function values(css) {
  return Object.fromEntries(wanted.map((name) => [name, new RegExp(`--${name}: ([^;]+);`).exec(css)[1]]));
}

rmSync(path.join(here, "dist"), { recursive: true, force: true });
await build({
  entryPoints: Object.fromEntries(["index", "player", "uploader", "react"].map((name) => [name, path.join(here, "src", `${name}.js`)])),
  outdir: path.join(here, "dist"), plugins: [libraries, tokens], external: ["react", "react/jsx-runtime"],
  bundle: true, splitting: true, chunkNames: "part-[hash]", format: "esm", minify: true, target: "es2022", legalComments: "none", logLevel: "warning",
});
for (const library of ["hls", "media-chrome"]) copyFileSync(path.join(web, `player/thirdparty/${library}.LICENSE`), path.join(here, "dist", `${library}.LICENSE`));
