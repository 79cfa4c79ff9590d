// The list of videos, newest first.

import { request } from "./api.js";
import { announce, button, el, problemBox, setText } from "./dom.js";
import { ago, dateTime, duration, percent, statuses } from "./format.js";
import { Poller } from "./poller.js";

const pageSize = 20;

// List shows the videos of the key's tenant. While any of them is being converted, it
// polls them all with one request.
export class List {
  #rows = new Map(); // by id
  #cursor = "";
  #loaded = false;
  #loads = 0; // counts the pages that were requested
  #shown = false;
  #poller;

  #title = el("h2", { id: "list-title", tabindex: -1 }, "Videos");
  #filter = el("select", { id: "filter" },
    el("option", { value: "" }, "all"), Object.entries(statuses).map(([value, text]) => el("option", { value }, text)));
  #items = el("ul", { class: "videos" });
  #more = button("Show more", () => this.#load(this.#cursor), { hidden: true });
  #note = el("div");

  // onError is called when the list cannot be kept up to date; see Poller.
  constructor(onError) {
    this.#poller = new Poller((signal) => this.#poll(signal), onError);
    this.#filter.addEventListener("change", () => this.reload());
    this.node = el("section", { "aria-labelledby": "list-title" },
      el("div", { class: "line" },
        this.#title,
        el("span", { class: "actions" },
          el("label", { for: "filter" }, "Show "), this.#filter, button("Refresh", () => this.reload()))),
      this.#items, this.#note, el("p", { class: "actions centred" }, this.#more));
  }

  // start and stop say whether the list is visible. It is loaded when it is first shown;
  // afterwards it keeps its state.
  start() {
    this.#shown = true;
    if (this.#loaded) this.#pollIfNeeded();
    else this.reload();
  }

  stop() {
    this.#shown = false;
    this.#poller.stop();
  }

  focus() {
    this.#title.focus({ preventScroll: true });
  }

  reload() {
    return this.#load("");
  }

  async #load(cursor) {
    const load = ++this.#loads;
    const query = new URLSearchParams({ limit: pageSize });
    if (cursor) query.set("cursor", cursor);
    if (this.#filter.value) query.set("status", this.#filter.value);
    this.#more.disabled = true;
    try {
      const page = await request("GET", `video?${query}`);
      if (load !== this.#loads) return; // another filter was chosen meanwhile
      if (!cursor) this.#clear();
      this.#loaded = true;
      page.videos.forEach((video) => this.#show(video, (row) => this.#items.append(row)));
      this.#cursor = page.nextCursor ?? "";
      this.#more.hidden = !this.#cursor;
      this.#note.replaceChildren(this.#rows.size === 0 ? this.#empty() : "");
      this.#pollIfNeeded();
    } catch (error) {
      if (load === this.#loads && error.status !== 401) this.#note.replaceChildren(problemBox(error, button("Try again", () => this.#load(cursor))));
    }
    this.#more.disabled = false;
  }

  #clear() {
    this.#rows.clear();
    this.#items.replaceChildren();
  }

  #empty() {
    if (this.#filter.value) return el("p", { class: "empty" }, `No video is ${statuses[this.#filter.value]}.`);
    return el("div", { class: "empty" },
      el("h3", {}, "No videos yet"),
      el("p", {}, "Choose a video above and press Upload. It is converted to the resolutions you picked, and each can be watched here as soon as it is ready."),
      el("p", {}, "Programs upload with the same key: the ", el("a", { href: "docs" }, "API docs"), " show how."));
  }

  #show(video, insert) {
    const known = this.#rows.get(video.id);
    if (known) return known.update(video);
    const row = new Row(video);
    this.#rows.set(video.id, row);
    insert(row.node);
  }

  #pollIfNeeded() {
    if (this.#shown && this.#processing().length > 0) this.#poller.wake();
  }

  #processing() {
    return [...this.#rows.values()].filter((row) => row.video.status === "processing");
  }

  // poll requests all videos in processing at once. One that is not among them any more
  // has finished, was deleted, or is beyond the limit.
  async #poll(signal) {
    const { videos } = await request("GET", "video?status=processing&limit=100", { signal });
    const fresh = new Map(videos.map((video) => [video.id, video]));
    for (const row of this.#processing()) {
      const { id } = row.video;
      if (fresh.has(id)) row.update(fresh.get(id));
      else await this.refresh(id, signal);
    }
    return this.#processing().length > 0;
  }

  // refresh loads one video and shows it. A new one is inserted by its age.
  async refresh(id, signal) {
    try {
      const video = await request("GET", `video/${id}`, { signal });
      const next = this.#nextOlder(video);
      // A video older than all that are shown is on a page that was not loaded yet.
      if (next || !this.#cursor || this.#rows.has(id)) this.#show(video, (row) => this.#items.insertBefore(row, next?.node ?? null));
      if (this.#rows.size > 0) this.#note.replaceChildren();
      this.#pollIfNeeded();
    } catch (error) {
      if (error.status === 404) return this.remove(id);
      throw error;
    }
  }

  #nextOlder(video) {
    const age = (row) => new Date(video.createdAt) - new Date(row.video.createdAt);
    return [...this.#rows.values()].filter((row) => age(row) > 0).toSorted((a, b) => age(a) - age(b))[0];
  }

  remove(id) {
    this.#rows.get(id)?.node.remove();
    this.#rows.delete(id);
    if (this.#rows.size === 0 && !this.#cursor) this.#note.replaceChildren(this.#empty());
  }
}

// Row is one video of the list.
class Row {
  #name = el("a", { class: "name" });
  #badge = el("span", { class: "badge" });
  #progress = el("div", { class: "work" });
  #bar = el("progress", { max: 1 });
  #percent = el("span", { class: "fine" });
  #meta = el("p", { class: "meta" });
  #created = el("time");
  #failure = el("p", { class: "failure" });

  constructor(video) {
    this.#progress.append(this.#bar, this.#percent);
    this.node = el("li", { class: "video" },
      el("div", { class: "line" }, this.#name, this.#badge), this.#progress, this.#meta, this.#failure);
    this.#name.href = `#/video/${encodeURIComponent(video.id)}`;
    this.#created.dateTime = video.createdAt;
    this.#created.title = dateTime(video.createdAt);
    this.update(video);
  }

  update(video) {
    if (this.video && this.video.status !== video.status) announce(`${video.filename} is ${statuses[video.status]}.`);
    this.video = video;
    setText(this.#name, video.filename);
    badge(this.#badge, video.status);
    this.#progress.hidden = video.status !== "processing";
    this.#bar.value = video.progress;
    this.#bar.setAttribute("aria-label", `Progress of ${video.filename}`);
    setText(this.#percent, percent(video.progress));
    const words = [duration(video.durationSeconds), Object.keys(video.resolutions).join(", "), video.isPublic ? "public" : "private"];
    setText(this.#created, ago(video.createdAt));
    this.#meta.replaceChildren(words.filter(Boolean).join(" · "), " · ", this.#created);
    const message = video.failure?.message ?? video.warnings?.map((w) => w.message).join(" ") ?? "";
    setText(this.#failure, message);
    this.#failure.hidden = message === "";
    this.#failure.classList.toggle("warning", !video.failure);
  }
}

// badge shows a status with a word and a colour.
export function badge(node, status) {
  node.className = `badge ${status}`;
  setText(node, statuses[status] ?? status);
}
