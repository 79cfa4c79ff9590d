// Uploads from a browser: our client, Uppy and tus-js-client, as docs/uploading.md shows them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { apiKey } from "../../clients/typescript/test/server.js";
import { Stage } from "./stage.js";

let stage;
before(async () => { stage = await Stage.open(); }, { timeout: 120_000 });
after(() => stage?.close());

const patient = { timeout: 240_000 };

test("our client: a small file, with progress", patient, async () => {
  const page = await stage.page();
  const { id, last } = await page.evaluate(async () => {
    const video = await post("/videos");
    let last;
    await uploadFile(video, await film("small.mp4"), { onProgress: (sent, total) => { last = sent / total; } });
    await post(`/videos/${video.id}/complete`);
    return { id: video.id, last };
  });
  assert.equal(last, 1);
  assert.ok(await stage.arrived(id, "small.mp4"));
  await page.close();
});

test("our client: goes on after kill -9 of the server, and after a reload of the page", patient, async () => {
  const page = await stage.page();
  const video = await page.evaluate(() => post("/videos"));
  await page.evaluate(async (video) => {
    const stop = new AbortController();
    let crashed;
    await uploadFile(video, await film("one.mp4"), {
      chunkBytes: 8 << 20, signal: stop.signal,
      onProgress(sent, total) {
        if (sent > total / 3) crashed ??= crash();
        if (sent > (2 * total) / 3) stop.abort();
      },
    }).catch((error) => { if (error.name !== "AbortError") throw error; });
    await crashed;
    if (!crashed || !stop.signal.aborted) throw new Error("nothing happened to the upload");
  }, video);
  await page.reload();
  const seen = await page.evaluate(async (video) => {
    const seen = [];
    await uploadFile(video, await film("one.mp4"), { chunkBytes: 8 << 20, onProgress: (sent) => seen.push(sent) });
    await post(`/videos/${video.id}/complete`);
    return seen;
  }, video);
  assert.ok(seen[0] >= 8 << 20, `after the reload it began at ${seen[0]}`);
  assert.ok(new Set(seen).size > 3, "there is progress within a request");
  assert.ok(await stage.arrived(video.id, "one.mp4"));
  await page.close();
});

test("our client: waits and verifies webhooks in a page", patient, async () => {
  const { id } = await stage.spool.create({ filename: "a.mp4", resolutions: ["144p"], isPublic: true });
  const page = await stage.browser.newPage();
  await page.goto(`${stage.server.url}/docs`); // the API itself is for pages of its own origin
  await page.evaluate(stage.script);
  const got = await page.evaluate(async ([id, apiKey]) => {
    const spool = new Spool({ server: "", apiKey });
    const stop = new AbortController();
    const states = [];
    await spool.waitUntilReady(id, { signal: stop.signal, onUpdate: (v) => { states.push(v.status); stop.abort(); } }).catch(() => undefined);
    const code = await verifyWebhook("{}", new Headers(), "whsec_AAAA").catch((error) => error.code);
    return { states, code };
  }, [id, apiKey]);
  assert.deepEqual(got, { states: ["pending_upload"], code: "invalid_signature" });
  await page.close();
});

test("Uppy: an endpoint for each file, pause, resume and kill -9", patient, async () => {
  const page = await stage.page();
  const uploads = await page.evaluate(async () => {
    const uppy = new Uppy().use(Tus, { storeFingerprintForResuming: false, retryDelays: [0, 1000, 3000, 5000, 10000, 30000] });
    uppy.addPreProcessor(async (ids) => {
      for (const id of ids) {
        const video = await post("/videos");
        uppy.setFileState(id, { tus: { endpoint: video.tusUrl, uploadUrl: video.tusUrl } });
        uppy.setFileMeta(id, { videoId: video.id });
      }
    });
    uppy.addPostProcessor(async (ids) => {
      for (const id of ids) await post(`/videos/${uppy.getFile(id).meta.videoId}/complete`);
    });
    for (const name of ["one.mp4", "two.mp4"]) uppy.addFile({ name, type: "video/mp4", data: await film(name) });
    let paused = false, crashed;
    uppy.on("upload-progress", (file, { bytesUploaded, bytesTotal }) => {
      if (file.name !== "two.mp4") return;
      if (bytesUploaded > bytesTotal / 4 && !paused) {
        paused = true;
        uppy.pauseAll();
        setTimeout(() => uppy.resumeAll(), 500);
      }
      if (bytesUploaded > bytesTotal / 2) crashed ??= crash();
    });
    const result = await uppy.upload();
    await crashed;
    if (!paused || !crashed || result.failed.length > 0) throw new Error(`failed: ${result.failed.map((f) => f.error)}`);
    return result.successful.map((file) => [file.name, uppy.getFile(file.id).meta.videoId]);
  });
  assert.deepEqual(uploads.map(([name]) => name).sort(), ["one.mp4", "two.mp4"]);
  for (const [name, id] of uploads) assert.ok(await stage.arrived(id, name), `${name} has arrived`);
  await page.close();
});

test("Uppy: with one endpoint for two files, one of them fails and says so", patient, async () => {
  const page = await stage.page();
  const { successful, failed, id } = await page.evaluate(async () => {
    const video = await post("/videos");
    const uppy = new Uppy().use(Tus, { endpoint: video.tusUrl, retryDelays: [0, 100] });
    for (const name of ["one.mp4", "two.mp4"]) uppy.addFile({ name, type: "video/mp4", data: await film(name) });
    const statuses = [];
    uppy.on("upload-error", (file, error, response) => statuses.push([file.name, response?.status]));
    const result = await uppy.upload();
    await post(`/videos/${video.id}/complete`);
    return { successful: result.successful.map((f) => f.name), failed: statuses, id: video.id };
  });
  assert.equal(successful.length, 1);
  assert.equal(failed.length, 1);
  assert.equal(failed[0][1], 409);
  assert.ok(await stage.arrived(id, successful[0]));
  await page.close();
});

test("tus-js-client: pause, resume and kill -9", patient, async () => {
  const page = await stage.page();
  const id = await page.evaluate(async () => {
    const video = await post("/videos"), file = await film("two.mp4");
    let paused = false, crashed;
    await new Promise((resolve, reject) => {
      const upload = new tus.Upload(file, {
        endpoint: video.tusUrl, uploadUrl: video.tusUrl, storeFingerprintForResuming: false,
        retryDelays: [0, 1000, 3000, 5000, 10000, 30000],
        onProgress(sent, total) {
          if (sent > total / 4 && !paused) {
            paused = true;
            upload.abort().then(() => setTimeout(() => upload.start(), 300));
          }
          if (sent > total / 2) crashed ??= crash();
        },
        onSuccess: resolve, onError: reject,
      });
      upload.start();
    });
    await crashed;
    if (!paused || !crashed) throw new Error("nothing happened to the upload");
    await post(`/videos/${video.id}/complete`);
    return video.id;
  });
  assert.ok(await stage.arrived(id, "two.mp4"));
  await page.close();
});
