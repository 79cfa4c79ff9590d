#!/bin/sh
# Fetches what the player in internal/web/player is made of, builds it, and notes what it is in
# thirdparty/README.md. To update: change the versions, run it, look at the player, run its tests.
# Needs node and npm.
set -eu

media_chrome=4.19.4
hls=1.7.4
esbuild=0.28.2

here=$(cd "$(dirname "$0")/../internal/web/player/thirdparty" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cd "$tmp"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts "media-chrome@$media_chrome" "hls.js@$hls" "esbuild@$esbuild"
mkdir out
node "$here/build.mjs" "$tmp" "$tmp/out"
cp node_modules/hls.js/dist/hls.min.mjs out/hls.js
for file in media-chrome hls; do
	gzip -n9 <"out/$file.js" >"$here/$file.js.gz"
done
cp node_modules/media-chrome/LICENSE "$here/media-chrome.LICENSE"
cp node_modules/hls.js/LICENSE "$here/hls.LICENSE"

sum() { sha256sum "out/$1.js" | cut -d' ' -f1; }
sed -i "/^| file/,\$d" "$here/README.md"
cat >>"$here/README.md" <<END
| file | from | licence | SHA-256 before compression |
|---|---|---|---|
| \`media-chrome.js.gz\` | media-chrome $media_chrome | MIT (\`media-chrome.LICENSE\`) | \`$(sum media-chrome)\` |
| \`hls.js.gz\` | \`dist/hls.min.mjs\` of hls.js $hls | Apache-2.0 (\`hls.LICENSE\`) | \`$(sum hls)\` |
END
