// What is watched: a page about all videos, and a panel of the page of a video.

import { open, request } from "./api.js";
import { button, el, facts, problemBox } from "./dom.js";
import { bytes, duration, titleOf } from "./format.js";
import { columns, curve, ranking, shareOf } from "./plots.js";
import { pictureStrip } from "./strip.js";

const hour = 3600_000;
const ranges = [["24 hours", 24 * hour], ["7 days", 7 * 24 * hour], ["30 days", 30 * 24 * hour], ["90 days", 90 * 24 * hour], ["A year", 365 * 24 * hour]];
const usual = ranges[2][1];

const clock = (seconds) => duration(seconds) || "0:00";
const count = (n) => n.toLocaleString();

// lasting writes a length of time for people: 3 h 12 min, 4 min, 12 s.
function lasting(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes >= 60) return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
  if (seconds >= 60) return `${minutes} min`;
  return `${Math.round(seconds)} s`;
}

// Figures asks for an audience, lets people choose a range, and shows it. more adds what only one of the two pages shows: it
// gets the answer and returns nodes.
class Figures {
  #path;
  #more;
  #range = usual;
  #asked = 0;
  #body = el("div", { class: "stack" }, el("p", { class: "fine" }, "Loading…"));

  constructor(path, more) {
    this.#path = path;
    this.#more = more;
    const choice = el("select", { "aria-label": "Range", onchange: () => { this.#range = Number(choice.value); this.load(); } },
      ranges.map(([name, length]) => el("option", { value: length, selected: length === usual }, name)));
    this.node = el("div", { class: "stack audience" },
      el("div", { class: "line" }, el("p", { class: "actions" }, choice, button("Refresh", () => this.load())), button("Download CSV", () => this.#download())), this.#body);
  }

  #address() {
    return `${this.#path}?from=${new Date(Date.now() - this.#range).toISOString()}`;
  }

  async load() {
    const turn = ++this.#asked;
    try {
      const found = await request("GET", this.#address());
      if (turn === this.#asked) this.#show(found);
    } catch (error) {
      if (turn === this.#asked && error.status !== 401) this.#body.replaceChildren(problemBox(error, button("Try again", () => this.load())));
    }
  }

  #show(found) {
    if (found.views === 0 && found.bytes === 0) {
      return this.#body.replaceChildren(el("div", { class: "empty" }, el("h2", {}, "Nothing was watched in this time"),
        el("p", { class: "fine" }, "Plays on watch, embed and share pages appear here within half a minute. Plays in this console do not count.")));
    }
    const day = { hour: "numeric", minute: "2-digit", weekday: "short" }, longer = { day: "numeric", month: "short", timeZone: "UTC" };
    const when = (at) => new Date(at).toLocaleString(undefined, found.step === "hour" ? day : longer);
    this.#body.replaceChildren(
      panel(glance(found)),
      panel(
        columns({ title: "Views", moments: found.timeline.map(({ at, views }) => ({ at, value: views })), write: count, when, total: `${count(found.views)} in all` }),
        columns({ title: "Watched time", moments: found.timeline.map(({ at, watchedSeconds }) => ({ at, value: watchedSeconds })), write: lasting, when, total: `${lasting(found.watchedSeconds)} in all` })),
      ...this.#more(found).filter(Boolean),
      panel(el("div", { class: "rankings" }, lists(found))));
  }

  async #download() {
    const text = await (await open("GET", this.#address(), { headers: { Accept: "text/csv" } })).text();
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "audience.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
}

function panel(...content) { return el("section", { class: "panel" }, content); }

function glance(found) {
  const { startup, stalls } = found;
  return facts([
    ["Views", count(found.views)],
    [found.viewersAre === "unique" ? "Viewers" : "Viewers, day by day", count(found.viewers)],
    ["Watched", lasting(found.watchedSeconds)],
    ["Of a view", lasting(found.averageWatchedSeconds)],
    ["To the end", shareOf(found.completionRate)],
    ["Until the first picture", startup.p95 > 0 && `${startup.p50.toFixed(1)} s; 95 % within ${startup.p95.toFixed(1)} s`],
    ["Waiting", `${(100 * stalls.ratio).toFixed(1)} % of the time, ${stalls.perHour.toFixed(1)} stalls an hour`],
    ["Failures", count(found.failures)],
    ["Sent", bytes(found.bytes) || "0 bytes"],
  ]);
}

const devices = { desktop: "Computers", mobile: "Phones", tablet: "Tablets", tv: "Televisions", console: "Game consoles", other: "Others" };
const countries = new Intl.DisplayNames(undefined, { type: "region", fallback: "code" });

function lists(found) {
  const shown = (title, lines, name = (n) => n) => ranking(title, lines.slice(0, 8).map((l) => ({ name: name(l.name), value: l.views, words: `${count(l.views)} · ${lasting(l.watchedSeconds)}` })));
  return [
    shown("Devices", found.devices, (n) => devices[n] ?? n), shown("Browsers", found.browsers), shown("Countries", found.countries, (code) => (/^[A-Z]{2}$/.test(code) ? countries.of(code) : code)),
    shown("Referrers", found.referrers, (n) => (n === "direct" ? "Direct" : n)), shown("Qualities", found.qualities),
  ].filter(Boolean);
}

// Audience is the panel of a video.
export class Audience {
  #figures;
  #video = null;
  #opened = false;

  constructor(page) {
    this.#figures = new Figures(`video/${encodeURIComponent(page.id)}/audience`, (found) => [this.#retention(found)]);
    this.node = el("section", { "aria-labelledby": "audience-title" }, el("h2", { id: "audience-title", class: "unseen" }, "Audience"), this.#figures.node);
  }

  show(video) { this.#video = video; }

  open() {
    if (this.#opened) return;
    this.#opened = true;
    this.#figures.load();
  }

  #retention({ retention }) {
    if (retention.length === 0) return null;
    const half = retention.find(({ share }) => share < 0.5);
    const words = half ? `Half of the views were left until ${clock(half.fromSeconds)}.` : "More than half of the views were left until the end.";
    return panel(curve({
      title: "Who is still there", words, clock, below: pictureStrip(this.#video),
      parts: retention.map(({ fromSeconds, toSeconds, share }) => ({ from: fromSeconds, to: toSeconds, share })),
    }));
  }
}

// AudiencePage is about all videos.
export class AudiencePage {
  #title = el("h1", { tabindex: -1 }, "Audience");
  #figures = new Figures("audience", ({ top }) => [top.length > 0 && panel(ranking("Watched most", top.map((v) => ({
    name: el("a", { href: `#/video/${v.videoId}/audience` }, titleOf({ title: v.title, filename: "" })), value: v.watchedSeconds, words: `${lasting(v.watchedSeconds)} · ${count(v.views)} views`,
  }))))]);

  constructor() {
    this.node = el("article", { class: "stack" }, this.#title, this.#figures.node);
  }

  start() {
    document.title = "Audience – Spool";
    this.#title.focus({ preventScroll: true });
    this.#figures.load();
  }

  stop() {}
}
