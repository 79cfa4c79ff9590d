import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, open, readdir, truncate, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";

import { Spool, SpoolError, uploadFile, VideoFailedError } from "../dist/index.js";
import { openFile } from "../dist/node.js";
import { apiKey, Server } from "./server.js";

const mebi = 1 << 20;
const draft = { filename: "clip.mp4", resolutions: ["144p"], isPublic: true };
let server, spool;

before(async () => {
  server = await Server.start();
  spool = new Spool({ server: server.url, apiKey });
});
after(() => server.stop());

const rejects = (promise, code, kind = SpoolError) => assert.rejects(promise, (error) => {
  assert.ok(error instanceof kind, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, /^[A-Z].*\.$/);
  return true;
});

test("create, upload, complete, ready, play, delete", async () => {
  const file = await openFile(await server.clip());
  const progress = [];
  const video = await spool.create({ ...draft, customMetadata: { album: "flow" } });
  const done = await spool.upload(video, file, { onProgress: (sent, total) => progress.push([sent, total]) });
  assert.equal(done.id, video.id);
  assert.deepEqual(progress.at(-1), [file.size, file.size]);

  const states = [];
  const ready = await spool.waitUntilReady(video.id, { onUpdate: (v) => states.push(v.status) });
  assert.equal(ready.status, "ready");
  assert.equal(states.at(-1), "ready");
  assert.equal((await spool.get(video.id)).filename, "clip.mp4");
  const { resolutions } = await spool.getPublic(video.id);
  assert.equal((await fetch(resolutions["144p"].videoUrl, { method: "HEAD" })).status, 200);
  await rejects(spool.getPrivate(video.id, 60), "video_is_public");
  assert.equal((await spool.report(video.id)).status, "ready");
  assert.ok((await spool.usage()).videos >= 1);

  const more = await spool.addResolution(video.id, "240p");
  assert.ok(more.resolutions["240p"]);
  const both = await spool.waitUntilReady(video.id);
  assert.equal((await spool.retry(both.resolutions["240p"].id)).resolutions["240p"].status, "ready");
  await spool.deleteResolution(both.resolutions["240p"].id);
  assert.deepEqual(Object.keys((await spool.get(video.id)).resolutions), ["144p"]);

  await spool.delete(video.id);
  await rejects(spool.get(video.id), "video_not_found");
  await rejects(spool.waitUntilReady(video.id), "video_not_found");
});

test("errors have a code, a sentence and all faults", async () => {
  await rejects(new Spool({ server: server.url, apiKey: "wrong" }).get("x"), "invalid_api_key");
  await rejects(new Spool({ server: "http://127.0.0.1:1", apiKey, retries: 0 }).get("x"), "network_error");
  await assert.rejects(spool.create({ filename: "", resolutions: ["9p"], isPublic: true }), (error) => {
    assert.equal(error.status, 400);
    assert.deepEqual(error.details.errors.map((e) => e.field), ["filename", "resolutions[0]"]);
    assert.ok(error.details.requestId);
    return true;
  });
});

test("a video that fails is an error with its own code", async () => {
  const video = await spool.create(draft);
  await rejects(spool.upload(video, new Blob(["no video at all"])), "not_a_video");
  await rejects(spool.waitUntilReady(video.id), "not_a_video", VideoFailedError);
});

test("the list is read page by page, and searched", async () => {
  const ids = [];
  for (let i = 0; i < 5; i++) ids.unshift((await spool.create({ ...draft, customMetadata: { album: "list & search" } })).id);
  const found = [];
  for await (const video of spool.list({ metadata: { album: "list & search" }, status: "pending_upload", limit: 2 })) found.push(video.id);
  assert.deepEqual(found, ids);
});

test("a create or a delete whose answer is lost is done once", async () => {
  let lost = 0;
  const proxy = await startProxy((req, res, answer) => {
    if (req.method !== "GET" && lost++ < 2) res.destroy(); // after the server has done it
    else res.writeHead(answer.statusCode, answer.headers).end(answer.body);
  });
  try {
    const video = await new Spool({ server: proxy.url, apiKey }).create({ ...draft, customMetadata: { album: "lost" } });
    assert.equal(lost, 3);
    const all = [];
    for await (const v of spool.list({ metadata: { album: "lost" } })) all.push(v.id);
    assert.deepEqual(all, [video.id]);
    lost = 0;
    await new Spool({ server: proxy.url, apiKey }).delete(video.id);
    assert.equal(lost, 3);
    await rejects(new Spool({ server: proxy.url, apiKey }).delete(video.id), "video_not_found");
  } finally {
    proxy.close();
  }
});

test("where events do not get through, it polls", async () => {
  let streams = 0;
  const proxy = await startProxy((req, res, answer) => {
    if (req.url.endsWith("/events")) {
      streams++;
      res.writeHead(405).end("not here");
    } else res.writeHead(answer.statusCode, answer.headers).end(answer.body);
  });
  try {
    const video = await spool.create(draft);
    await spool.upload(video, await openFile(await server.clip("poll.mp4")));
    const ready = await new Spool({ server: proxy.url, apiKey }).waitUntilReady(video.id, { pollMilliseconds: 100 });
    assert.equal(ready.status, "ready");
    assert.equal(streams, 1);
  } finally {
    proxy.close();
  }
});

// SPOOL_TEST_LONG makes it as large as a long film.
const large = process.env.SPOOL_TEST_LONG ? { bytes: 6144 * mebi - 7, cuts: 20, chunkBytes: 16 * mebi } : { bytes: 84 * mebi - 7, cuts: 5, chunkBytes: 4 * mebi };

test("a large file is sent piece by piece and goes on after cuts and kill -9", { timeout: 1_800_000 }, async (t) => {
  const path = await server.clip("large.mp4", large.bytes);
  let cuts = 0, kills = 0, restarted = Promise.resolve(), most;
  const proxy = await startCutter((bytes) => bytes > 1.5 * mebi && cuts < large.cuts && Math.random() < 0.1 && ++cuts);
  const video = await spool.create(draft);
  try {
    most = await uploadApart({ ...video, tusUrl: video.tusUrl.replace(server.url, proxy.url) }, path, { chunkBytes: large.chunkBytes }, (sent, total) => {
      if (sent > (total / 4) * (kills + 1) && kills < 3) {
        kills++;
        restarted = restarted.then(() => server.kill()).then(() => server.launch());
      }
    });
  } finally {
    proxy.close();
    await restarted;
  }
  t.diagnostic(`${Math.round(large.bytes / mebi)} MiB, ${cuts} cuts, ${kills} restarts, at most ${Math.round(most / mebi)} MiB of memory`);
  assert.equal(cuts, large.cuts);
  assert.equal(kills, 3);
  if (process.env.SPOOL_TEST_LONG) assert.ok(most < 120 * mebi, "the memory does not grow with the file");
  await spool.completeUpload(video.id);
  assert.equal((await spool.waitUntilReady(video.id)).status, "ready");
  await wantStored(video.id, path);
});

test("an upload takes the same memory whatever the size, also one with PUT", { timeout: 600_000 }, async (t) => {
  const small = await server.clip("small.mp4"), path = await server.clip("memory.mp4", 300 * mebi);
  const least = await uploadApart(await spool.create(draft), small, { putBytes: 0 });
  for (const options of [{}, { putBytes: 300 * mebi }]) {
    const video = await spool.create(draft);
    const most = await uploadApart(video, path, options);
    t.diagnostic(`${Math.round(most / mebi)} MiB of memory; ${Math.round(least / mebi)} MiB for a small file`);
    assert.ok(most - least < 48 * mebi, `${Math.round((most - least) / mebi)} MiB more than for a small file`);
    await spool.completeUpload(video.id);
    await wantStored(video.id, path);
  }
});

/** uploadApart uploads a file in a process of its own and returns the most memory that it had. */
async function uploadApart(target, path, options, onProgress) {
  const child = fork(fileURLToPath(new URL("uploader.js", import.meta.url)));
  let most;
  child.on("message", (message) => {
    most = message.most ?? most;
    if (message.sent !== undefined) onProgress?.(message.sent, message.total);
  });
  child.send({ target, path, options });
  const [code] = await once(child, "exit");
  assert.equal(code, 0, "the upload succeeds");
  return most;
}

async function wantStored(id, path) {
  const sources = join(server.dir, "data/objects/source", id);
  assert.equal(await sha256(join(sources, (await readdir(sources))[0])), await sha256(path));
}

test("an upload can be aborted and resumed by another process", async () => {
  const file = await openFile(await server.clip("abort.mp4", 24 * mebi));
  const video = await spool.create(draft);
  const stop = new AbortController();
  const cut = uploadFile(video, file, { chunkBytes: 4 * mebi, signal: stop.signal, onProgress: (sent) => sent > 8 * mebi && stop.abort() });
  await assert.rejects(cut, { name: "AbortError" });
  const seen = [];
  await uploadFile(video, file, { chunkBytes: 4 * mebi, onProgress: (sent) => seen.push(sent) });
  assert.ok(seen[0] >= 8 * mebi, `it began at ${seen[0]}`);
  await spool.completeUpload(video.id);
});

test("a refusal in the middle of a body is what one reads, and a redirect is followed", async () => {
  const path = await server.clip("refused.mp4", 24 * mebi);
  const video = await spool.create(draft);
  await rejects(uploadFile({ ...video, uploadUrl: video.uploadUrl.replace("/upload/1", "/upload/2"), tusUrl: undefined }, await openFile(path)), "url_invalid");
  const hops = [301, 302, 307, 308];
  const other = createServer((req, res) => {
    const status = hops.shift();
    res.writeHead(status, { Location: hops.length > 0 ? req.url : server.url + req.url }).end();
  });
  const { url, close } = await listening(other);
  try {
    await uploadFile({ ...video, uploadUrl: video.uploadUrl.replace(server.url, url), tusUrl: undefined }, await openFile(path));
  } finally {
    close();
  }
  assert.equal(hops.length, 0);
  await spool.completeUpload(video.id);
  await wantStored(video.id, path);
});

test("a read that ends after a redirect does not get into what is sent", async (t) => {
  const path = await server.clip("late.mp4", 2 * mebi), second = 256 << 10;
  const video = await spool.create(draft);
  const other = createServer((req, res) => { res.writeHead(307, { Location: server.url + req.url }).end(); });
  const { url, close } = await listening(other);
  let redirected, late;
  const again = new Promise((resolve) => { redirected = resolve; });
  const reads = await mockRead(t, path, async (read, position) => {
    if (position === second && !late) return late = again.then(read);
    const result = await read();
    if (position === 0 && late) await (redirected(), late);
    return result;
  });
  try {
    await uploadFile({ ...video, uploadUrl: video.uploadUrl.replace(server.url, url), tusUrl: undefined }, await openFile(path));
  } finally {
    close();
  }
  assert.deepEqual(reads.slice(0, 3), [0, second, 0]);
  await spool.completeUpload(video.id);
  await wantStored(video.id, path);
});

/** mockRead has someone else make each read of a file, and returns the list of where they were. */
async function mockRead(t, path, how) {
  const file = await open(path), positions = [];
  const kind = Object.getPrototypeOf(file), original = kind.read;
  await file.close();
  t.mock.method(kind, "read", function (...args) {
    positions.push(args[3]);
    return how(() => original.apply(this, args), args[3]);
  });
  return positions;
}

test("a file that changes is not uploaded", async () => {
  const path = await server.clip("changes.mp4", 12 * mebi);
  const video = await spool.create(draft);
  const file = await openFile(path);
  let changed;
  const upload = uploadFile(video, file, { putBytes: 0, chunkBytes: 4 * mebi, onProgress: () => { changed ??= appendFile(path, "more"); } });
  await rejects(upload, "file_changed");
});

test("what is no fault of the connection is not tried again", async (t) => {
  const path = await server.clip("fault.mp4", mebi);
  const video = await spool.create(draft), mine = new TypeError("mine");
  for (const putBytes of [0, mebi]) {
    let calls = 0;
    await assert.rejects(uploadFile(video, await openFile(path), { putBytes, onProgress: (sent) => { if (sent > 0) { calls++; throw mine; } } }), mine);
    assert.equal(calls, 1);
  }
  const reads = await mockRead(t, path, () => Promise.reject(Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" })));
  await assert.rejects(uploadFile(video, await openFile(path)), { code: "EIO" });
  assert.equal(reads.length, 1);
});

// Node 20 has 6 GiB for 2 GiB if it is asked with openAsBlob.
test("every byte of a very large file is read", async () => {
  const path = join(server.dir, "sparse.bin"), size = 6 * 2 ** 30;
  await writeFile(path, "");
  await truncate(path, size);
  await appendFile(path, "the end");
  const file = await openFile(path);
  assert.equal(file.size, size + 7);
  assert.equal(await (await file.slice(size, size + 7)).text(), "the end");
});

test("another file at the same URL is an error, unless it replaces", async () => {
  const video = await spool.create(draft);
  await uploadFile(video, new Blob([new Uint8Array(5000)]), { putBytes: 0 });
  const other = new Blob([new Uint8Array(4000)]);
  await rejects(uploadFile(video, other, { putBytes: 0 }), "upload_exists");
  await uploadFile(video, other, { putBytes: 0, replace: true });
});

test("waiting ends with its signal", async () => {
  const video = await spool.create(draft);
  const stop = new AbortController();
  await assert.rejects(spool.waitUntilReady(video.id, { signal: stop.signal, onUpdate: () => stop.abort() }), { name: "AbortError" });
});

async function sha256(path) {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest("hex");
}

/** startProxy passes requests on; answer decides what becomes of each answer. */
async function startProxy(answer) {
  const proxy = createServer(async (req, res) => {
    const pieces = [];
    for await (const piece of req) pieces.push(piece);
    const { host: _, ...headers } = req.headers;
    const out = await fetch(server.url + req.url, { method: req.method, headers: { "x-api-key": headers["x-api-key"], ...pick(headers, "content-type", "idempotency-key") },
      body: pieces.length ? Buffer.concat(pieces) : undefined });
    const body = req.url.endsWith("/events") ? (await out.body.cancel(), "") : Buffer.from(await out.arrayBuffer());
    answer(req, res, { statusCode: out.status, headers: { "content-type": out.headers.get("content-type") ?? "text/plain" }, body });
  });
  return listening(proxy);
}

const pick = (from, ...names) => Object.fromEntries(names.filter((n) => from[n]).map((n) => [n, from[n]]));

/** startCutter passes requests on and cuts those for which cut says so. */
async function startCutter(cut) {
  const proxy = createServer((req, res) => {
    const out = request(server.url + req.url, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
      answer.on("error", () => res.destroy());
    });
    out.on("error", () => res.destroy());
    pipeline(req, async function* (pieces) {
      let bytes = 0;
      for await (const piece of pieces) {
        bytes += piece.length;
        if (cut(bytes)) throw new Error("cut");
        yield piece;
      }
    }, out).catch(() => res.destroy());
  });
  return listening(proxy);
}

async function listening(proxy) {
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return { url: `http://127.0.0.1:${proxy.address().port}`, close: () => { proxy.close(); proxy.closeAllConnections(); } };
}

test("watermarks, audience, audit, sessions", async () => {
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  const mark = await spool.addWatermark(new Blob([png], { type: "image/png" }), { name: "dot" });
  assert.equal(mark.width, 1);
  assert.deepEqual((await spool.watermarks()).map((w) => w.name), ["dot"]);
  await spool.deleteWatermark(mark.id);
  assert.deepEqual(await spool.watermarks(), []);

  const audience = await spool.audience({ from: new Date(Date.now() - 86400_000) });
  assert.equal(audience.views, 0);
  const video = await spool.create(draft);
  assert.equal((await spool.videoAudience(video.id)).views, 0);
  await rejects(spool.transcribe(video.id, { language: "en" }), "no_transcriber");
  await rejects(spool.translate(video.id, "en", ["de"]), "no_translator");

  const done = [];
  for await (const entry of spool.audit({ action: "watermark.add" })) done.push(entry.target);
  assert.deepEqual(done, [mark.id]);
  for await (const session of spool.sessions()) assert.fail(`${session.id} is signed in`);
  await rejects(spool.endSession(video.id), "session_not_found");
  await spool.delete(video.id);
});
