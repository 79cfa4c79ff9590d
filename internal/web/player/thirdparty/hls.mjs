// Builds hls.js from the sources in its package, without what streams of Spool never need: node hls.mjs PACKAGES OUT
// scripts/vendor-player.sh runs it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

const [packages, out] = process.argv.slice(2).map((p) => path.resolve(p));
const { build } = createRequire(path.join(packages, "x.js"))("esbuild");
const source = path.join(packages, "node_modules/hls.js");
const { version } = JSON.parse(readFileSync(path.join(source, "package.json"), "utf8"));

// The switches of hls.js' own builds. Spool's streams are fragmented MP4 without encryption, and their texts are WebVTT.
const used = { ALT_AUDIO: true, SUBTITLES: true, MEDIA_CAPABILITIES: true };
const left = ["CMCD", "CONTENT_STEERING", "EME_DRM", "IFRAMES", "INTERSTITIALS", "M2TS_ADVANCED_CODECS", "VARIABLE_SUBSTITUTION"];
const define = { __VERSION__: JSON.stringify(version), __HLS_WORKER_BUNDLE__: "undefined", __IN_WORKER__: "false" };
for (const name of [...Object.keys(used), ...left]) define[`__USE_${name}__`] = String(Boolean(used[name]));

// What the switches leave behind: MPEG transport streams, captions inside the picture, TTML.
const empty = /\/(eme|cmcd|content-steering|iframe|iframe-stream|image-iframe-stream|interstitials)-controller$|\/(tsdemuxer|mp4-generator|cea-608-parser|imsc1-ttml-parser)$/;
const changes = {
  "demux/transmuxer.ts": [[/\n {2}\{ demux: (TS|AAC|MP3)Demuxer, remux: MP4Remuxer \},/g, ""], [/TSDemuxer\.probe\([^)]*\)/g, "false"]],
  "config.ts": [[/enable(IMSC1|CEA708Captions): __USE_SUBTITLES__/g, "enable$1: false"]],
};

const lean = {
  name: "lean",
  setup(b) {
    b.onResolve({ filter: empty }, ({ path: file }) => ({ path: file, namespace: "empty" }));
    b.onLoad({ filter: /.*/, namespace: "empty" }, () => ({ contents: "module.exports = {};" }));
    b.onLoad({ filter: /\/src\/(demux\/transmuxer|config)\.ts$/ }, ({ path: file }) => {
      let contents = readFileSync(file, "utf8");
      for (const [from, to] of changes[path.relative(path.join(source, "src"), file)]) {
        if (!from.test(contents)) throw new Error(`${file} has nothing like ${from}`);
        contents = contents.replace(from, to);
      }
      return { contents, loader: "ts" };
    });
  },
};

await build({
  entryPoints: [path.join(source, "src/exports-default.ts")], outfile: path.join(out, "hls.js"), plugins: [lean], define,
  bundle: true, format: "esm", minify: true, target: "es2022", legalComments: "none", logLevel: "warning",
});
