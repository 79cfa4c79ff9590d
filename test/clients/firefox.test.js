// The pages in Firefox: a finished film, an embed in a page of somebody else, the console, and a film that is still
// being encoded.

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Spool } from "@spool-video/client";
import puppeteer from "puppeteer-core";

import { apiKey, Server } from "../../clients/typescript/test/server.js";
import { GatedServer, make, until } from "./films.js";

const firefox = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => path && existsSync(path));
const options = { timeout: 600_000, skip: firefox ? false : "Firefox is not installed (Debian: firefox-esr)" };
const pictures = process.env.SPOOL_TEST_PICTURES; // a folder; screenshots are kept there

let browser;
before(async () => {
  if (firefox) browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true, timeout: 120_000, protocolTimeout: 240_000 });
}, options);
after(() => browser?.close());

/** visit opens an address and collects what goes wrong there. */
async function visit(address) {
  const page = await browser.newPage();
  page.setDefaultTimeout(240_000);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => { if (/Content-Security-Policy/.test(message.text())) page.faults.push(message.text()); });
  await page.setViewport({ width: 1000, height: 700 });
  await page.goto(address);
  return page;
}

async function shoot(page, name) {
  if (!pictures) return;
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `firefox-${name}.png`) });
}

/** in the page, media is the video element, and part an element of the player. */
const media = 'document.querySelector("spool-player").media';
const part = (selector) => `document.querySelector("spool-player").shadowRoot.querySelector(${JSON.stringify(selector)})`;
const decoded = `${media}.getVideoPlaybackQuality().totalVideoFrames`;

/** wait asks again and again: the page's policy forbids waiting in the page. */
const wait = (where, expression) => until(expression, () => where.evaluate(expression));

async function click(page, expression) {
  await wait(page, `${expression}?.checkVisibility() === true`);
  await (await page.evaluateHandle(expression)).click();
}

const entry = (menu, text) => `[...${part(menu)}.shadowRoot.querySelectorAll("media-chrome-menu-item")].find((i) => i.textContent.trim() === ${JSON.stringify(text)})`;
const setting = (text) => `[...${part("media-controller")}.querySelectorAll("media-settings-menu-item")].find((i) => i.firstChild.textContent === ${JSON.stringify(text)})`;

test("Firefox plays a finished film", options, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const spool = new Spool({ server: server.url, apiKey });
  const id = await make(server, 20, { title: "A film in Firefox", resolutions: ["240p", "144p"] });
  await spool.waitUntilReady(id);
  await spool.putCaptions(id, "en", "WEBVTT\n\n00:00.000 --> 00:10.000\nGood morning\n\n00:10.000 --> 00:20.000\nGood night\n", { label: "English" });
  const { watchUrl } = await spool.getPublic(id);
  const page = await visit(watchUrl);
  await t.test("keys", () => useKeys(page));
  await t.test("quality and speed", () => useMenus(page));
  await t.test("captions", () => useCaptions(page));
  await t.test("to the end", async () => {
    await page.evaluate(`${media}.currentTime = 17`);
    await page.keyboard.press("k");
    await wait(page, `${media}.ended`);
    assert.ok(await page.evaluate(decoded) > 20);
  });
  await t.test("embed", () => useEmbed(server, id));
  await t.test("poster", () => showPoster(page, server, spool));
  assert.deepEqual(page.faults, []);
});

/** showPoster waits for a poster in the format that browsers prefer, and has it decoded. */
async function showPoster(page, server, spool) {
  const id = await make(server, 2, { resolutions: ["144p"] }, "gradients"); // smooth: as AVIF it is smallest
  await spool.waitUntilReady(id);
  const { posterUrl } = await spool.getPublic(id);
  await until("the poster as AVIF", async () => (await fetch(posterUrl, { headers: { Accept: "image/avif" } })).headers.get("Content-Type") === "image/avif");
  await page.evaluate(`window.picture = new Image(); picture.src = ${JSON.stringify(posterUrl)}`);
  await wait(page, "picture.complete");
  assert.equal(await page.evaluate("picture.naturalWidth"), 426);
}

async function useKeys(page) {
  await wait(page, `${media}.readyState >= 2`);
  assert.equal(await page.evaluate(`${media}.paused`), true, "it plays before anybody asked for it");
  await shoot(page, "watch");
  await page.keyboard.press(" ");
  await wait(page, `${media}.currentTime > 0.3 && ${decoded} > 3`);
  await page.keyboard.press("k");
  await wait(page, `${media}.paused`);
  await page.keyboard.press("5");
  await wait(page, `Math.abs(${media}.currentTime - 10) < 0.2`);
  await page.keyboard.press("ArrowLeft");
  await wait(page, `${media}.currentTime < 6`);
  await page.keyboard.press("m");
  await wait(page, `${media}.muted`);
  await page.keyboard.press("m");
  await wait(page, `!${media}.muted`);
  await page.keyboard.press("0");
  await wait(page, `${media}.currentTime === 0`);
}

async function useMenus(page) {
  const choose = async (name, menu, choice) => {
    await click(page, part("media-settings-menu-button"));
    await wait(page, `!${part("media-settings-menu")}.hidden`);
    await click(page, setting(name));
    await wait(page, `${entry(menu, choice)} !== undefined`);
    await shoot(page, `menu-${name}`);
    await click(page, entry(menu, choice));
    await wait(page, `${entry(menu, choice)}.getAttribute("aria-checked") === "true"`);
    await page.keyboard.press("Escape");
    await wait(page, `${part("media-settings-menu")}.hidden`);
  };
  for (const height of [144, 240]) {
    await choose("Quality", "media-rendition-menu", `${height}p`);
    await page.evaluate(`${media}.currentTime = 0; ${media}.play()`);
    await wait(page, `${media}.videoHeight === ${height} && ${media}.currentTime > 0`);
    await page.evaluate(`${media}.pause()`);
  }
  await choose("Speed", "media-playback-rate-menu", "2x");
  assert.equal(await page.evaluate(`${media}.playbackRate`), 2);
}

async function useCaptions(page) {
  const shown = `[...${media}.textTracks].filter((t) => t.mode === "showing" && t.kind === "subtitles").flatMap((t) => [...t.activeCues ?? []].map((c) => c.text)).join()`;
  await page.evaluate(`${media}.pause(); ${media}.currentTime = 2`);
  await page.keyboard.press("c");
  await wait(page, `${shown} === "Good morning"`);
  assert.ok(await page.evaluate(`${media}.textTracks[0].activeCues[0].line`) < -3, "captions are behind the controls");
  await shoot(page, "captions");
  await page.keyboard.press("c");
  await wait(page, `${shown} === ""`);
  await page.keyboard.press("c");
  await page.evaluate(`${media}.currentTime = 12`);
  await wait(page, `${shown} === "Good night"`);
}

/** useEmbed shows the film in a frame of another origin, where it begins by itself, without sound. */
async function useEmbed(server, id) {
  const host = createServer((_, res) => res.writeHead(200, { "Content-Type": "text/html" })
    .end(`<!doctype html><title>Host</title><iframe src="${server.url}/embed/${id}?autoplay=1&muted=1&captions=en" width="640" height="360" allow="autoplay; fullscreen"></iframe>`));
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  try {
    const page = await visit(`http://127.0.0.1:${host.address().port}/`);
    const frame = await until("the frame", () => page.frames().find((f) => f.url().includes("/embed/")));
    await wait(frame, `document.querySelector("spool-player")?.media.currentTime > 1 && ${decoded} > 8`);
    await wait(frame, `[...${media}.textTracks].some((t) => t.mode === "showing" && t.activeCues?.[0]?.text === "Good morning")`);
    await shoot(page, "embed");
    assert.deepEqual(page.faults, []);
    await page.close();
  } finally {
    host.close();
    host.closeAllConnections();
  }
}

test("the console in Firefox: sign in, upload, back and forward, reload", options, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const film = await server.clip("film.mp4");
  const page = await visit(server.url);
  const there = (selector) => wait(page, `document.querySelector(${JSON.stringify(selector)})?.checkVisibility() === true`);
  await wait(page, 'document.activeElement?.id === "key"');
  await page.keyboard.type(apiKey);
  await page.keyboard.press("Enter");
  await there(".empty");
  await click(page, 'document.querySelector("#open-upload")');
  await there("dialog.sheet");
  await (await page.evaluateHandle('document.querySelector("#files")')).uploadFile(film);
  await there("#chosen li");
  await shoot(page, "console-form");
  await click(page, 'document.querySelector("#upload")');
  await wait(page, 'document.querySelector(".transfer .state")?.textContent === "Uploaded."');
  await wait(page, 'document.querySelector(".video .badge")?.textContent === "ready"');
  await shoot(page, "console-list");
  await click(page, 'document.querySelector(".video .name")');
  await there("spool-player");
  await shoot(page, "console-video");
  await page.evaluate('history.back()');
  await there(".videos .name");
  await page.evaluate('history.forward()');
  await there("spool-player");
  await page.reload();
  await there("spool-player");
  assert.deepEqual(page.faults, []);
});

test("Firefox plays a film through while it is encoded", options, async (t) => {
  const gate = await GatedServer.start(35);
  t.after(() => gate.stop());
  const spool = new Spool({ server: gate.server.url, apiKey });
  const id = await make(gate.server, 64, { title: "A film that is being made", resolutions: ["240p", "144p"] });
  const { watchUrl } = await until("the film to be playable", async () => {
    const video = await spool.getPublic(id);
    return video.playable && video;
  });
  const page = await visit(watchUrl);
  await page.evaluate(`window.jumps = []; window.began = undefined;
    const m = ${media};
    m.addEventListener("playing", () => {
      if (began !== undefined) return;
      began = m.currentTime;
      m.addEventListener("seeking", () => jumps.push(m.currentTime));
    });`);
  await page.keyboard.press(" ");
  await wait(page, `${media}.currentTime > 12`);
  assert.match(await page.evaluate(`${part(".note")}.textContent`), /^Still being made · 0:\d\d of 1:04 so far$/);
  await shoot(page, "growing");
  await gate.allow(1000);
  await wait(page, `${media}.ended`);
  const last = await page.evaluate(`({ began, jumps, time: ${media}.currentTime, frames: ${decoded}, note: ${part(".note")}.checkVisibility() })`);
  t.diagnostic(JSON.stringify(last));
  assert.ok(last.began < 0.5 && Math.abs(last.time - 64) < 0.3 && last.frames > 600 && !last.note, JSON.stringify(last));
  assert.deepEqual([last.jumps, page.faults], [[], []]);
});
