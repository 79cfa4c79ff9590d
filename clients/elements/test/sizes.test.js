// How much a page loads, compressed as servers send it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url);

/** weigh adds up a module and all that it may import, also later. */
function weigh(name, seen = new Set()) {
  if (seen.has(name)) return 0;
  seen.add(name);
  const text = readFileSync(new URL(name, dist));
  const imported = [...text.toString().matchAll(/(?:from|import)\s*\(?\s*"\.\/([^"]+)"/g)].map(([, other]) => other).filter((other) => existsSync(new URL(other, dist)));
  return imported.reduce((sum, other) => sum + weigh(other, seen), gzipSync(text, { level: 9 }).length);
}

for (const [name, most] of [["player.js", 260_000], ["uploader.js", 15_000]]) {
  test(`${name}, with everything that it loads, has at most ${most / 1000} kB`, (t) => {
    const size = weigh(name);
    t.diagnostic(`${name} has ${(size / 1000).toFixed(1)} kB`);
    assert.ok(size <= most && size > most / 10, `it has ${size} bytes`);
  });
}
