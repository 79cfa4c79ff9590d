// The system: workers, queue, disk and storage of the whole service, for the operator's keys.

import { request } from "./api.js";
import { button, el, problemBox } from "./dom.js";
import { ago, bytes, dateTime, elapsed, percent, plural } from "./format.js";
import { Poller } from "./poller.js";

const pollEvery = 5000; // milliseconds

const kinds = {
  inspect: "Look at uploads", encode: "Encode", large: "Encode large sizes", audio: "Encode sound", thumbnails: "Thumbnails", poster: "Posters",
  captions: "Captions", assemble: "Put together", pictures: "Storyboards", measure: "Measure quality", av1: "Encode AV1", av1join: "Put AV1 together",
  hevc: "Encode HEVC", hevcjoin: "Put HEVC together", purge: "Clean up",
};

const areas = { upload: "Being uploaded", source: "Uploaded files", work: "Work in progress", public: "Public videos", private: "Private videos" };

const size = (n) => bytes(n) || "0 bytes";

// SystemPage shows how the service is doing, and follows it.
export class SystemPage {
  #title = el("h1", { tabindex: -1 }, "System");
  #body = el("div", { class: "stack" }, el("p", { class: "fine" }, "Loading…"));
  #poller;

  constructor(showOutdated) {
    this.node = el("article", { class: "stack" }, this.#title, this.#body);
    this.#poller = new Poller((signal) => this.#load(signal), showOutdated);
  }

  start() {
    document.title = "System – Spool";
    this.#title.focus({ preventScroll: true });
    this.#load().then(() => this.#poller.wake(pollEvery), (error) => {
      if (error.status !== 401) this.#body.replaceChildren(problemBox(error, button("Try again", () => this.start())));
    });
  }

  stop() {
    this.#poller.stop();
  }

  async #load(signal) {
    this.#show(await request("GET", "system", { signal }));
    return pollEvery;
  }

  #show({ version, workers, queue, disk, storage }) {
    this.#body.replaceChildren(
      panel("at-a-glance", "At a glance", glance(workers, queue, disk, storage)),
      panel("workers", "Workers", workers.length > 0 ? workers.map(worker) : el("p", { class: "problem" }, "No worker is alive: nothing is converted.")),
      panel("queue", "Queue", queueTable(queue)),
      panel("storage", "Storage", storageTable(storage)),
      el("p", { class: "fine" }, `This is Spool ${version}.`));
  }
}

function panel(id, title, ...content) {
  return el("section", { class: "panel", "aria-labelledby": id }, el("h2", { id }, title), ...content);
}

// tile is a number with words above and below.
function tile(name, number, words) {
  return el("div", {}, el("p", { class: "fine" }, name), el("p", { class: "number" }, number), words);
}

function glance(workers, queue, disk, storage) {
  const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);
  const [waiting, busy, slots] = [sum(queue, (k) => k.waiting), sum(workers, (w) => w.tasks.length), sum(workers, (w) => w.slots)];
  const oldest = Math.max(0, ...queue.map((k) => k.oldestSeconds));
  const used = disk.sizeBytes - disk.freeBytes;
  return el("div", { class: "usage" },
    tile("Workers", workers.length.toLocaleString(), el("p", { class: "fine" }, `${busy} of ${plural(slots, "task")} at once`)),
    tile("Tasks waiting", waiting.toLocaleString(), el("p", { class: "fine" }, oldest > 0 ? `the oldest for ${elapsed(oldest)}` : waiting > 0 ? "all for a later time" : "nothing waits")),
    tile("Free disk space", size(disk.freeBytes), disk.sizeBytes > 0 && el("div", {}, el("meter", {
      min: 0, max: disk.sizeBytes, high: disk.sizeBytes * 0.9, value: used, "aria-label": `${percent(used / disk.sizeBytes)} of the disk is used`,
    }), el("p", { class: "fine" }, `${percent(used / disk.sizeBytes)} of ${size(disk.sizeBytes)} used`))),
    tile("Stored", size(sum(storage, (a) => a.bytes)), el("p", { class: "fine" }, counted(storage))));
}

function worker(one) {
  const tasks = one.tasks.map((t) => el("li", {}, kinds[t.kind] ?? t.kind, t.videoId ? " of " : " of another tenant’s video",
    t.videoId && el("a", { href: `#/video/${t.videoId}` }, `video ${t.videoId.slice(-12)}`), ` · for ${elapsed(t.seconds)}${t.attempt > 1 ? ` · attempt ${t.attempt}` : ""}`));
  return el("div", { class: "worker" },
    el("div", { class: "line" }, el("h3", {}, one.host), el("span", { class: `badge ${one.silentSeconds > 10 ? "fail" : "ready"}` }, one.silentSeconds > 10 ? "silent" : "alive"),
      el("span", { class: "fine" }, `${one.tasks.length} of ${plural(one.slots, "task")}`)),
    el("p", { class: "meta" }, [`Spool ${one.version || "of an older version"}`, one.cores > 0 && plural(one.cores, "core"), one.sandbox ? `sandbox: ${one.sandbox}` : "sandbox unknown",
      `up for ${elapsed(one.upSeconds)}`, one.silentSeconds < 2 ? "last seen just now" : `last seen ${elapsed(one.silentSeconds)} ago`, `${one.done.toLocaleString()} done`, one.retried > 0 && `${one.retried.toLocaleString()} tried again`].filter(Boolean).join(" · ")),
    tasks.length > 0 ? el("ul", { class: "tasks" }, tasks) : el("p", { class: "fine" }, "Nothing to do."));
}

function table(label, heads, rows) {
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((cell) => el("td", {}, cell)))))));
}

function queueTable(queue) {
  const open = queue.filter((k) => k.waiting > 0 || k.running > 0);
  if (open.length === 0) return el("p", { class: "fine" }, "The queue is empty.");
  return table("Queue", ["Task", "Waiting", "Running", "Oldest waits for"], open.map((k) =>
    [kinds[k.kind] ?? k.kind, k.waiting.toLocaleString(), k.running.toLocaleString(), k.oldestSeconds > 0 ? elapsed(k.oldestSeconds) : "–"]));
}

function storageTable(storage) {
  return table("Storage", ["Kind", "Objects", "Size"], storage.map((a) => [areas[a.area] ?? a.area, ...(a.countedAt ? [a.objects.toLocaleString(), size(a.bytes)] : ["–", "not counted yet"])]));
}

// counted tells how old the figures of the storage are, which is counted every hour, and more often while it
// holds little: the oldest of them.
function counted(storage) {
  const [oldest] = storage.map((a) => a.countedAt).filter(Boolean).sort();
  return oldest ? ["counted ", el("time", { datetime: oldest, title: dateTime(oldest) }, ago(oldest))] : "not counted yet";
}
