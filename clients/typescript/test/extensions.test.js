// What not every server has. Each test is skipped where the server does not describe the operation.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { Spool, SpoolError, verifyWebhook } from "../dist/index.js";
import { openFile } from "../dist/node.js";
import { apiKey, Server } from "./server.js";

const draft = { filename: "clip.mp4", resolutions: ["144p"], isPublic: true };
let server, spool, paths;

before(async () => {
  server = await Server.start({ SPOOL_OUTBOUND_ALLOW: "127.0.0.1" });
  spool = new Spool({ server: server.url, apiKey });
  ({ paths } = await (await fetch(`${server.url}/openapi.json`)).json());
});
after(() => server.stop());

/** having runs a test where the server has the operation. */
const having = (method, path, name, body) => test(name, async (t) => paths[path]?.[method] ? body(t) : t.skip(`the server has no ${method} ${path}`));
const code = (promise) => promise.then(() => "none", (error) => error instanceof SpoolError ? error.code : String(error));

having("patch", "/api/video/{id}", "title and metadata can be changed", async () => {
  const { id } = await spool.create({ ...draft, title: "One", customMetadata: { a: 1 } });
  assert.equal((await spool.get(id)).title, "One");
  const changed = await spool.patch(id, { title: "Two", customMetadata: { b: 2 } });
  assert.deepEqual([changed.title, changed.customMetadata], ["Two", { b: 2 }]);
});

having("get", "/api/tag", "videos are tagged, found and counted", async () => {
  const { id } = await spool.create({ ...draft, tags: ["c", "a"], maxDurationSeconds: 60 });
  await spool.patch(id, { tags: ["a", "b b"] });
  const found = async (tag) => { const ids = []; for await (const video of spool.list({ tag })) ids.push(video.id); return ids; };
  assert.deepEqual([await found(["b b", "a"]), await found("a"), await found(["a", "c"])], [[id], [id], []]);
  const tags = [];
  for await (const one of spool.tags()) tags.push(one);
  assert.deepEqual(tags, [{ tag: "a", videos: 1 }, { tag: "b b", videos: 1 }]);
  const [changed] = await spool.patchMany([id], { tags: { add: ["d"], remove: ["a"] }, expiresAt: "2130-01-01T00:00:00Z" });
  assert.deepEqual([changed.tags, changed.expiresAt], [["b b", "d"], "2130-01-01T00:00:00Z"]);
  assert.deepEqual((await spool.patch(id, { tags: null })).tags, []);
});

having("post", "/api/video/{id}/token", "a token follows one video without the key", async () => {
  const video = await spool.create(draft), other = await spool.create(draft);
  const { token, expiresAt } = await spool.createToken(video.id, 60);
  assert.ok(Date.parse(expiresAt) > Date.now());
  const page = new Spool({ server: server.url, token });
  assert.equal((await page.get(video.id)).id, video.id);
  assert.equal(await code(page.get(other.id)), "invalid_token");
  const ready = page.waitUntilReady(video.id);
  await spool.upload(video, await openFile(await server.clip("token.mp4")));
  assert.equal((await ready).status, "ready");
});

having("post", "/api/video/{id}/share", "a video is shared", async () => {
  const { id } = await spool.create(draft);
  const made = await spool.createShare(id, { label: "Press", password: "hush" });
  assert.deepEqual([made.label, made.hasPassword, made.expiresAt], ["Press", true, null]);
  assert.equal((await fetch(made.url)).status, 200);
  assert.deepEqual((await spool.shares(id)).map((s) => s.id), [made.id]);
  await spool.deleteShare(id, made.id);
  assert.equal((await fetch(made.url)).status, 404);
});

having("post", "/api/video/{id}/original", "the uploaded file can be downloaded", async () => {
  const video = await spool.create(draft), file = await server.clip("original.mp4");
  assert.equal(await code(spool.original(video.id)), "upload_incomplete");
  await spool.upload(video, await openFile(file));
  const { url, filename, sizeBytes, sha256 } = await spool.original(video.id, 60);
  const whole = new Uint8Array(await (await fetch(url)).arrayBuffer());
  assert.deepEqual([filename, sizeBytes], [draft.filename, whole.length]);
  assert.equal(sha256, createHash("sha256").update(whole).digest("hex"));
});

having("post", "/api/video/{id}/replace", "the file of a video is replaced", async () => {
  const video = await spool.create(draft);
  await spool.upload(video, await openFile(await server.clip("old.mp4")));
  await spool.waitUntilReady(video.id);
  await spool.replace(video.id, { filename: "given-up.mp4" });
  assert.equal((await spool.get(video.id)).replacement.status, "pending_upload");
  await spool.giveUpReplace(video.id);
  const target = await spool.replace(video.id, { filename: "new.mp4" });
  assert.equal(target.id, video.id);
  await spool.upload(target, await openFile(await server.clip("new.mp4")));
  while ((await spool.get(video.id)).replacement) await new Promise((done) => setTimeout(done, 100));
  assert.equal((await spool.get(video.id)).filename, "new.mp4");
});

having("put", "/api/video/{id}/captions/{language}", "captions are added and removed", async () => {
  const { id } = await spool.create(draft);
  const added = await spool.putCaptions(id, "en", "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n", { label: "English", kind: "captions" });
  assert.equal(added.language, "en");
  const { captions } = await spool.getPublic(id);
  assert.deepEqual(captions.map((c) => [c.language, c.label, c.kind, c.source]), [["en", "English", "captions", "uploaded"]]);
  await spool.putCaptions(id, "de", "1\n00:00:00,000 --> 00:00:01,000\nHallo\n", { contentType: "application/x-subrip" });
  await spool.deleteCaptions(id, "en");
  assert.equal(await code(spool.putCaptions(id, "fr", "no captions")), "invalid_captions");
});

having("put", "/api/video/{id}/chapters", "chapters are set and removed", async () => {
  const { id } = await spool.create(draft);
  assert.deepEqual(await spool.putChapters(id, [{ startSeconds: 0, title: "One" }, { startSeconds: 1.5, title: "Two" }]),
    [{ startSeconds: 0, endSeconds: 1.5, title: "One" }, { startSeconds: 1.5, title: "Two" }]);
  await spool.putChapters(id, "0:00 Intro\n0:42 The second act");
  assert.deepEqual((await spool.getPublic(id)).chapters.map((c) => c.title), ["Intro", "The second act"]);
  await spool.deleteChapters(id);
  assert.equal(await code(spool.putChapters(id, "no chapters")), "invalid_chapters");
});

having("post", "/api/webhook", "webhooks are registered, received and verified", async () => {
  const got = [];
  const receiver = createServer(async (req, res) => {
    let body = "";
    for await (const piece of req.setEncoding("utf8")) body += piece;
    got.push({ body, headers: req.headers });
    receiver.emit("received");
    res.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    const hook = await spool.webhooks.create({ url: `http://127.0.0.1:${receiver.address().port}/`, events: ["video.deleted"], description: "test" });
    assert.match(hook.secret, /^whsec_/);
    assert.deepEqual((await spool.webhooks.list()).map((w) => w.id), [hook.id]);
    assert.equal((await spool.webhooks.get(hook.id)).secret, undefined);
    assert.equal((await spool.webhooks.patch(hook.id, { description: "changed" })).description, "changed");

    const first = once(receiver, "received");
    await spool.webhooks.test(hook.id);
    await first;
    assert.equal((await verifyWebhook(got[0].body, got[0].headers, hook.secret)).type, "webhook.test");

    const { secret } = await spool.webhooks.rotateSecret(hook.id);
    const { id } = await spool.create(draft);
    const second = once(receiver, "received");
    await spool.delete(id);
    await second;
    for (const each of [secret, hook.secret]) {
      const event = await verifyWebhook(got[1].body, got[1].headers, each);
      assert.deepEqual([event.type, event.data.id], ["video.deleted", id]);
    }

    const log = [];
    for await (const delivery of spool.webhooks.deliveries(hook.id, { limit: 1 })) log.push(delivery);
    assert.deepEqual(log.map((d) => d.type).sort(), ["video.deleted", "webhook.test"]);
    const third = once(receiver, "received");
    await spool.webhooks.replay(log.find((d) => d.type === "video.deleted").id);
    await third;
    assert.equal(got[2].headers["webhook-id"], got[1].headers["webhook-id"]);

    await spool.webhooks.delete(hook.id);
    assert.deepEqual(await spool.webhooks.list(), []);
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
});

having("post", "/api/video/{id}/import", "a file is fetched by the server", async () => {
  const clip = await readFile(await server.clip("import.mp4"));
  const source = createServer((_, res) => res.writeHead(200, { "Content-Length": clip.length, "Content-Type": "video/mp4" }).end(clip));
  source.listen(0, "127.0.0.1");
  await once(source, "listening");
  try {
    const { id } = await spool.create({ ...draft, sourceUrl: `http://127.0.0.1:${source.address().port}/import.mp4` });
    assert.equal((await spool.waitUntilReady(id)).status, "ready");
  } finally {
    source.close();
    source.closeAllConnections();
  }
});
