// DASH in the players that people use, in a browser: a film in two codecs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Spool, uploadFile } from "@spool-video/client";
import { chromium } from "playwright-core";

import { apiKey, Server } from "../../clients/typescript/test/server.js";

const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const players = ["dash.js", "Shaka Player"];
const patient = { timeout: 300_000 };

let server, spool, browser;
before(async () => {
  server = await Server.start();
  spool = new Spool({ server: server.url, apiKey });
  browser = await chromium.launch({ executablePath: browsers.find((path) => path && existsSync(path)), args: ["--no-sandbox", "--mute-audio"] });
}, patient);
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** make makes a film of some seconds and has it encoded. */
async function make(seconds, request) {
  const path = join(server.dir, `${seconds}.mp4`);
  execFileSync("ffmpeg", ["-nostdin", "-v", "error", "-f", "lavfi", "-i", `testsrc2=s=426x240:r=10:d=${seconds}`, "-f", "lavfi", "-i", `anullsrc=r=44100:d=${seconds}`,
    "-shortest", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-c:a", "aac", "-y", path]);
  const video = await spool.create({ filename: "a.mp4", isPublic: true, ...request });
  await uploadFile(video, new Blob([await readFile(path)]));
  await spool.completeUpload(video.id);
  return video.id;
}

async function until(what, condition) {
  for (const deadline = Date.now() + 240_000; Date.now() < deadline;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`waited in vain for ${what}`);
}

/** open begins to play a manifest. */
async function open(player, manifest) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  await page.setContent("<video muted style='width: 1280px; height: 720px'></video>");
  await page.addScriptTag({ path: join(import.meta.dirname, "node_modules", player === "dash.js" ? "dashjs/dist/modern/umd/dash.all.min.js" : "shaka-player/dist/shaka-player.compiled.js") });
  await page.evaluate(async ([player, manifest]) => {
    const video = document.querySelector("video"), film = window.film = { errors: [] };
    if (player === "dash.js") {
      const dash = window.player = dashjs.MediaPlayer().create();
      dash.on("error", ({ error }) => film.errors.push(`${error.code} ${error.message}`));
      dash.initialize(video, manifest, false);
      window.codec = () => dash.getCurrentTrackFor("video").codec;
    } else {
      shaka.polyfill.installAll();
      const other = window.player = new shaka.Player();
      await other.attach(video);
      other.addEventListener("error", ({ detail }) => film.errors.push(`${detail.code} ${detail.data}`));
      await other.load(manifest);
      window.codec = () => other.getVariantTracks().find((t) => t.active).videoCodec;
    }
    for (let tries = 0; tries < 600 && video.readyState < 3; tries++) await new Promise((done) => setTimeout(done, 100));
    await video.play();
  }, [player, manifest]);
  return page;
}

const end = (page) => page.waitForFunction(() => document.querySelector("video").ended || film.errors.length > 0, null, { timeout: 240_000 });
const seen = (page) => page.evaluate(() => {
  const video = document.querySelector("video");
  return { ...film, time: video.currentTime, ended: video.ended, frames: video.getVideoPlaybackQuality().totalVideoFrames, codec: codec() };
});

test("of two codecs a browser that can decode AV1 plays that", patient, async () => {
  const id = await make(4, { resolutions: ["144p", "240p"], codecs: ["h264", "av1"] });
  await spool.waitUntilReady(id);
  const { dashUrl } = await until("AV1", async () => {
    const video = await spool.getPublic(id);
    return Object.values(video.resolutions).every((r) => r.variants?.every((v) => v.status === "ready")) && video;
  });
  assert.match(await (await fetch(dashUrl)).text(), /codecs="av01/);
  for (const player of players) {
    const page = await open(player, dashUrl);
    await end(page);
    const last = await seen(page);
    assert.ok(last.ended && last.errors.length === 0 && last.frames > 10 && last.codec.includes("av01"), `${player}: ${JSON.stringify(last)}`);
    await page.close();
  }
});
