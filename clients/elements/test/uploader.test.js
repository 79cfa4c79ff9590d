// <spool-uploader> on a page with a strict policy, whose server has the key.

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";

import { Stage } from "./stage.js";

let stage;
before(async () => { stage = await Stage.open(); }, { timeout: 180_000 });
after(() => stage?.close());
beforeEach(() => { stage.refuse = null; });

const patient = { timeout: 120_000 };
const uploader = (attributes = "") => `<spool-uploader endpoint="/videos" ${attributes}></spool-uploader>`;

/** open opens the page and notes the events of the uploader. */
async function open(attributes) {
  const page = await stage.page(uploader(attributes));
  await page.evaluate(() => {
    window.told = [];
    for (const name of ["created", "progress", "uploaded", "error"]) {
      document.querySelector("spool-uploader").addEventListener(`spool-${name}`, ({ detail }) => told.push({ name, ...detail, file: detail.file.name }));
    }
  });
  return page;
}

const state = (page, n = 0) => page.locator("spool-uploader li .state").nth(n);
const says = (page, text, n = 0) => page.waitForFunction(([text, n]) => document.querySelector("spool-uploader").shadowRoot.querySelectorAll("li .state")[n]?.textContent.includes(text), [text, n])
  .catch(async () => assert.fail(`the list never says ${text}: ${await page.locator("spool-uploader ul").textContent()}`));
const press = (page, name) => page.locator("spool-uploader").getByRole("button", { name }).click();
const choose = (page, ...files) => page.locator("spool-uploader input").setInputFiles(files);
const told = (page, name) => page.evaluate((name) => window.told.filter((one) => one.name === name), name);

test("files are sent one after the other, with progress and events", patient, async () => {
  const page = await open('at-once="1"');
  await choose(page, stage.clip, stage.large);
  await says(page, "Uploaded", 0);
  await says(page, "Uploaded", 1);
  const uploaded = await told(page, "uploaded");
  assert.deepEqual(uploaded.map(({ file }) => file), ["clip.mp4", "large.mp4"]);
  assert.equal((await told(page, "created")).length, 2);
  assert.ok((await told(page, "progress")).some(({ sent, total }) => sent > 0 && sent < total));
  for (const { id } of uploaded) assert.ok((await stage.ready(id)).playable);
  assert.deepEqual(page.refused, []);
  assert.equal(await page.locator("spool-uploader [role=status]").textContent(), "large.mp4: Uploaded");
  await page.close();
});

test("an upload is paused and goes on where it was", patient, async () => {
  const page = await open();
  await choose(page, stage.large);
  await page.waitForFunction(() => window.told.some(({ name, sent, total }) => name === "progress" && sent > total / 3));
  await press(page, "Pause: large.mp4");
  await says(page, "Paused at");
  const before = (await told(page, "progress")).length;
  assert.equal(await page.evaluate(() => document.querySelector("spool-uploader").busy), false);
  await press(page, "Resume: large.mp4");
  await says(page, "Uploaded");
  const after = (await told(page, "progress")).slice(before);
  assert.ok(after.find(({ sent }) => sent > 0).sent > after[0].total / 5, `it goes on at ${after[0].sent} of ${after[0].total}`);
  assert.equal(stage.requests.filter(({ method, id }) => method === "POST" && !id).length, 1);
  assert.ok((await stage.ready((await told(page, "uploaded"))[0].id)).playable);
  await page.close();
});

test("an upload goes on after kill -9 of Spool", patient, async () => {
  const page = await open();
  await choose(page, stage.large);
  await page.waitForFunction(() => window.told.some(({ name, sent, total }) => name === "progress" && sent > total / 3));
  await stage.server.kill();
  await stage.server.launch();
  await says(page, "Uploaded");
  assert.ok((await stage.ready((await told(page, "uploaded"))[0].id)).playable);
  await page.close();
});

test("what is cancelled is deleted", patient, async () => {
  const page = await open();
  await choose(page, stage.large);
  await page.waitForFunction(() => window.told.some(({ name, sent }) => name === "progress" && sent > 0));
  const [{ id }] = await told(page, "created");
  await press(page, "Cancel: large.mp4");
  await says(page, "Cancelled");
  await page.waitForFunction(() => window.told.length > 0);
  for (let tries = 0; (await stage.call("GET", `/api/video/${id}`)).status !== 404; tries++) {
    assert.ok(tries < 100, "the video is still there");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await press(page, "Remove: large.mp4");
  assert.equal(await page.locator("spool-uploader li").count(), 0);
  await page.close();
});

test("what is refused is said in words, and tried again where that may help", patient, async () => {
  const page = await open('max-bytes="5000000"');
  stage.refuse = [403, { code: "quota_exceeded", detail: "You have 5 of 5 videos." }];
  await choose(page, stage.clip);
  await says(page, "Not uploaded. You have 5 of 5 videos.");
  assert.equal(await page.locator("spool-uploader").getByRole("button", { name: "Try again" }).count(), 0);

  stage.refuse = [400, { code: "x", detail: "Sign in first." }];
  await choose(page, stage.clip);
  await says(page, "Sign in first.", 1);
  stage.refuse = null;
  await press(page, "Try again: clip.mp4");
  await says(page, "Uploaded", 1);

  await choose(page, { name: "a.mp4", mimeType: "video/mp4", buffer: Buffer.from("no video at all, although it says so") });
  await says(page, "Not uploaded.", 2);
  assert.match(await state(page, 2).textContent(), /[.!]$/);
  await choose(page, stage.large);
  await says(page, "larger than 5.0 MB", 3);
  await press(page, "Remove: a.mp4");
  for (let tries = 0; !stage.requests.some(({ method }) => method === "DELETE"); tries++) {
    assert.ok(tries < 100, "the video of what was refused stays");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.deepEqual((await told(page, "error")).map(({ code }) => code), ["quota_exceeded", "x", "not_a_video", "not_accepted"]);
  await page.close();
});

test("files can be dropped", patient, async () => {
  const page = await open('accept="video/*"');
  await page.evaluate(async () => {
    const files = new DataTransfer();
    files.items.add(new File(["text"], "notes.txt", { type: "text/plain" }));
    const target = document.querySelector("spool-uploader");
    target.dispatchEvent(new DragEvent("dragover", { dataTransfer: files, bubbles: true, cancelable: true }));
    if (!target.shadowRoot.querySelector(".zone.over")) throw new Error("it does not say that files may be dropped");
    if (target.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }))) throw new Error("the browser opens the file");
  });
  await says(page, "none of the files");
  await page.close();
});

test("it is used with the keyboard alone, and axe finds nothing", patient, async () => {
  const page = await open();
  const axe = gunzipSync(readFileSync(new URL("../../../test/e2e/testdata/axe/axe.min.js.gz", import.meta.url))).toString();
  await choose(page, stage.large);
  await page.waitForFunction(() => window.told.some(({ name, sent }) => name === "progress" && sent > 0));
  const focused = () => page.evaluate(() => document.activeElement.shadowRoot?.activeElement?.getAttribute("aria-label") ?? document.activeElement.shadowRoot?.activeElement?.textContent);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Choose videos");
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Pause: large.mp4");
  await page.keyboard.press("Enter");
  await says(page, "Paused");
  assert.equal(await focused(), "Resume: large.mp4");
  for (const colorScheme of ["light", "dark"]) {
    await page.evaluate((scheme) => { document.documentElement.style.colorScheme = scheme; }, colorScheme);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run("main"));
    assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
    if (process.env.SPOOL_TEST_PICTURES) for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 500 });
      await page.screenshot({ path: `${process.env.SPOOL_TEST_PICTURES}/uploader-${width}-${colorScheme}.png` });
    }
  }
  await page.close();
});

test("a page changes its colours and its words", patient, async () => {
  const page = await open();
  const colour = () => page.evaluate(() => getComputedStyle(document.querySelector("spool-uploader").shadowRoot.querySelector(".main")).backgroundColor);
  const usual = await colour();
  await page.evaluate(() => {
    const target = document.querySelector("spool-uploader");
    target.style.setProperty("--spool-ink", "rgb(0, 128, 0)");
    target.words = { choose: "Videos wählen" };
  });
  assert.notEqual(usual, "rgb(0, 128, 0)");
  assert.equal(await colour(), "rgb(0, 128, 0)");
  await page.getByRole("button", { name: "Videos wählen" }).waitFor();
  await page.close();
});

test("React: what is uploaded is shown", patient, async () => {
  const page = await stage.page(`<div id="root" data-server="${stage.server.url}"></div><script type="module" src="/react.js"></script>`, "");
  await page.getByRole("button", { name: "Videos wählen" }).waitFor();
  await page.locator("spool-uploader.up input").setInputFiles(stage.clip);
  await page.waitForFunction(() => document.querySelector("spool-player")?.media?.currentTime > 0.2);
  assert.equal(stage.requests[0].headers["x-csrf"], "a token");
  assert.deepEqual(page.refused, []);
  await page.close();
});
