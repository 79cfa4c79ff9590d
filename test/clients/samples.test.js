// The samples of the handbook that import packages: run as they stand in the pages.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync, copyFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { apiKey } from "../../clients/typescript/test/server.js";
import { Stage } from "./stage.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = ["docs/uploading.md", "docs/api.md", "docs/webhooks.md", "clients/typescript/README.md"];
const mark = "<!-- sample: skip: npm packages are run by make test-long SUITE=clients -->\n```js\n";
const secret = "whsec_" + Buffer.from("a secret of twenty-four b").toString("base64");

let stage;
before(async () => { stage = await Stage.open(); }, { timeout: 120_000 });
after(() => stage?.close());

for (const page of pages) {
  const blocks = readFileSync(root + page, "utf8").split(mark).slice(1).map((text) => text.split("\n```\n")[0]);
  assert.notEqual(blocks.length, 0, `${page} has no samples`);
  blocks.forEach((code, i) => test(`${page}, sample ${i + 1}`, { timeout: 240_000 }, async () => {
    const run = code.includes(".listen(3000)") ? serves : code.includes("/node\"") ? runsInNode : runsInPage;
    await run(code.replaceAll("http://127.0.0.1:8080", stage.server.url));
  }));
}

/** bundle has packages found as in an application that has installed them. */
async function bundle(contents, platform) {
  const made = await build({ stdin: { contents, resolveDir: root + "test/clients" }, bundle: true, write: false, platform, format: "esm",
    nodePaths: [root + "clients/typescript/node_modules"] });
  return made.outputFiles[0].text;
}

/** launch starts a program in a folder with the film holiday.mov. */
async function launch(code) {
  const dir = mkdtempSync(join(tmpdir(), "sample-"));
  copyFileSync(stage.films["small.mp4"], join(dir, "holiday.mov"));
  writeFileSync(join(dir, "sample.mjs"), await bundle(code, "node"));
  return spawn(process.execPath, ["sample.mjs"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SPOOL_API_KEY: apiKey, SPOOL_WEBHOOK_SECRET: secret, WEBHOOK_SECRET: secret } });
}

async function runsInNode(code) {
  const program = await launch(code);
  let said = "";
  program.stdout.setEncoding("utf8").on("data", (text) => { said += text; });
  const [status] = await once(program, "close");
  assert.equal(status, 0);
  assert.match(said, /100 %[\s\S]*ready 1[\s\S]*master\.m3u8/);
}

/** serves runs a server and asks it what its page is about. */
async function serves(code) {
  const port = await freePort();
  const program = await launch(code.replace(".listen(3000)", `.listen(${port})`));
  try {
    const ask = code.includes("spool.create") ? createsVideos : verifiesWebhooks;
    await ask(`http://127.0.0.1:${port}`);
  } finally {
    program.kill();
  }
}

async function createsVideos(url) {
  const video = await (await patiently(() => fetch(`${url}/videos`, { method: "POST" }))).json();
  assert.ok(video.uploadUrl && video.tusUrl);
  const put = await fetch(video.uploadUrl, { method: "PUT", body: readFileSync(stage.films["small.mp4"]), headers: { "Content-Type": video.contentType } });
  assert.equal(put.status, 200);
  assert.equal((await fetch(`${url}/videos/${video.id}/complete`, { method: "POST" })).status, 200);
  await stage.spool.waitUntilReady(video.id);
}

async function verifiesWebhooks(url) {
  const { Webhook } = await import("../../clients/typescript/node_modules/standardwebhooks/dist/index.js");
  const body = JSON.stringify({ type: "video.ready", data: { id: "1" } }), at = new Date();
  const send = (signature) => patiently(() => fetch(url, { method: "POST", body,
    headers: { "webhook-id": "1", "webhook-timestamp": String(Math.floor(at / 1000)), "webhook-signature": signature } }));
  assert.equal((await send(new Webhook(secret).sign("1", at, body))).status, 204);
  assert.ok([400, 401].includes((await send("v1,AAAA")).status));
}

/** runsInPage runs a script that uploads a film in a page of the application. */
async function runsInPage(code) {
  const page = await stage.page();
  const seen = await ids();
  const more = code.includes("new Uppy()") ? '\nuppy.addFile({ name: "small.mp4", type: "video/mp4", data: file });\nawait uppy.upload();' : "";
  await page.evaluate(async (own) => {
    Object.assign(window, { file: await film("small.mp4"), signal: new AbortController().signal, bar: {},
      completeUpload: (id) => post(`/videos/${id}/complete`) });
    if (own) window.video = await post("/videos");
  }, !code.includes("const video"));
  await page.addScriptTag({ type: "module", content: await bundle(code + more, "browser") });
  let id;
  await patiently(async () => {
    id = (await ids()).find((one) => !seen.includes(one));
    if (!id || (await stage.spool.get(id)).status === "pending_upload") throw new Error("the page has uploaded nothing");
  });
  assert.ok(await stage.arrived(id, "small.mp4"));
  await page.close();
}

async function ids() {
  const all = [];
  for await (const video of stage.spool.list({})) all.push(video.id);
  return all;
}

async function patiently(action) {
  for (const end = Date.now() + 90_000; ;) {
    try {
      return await action();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
