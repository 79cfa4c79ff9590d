// DASH in the players that people use, in a browser: a film that is still being encoded, and one in two codecs.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Spool } from "@spool-video/client";
import { chromium } from "playwright-core";

import { apiKey, Server } from "../../clients/typescript/test/server.js";
import { GatedServer, make, until } from "./films.js";

const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const scripts = { "dash.js": "dashjs/dist/modern/umd/dash.all.min.js", "Shaka Player": "shaka-player/dist/shaka-player.compiled.js" };
const players = Object.keys(scripts);
const patient = { timeout: 600_000 };

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: browsers.find((path) => path && existsSync(path)), args: ["--no-sandbox", "--mute-audio"] });
}, patient);
after(() => browser?.close());

/** open begins to play a manifest, and writes down what a viewer would notice. */
async function open(player, manifest, width) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  await page.setContent(`<video muted width="${width}"></video>`);
  await page.addScriptTag({ path: join(import.meta.dirname, "node_modules", scripts[player]) });
  await page.evaluate(begin, [player, manifest]);
  return page;
}

/** begin runs in the page. */
async function begin([player, manifest]) {
  const video = document.querySelector("video"), film = window.film = { errors: [], jumps: [], waits: [], lengths: [] };
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
  film.began = video.currentTime;
  video.addEventListener("seeking", () => film.jumps.push(video.currentTime));
  video.addEventListener("waiting", () => film.waits.push(video.currentTime));
  video.addEventListener("durationchange", () => film.lengths.push(video.duration));
  await video.play();
}

/** pass waits until a player is past a second of a film, dry until it has nothing to play there, and end until it is over. */
const pass = (page, second) => page.waitForFunction((second) => document.querySelector("video").currentTime > second || film.errors.length > 0, second, { timeout: 240_000 });
const dry = (page, second) => page.waitForFunction((second) => film.waits.some((at) => at > second) || film.errors.length > 0, second, { timeout: 240_000 });
const end = (page) => page.waitForFunction(() => document.querySelector("video").ended || film.errors.length > 0, null, { timeout: 240_000 });
const seen = (page) => page.evaluate(() => {
  const video = document.querySelector("video");
  return { ...film, time: video.currentTime, ended: video.ended, frames: video.getVideoPlaybackQuality().totalVideoFrames, codec: codec() };
});

test("a film that is still being encoded plays from its beginning to its end", patient, async (t) => {
  const gate = await GatedServer.start(35);
  t.after(() => gate.stop());
  const spool = new Spool({ server: gate.server.url, apiKey });
  const id = await make(gate.server, 80, { resolutions: ["240p", "144p"] });
  const { dashUrl } = await until("the film to be playable", async () => {
    const video = await spool.getPublic(id);
    return video.playable && video;
  });
  const manifest = async () => (await fetch(dashUrl)).text();
  const first = await manifest();
  assert.match(first, /type="dynamic"/);
  const pages = await Promise.all(players.map((player) => open(player, dashUrl, 160))); // cheap to paint
  const all = (wait) => Promise.all(pages.map(wait));
  await all((page) => pass(page, 15)); // more than a player loads before it begins
  await gate.allow(60);
  await all((page) => dry(page, 50)); // all that is there: they wait
  assert.match(await manifest(), /type="dynamic"/);
  await gate.allow(1000);
  for (const [i, page] of pages.entries()) {
    await end(page);
    const last = await seen(page);
    t.diagnostic(`${players[i]}: ${JSON.stringify(last)}`);
    assert.ok(last.ended && last.began < 1 && Math.abs(last.time - 80) < 0.3 && last.frames > 780, `${players[i]}: ${JSON.stringify(last)}`);
    assert.deepEqual([last.errors, last.jumps], [[], []], players[i]);
  }
  await spool.waitUntilReady(id);
  assert.match(await manifest(), /type="static"/);
});

test("of two codecs a browser that can decode AV1 plays that", patient, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const spool = new Spool({ server: server.url, apiKey });
  const id = await make(server, 4, { resolutions: ["144p", "240p"], codecs: ["h264", "av1"] });
  await spool.waitUntilReady(id);
  const { dashUrl } = await until("AV1", async () => {
    const video = await spool.getPublic(id);
    return Object.values(video.resolutions).every((r) => r.variants?.every((v) => v.status === "ready")) && video;
  });
  assert.match(await (await fetch(dashUrl)).text(), /codecs="av01/);
  for (const player of players) {
    const page = await open(player, dashUrl, 1280);
    await end(page);
    const last = await seen(page);
    assert.ok(last.ended && last.errors.length === 0 && last.frames > 10 && last.codec.includes("av01"), `${player}: ${JSON.stringify(last)}`);
    await page.close();
  }
});
