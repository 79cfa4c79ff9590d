// <spool-player> on a page of another origin, with a strict policy.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Stage } from "./stage.js";

let stage, open, closed;
before(async () => {
  stage = await Stage.open();
  [open, closed] = [await stage.publish(true), await stage.publish(false)];
}, { timeout: 180_000 });
after(() => stage?.close());

const patient = { timeout: 120_000 };
const plays = (page) => page.waitForFunction(() => {
  const media = document.querySelector("spool-player")?.media;
  return media?.currentTime > 0.2 && media.getVideoPlaybackQuality().totalVideoFrames > 3;
});
const says = (page, text) => page.waitForFunction((text) => {
  const problem = document.querySelector("spool-player").shadowRoot.querySelector(".problem");
  return problem.checkVisibility() && problem.textContent.includes(text);
}, text);
const player = (attributes) => `<spool-player server="${stage.server.url}" muted ${attributes}></spool-player>`;

test("a public video plays by its id, and asks the site and Spool alone", patient, async () => {
  const page = await stage.page(player(`video="${open}" autoplay loop`));
  await plays(page);
  assert.deepEqual(page.refused, []);
  assert.deepEqual([...new Set(page.asked)].filter((origin) => ![stage.site.url, stage.server.url, "null"].includes(origin)), []);
  assert.equal(await page.evaluate(() => document.querySelector("spool-player").shadowRoot.querySelector("media-mute-button").checkVisibility()), false); // the clip has no sound
  await page.close();
});

test("a private video plays by its id and a token, or by the address of its read", patient, async () => {
  const { body } = await stage.call("GET", `/api/video/${closed}/private/600`), token = body.embedUrl.split("/").at(-2);
  for (const attributes of [`video="${closed}" token="${token}"`, `src="${body.embedUrl}.json"`]) {
    const page = await stage.page(player(`${attributes} autoplay loop`));
    await plays(page);
    assert.deepEqual(page.refused, []);
    await page.close();
  }
});

test("what cannot be played is said in words", patient, async () => {
  const page = await stage.page(player(`video="${closed}"`));
  await says(page, "There is no such video");
  await page.evaluate((id) => document.querySelector("spool-player").setAttribute("video", id), open);
  await page.waitForFunction(() => document.querySelector("spool-player").hasAttribute("hls"));
  await page.evaluate(() => document.querySelector("spool-player").goTo(0));
  await plays(page); // another id is another video
  await page.close();
});

// No television is near: what the page hands to Google's program is looked at, instead of that.
const program = `window.handed = {};
  const context = { setOptions() {}, addEventListener() {}, getCastState: () => "NOT_CONNECTED", getCurrentSession: () => handed.session,
    requestSession: async () => { handed.session = { loadMedia: async (request) => { handed.url = request.media.url; handed.at = request.currentTime; } }; } };
  window.cast = { framework: { CastContext: { getInstance: () => context }, CastState: { NO_DEVICES_AVAILABLE: "NO_DEVICES_AVAILABLE" }, CastContextEventType: {} } };
  window.chrome = { cast: { AutoJoinPolicy: {}, Image: class {}, media: { HlsSegmentFormat: {}, GenericMediaMetadata: class {},
    MediaInfo: class { constructor(url) { this.url = url; } }, LoadRequest: class { constructor(media) { this.media = media; } } } } };
  __onGCastApiAvailable(true);`;

test("Google is asked only where a page wants Chromecast", patient, async () => {
  for (const wanted of [false, true]) {
    const context = await stage.browser.newContext();
    let asked = false;
    await context.route("https://www.gstatic.com/**", (route) => { asked = true; return route.fulfill({ contentType: "text/javascript", body: program }); });
    stage.cast = wanted;
    const page = await stage.page(player(`video="${open}" autoplay loop ${wanted ? "chromecast" : ""}`), undefined, context);
    await plays(page);
    if (wanted) {
      await page.getByRole("button", { name: "Play on a television" }).click();
      await page.waitForFunction(() => window.handed.at >= 0);
      assert.match(await page.evaluate(() => window.handed.url), /master\.m3u8$/);
    }
    assert.equal(asked, wanted);
    assert.deepEqual(page.refused, []);
    await context.close();
  }
  stage.cast = false;
});
