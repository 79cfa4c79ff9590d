// The example, as it is: its server beside Spool, its page in Chromium.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { apiKey } from "../../typescript/test/server.js";
import { Stage } from "./stage.js";

let stage, server;
before(async () => { stage = await Stage.open(); }, { timeout: 180_000 });
after(async () => {
  server?.kill();
  await stage?.close();
});

test("the example uploads a video and plays it", { timeout: 120_000 }, async () => {
  server = spawn(process.execPath, [fileURLToPath(new URL("../example/server.mjs", import.meta.url))], {
    env: { PATH: process.env.PATH, SPOOL_SERVER: stage.server.url, SPOOL_API_KEY: apiKey, PORT: "0" }, stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(server.stdout, "data");
  const page = await stage.browser.newPage();
  await page.goto(String(said).trim());
  await page.locator("spool-uploader input").setInputFiles(stage.clip);
  await page.waitForFunction(() => document.querySelector("spool-player")?.hasAttribute("hls"));
  await page.evaluate(() => document.querySelector("spool-player").goTo(0));
  await page.waitForFunction(() => document.querySelector("spool-player").media.currentTime > 0.2);
  const script = readFileSync(new URL("../example/index.html", import.meta.url), "utf8").split("\n");
  assert.ok(script.length <= 25, `the page has ${script.length} lines`);
});
