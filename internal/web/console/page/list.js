// The library: all videos, the videos of one status, or what a search finds.

import { request } from "./api.js";
import { BulkBar } from "./bulk.js";
import { Card } from "./card.js";
import { button, el, icon, problemBox, setText } from "./dom.js";
import { plural, statuses } from "./format.js";
import { may } from "./key.js";
import { Poller, interval } from "./poller.js";
import { TagList } from "./tags.js";

const pageSize = 24;
const idleInterval = 5000; // milliseconds between polls while nothing is being converted
const typingPause = 250; // milliseconds
// A page of a search may be short although there is more. This many are requested by
// themselves before the user is asked.
const maxShortPages = 5;

// sorts are the orders of the list: their names for people, and how positions are compared as the server does it, which
// goes on by the id in the same direction.
export const sorts = {
  "": ["Newest first", (a, b) => new Date(b.createdAt) - new Date(a.createdAt), -1],
  oldest: ["Oldest first", (a, b) => new Date(a.createdAt) - new Date(b.createdAt), 1],
  title: ["By title", (a, b) => compare(titleKey(a.title), titleKey(b.title)), 1],
  duration: ["Longest first", (a, b) => (b.durationSeconds ?? 0) - (a.durationSeconds ?? 0), -1],
  size: ["Largest first", (a, b) => b.sizeBytes - a.sizeBytes, -1],
};

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
// titleKey is a title without case and accents.
const titleKey = (title) => title.toUpperCase().toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "");

// everything is the query that shows all videos.
export const everything = { q: "", in: "", status: "", sort: "", visibility: "", from: "", to: "", tag: [] };

const anyTime = "Any time";

// periodOf says in a few words from when to when videos are shown.
function periodOf({ from, to }) {
  const day = (text) => new Date(`${text}T00:00`).toLocaleDateString();
  if (from && to) return `${day(from)} – ${day(to)}`;
  if (from) return `From ${day(from)}`;
  return to ? `Until ${day(to)}` : anyTime;
}

const same = (a, b) => String(a) === String(b); // of two values of a query; a tag with a comma in it is worth a reload

// Library shows the videos of the key's tenant and keeps them up to date: what others
// create, change and delete appears by itself.
export class Library {
  #cards = new Map(); // by id, in no order
  #query = { ...everything };
  #cursor = ""; // of the next page
  #sweep = null; // where the next poll looks beyond the first page: {cursor, after}
  #loaded = false;
  #loads = 0; // counts the pages that were requested
  #busy = false;
  #shown = false;
  #poller;
  #typing;
  #go;
  #upload;

  #title = el("h1", { id: "list-title", tabindex: -1 }, "Videos");
  #search = el("input", { type: "search", id: "search", placeholder: "Search titles and file names", autocomplete: "off", spellcheck: "false", maxlength: 200, "aria-keyshortcuts": "/", title: "Press / to search" });
  #in = el("select", { id: "search-in" }, [["", "in titles"], ["said", "in what is said"]].map(([value, text]) => el("option", { value }, text)));
  #filter = el("select", { id: "filter" },
    el("option", { value: "" }, "All videos"), Object.entries(statuses).map(([value, text]) => el("option", { value }, text)));
  #visibility = el("select", { id: "visibility" }, [["", "Public and private"], ["public", "Public"], ["private", "Private"]].map(([value, text]) => el("option", { value }, text)));
  #from = el("input", { type: "date", id: "from" });
  #to = el("input", { type: "date", id: "to" });
  #when = el("summary", {}, anyTime);
  #period = el("details", { class: "period" }, this.#when,
    el("div", {}, el("label", { for: "from" }, "From", this.#from), el("label", { for: "to" }, "To", this.#to)));
  #tags = new TagList((tag) => this.#change({ tag }));
  #trouble = el("p", { class: "fine trouble-line", hidden: true });
  #sort = el("select", { id: "sort" }, Object.entries(sorts).map(([value, [text]]) => el("option", { value }, text)));
  #items = el("ul", { class: "videos", "aria-labelledby": "list-title" });
  #more = button("Show more", () => this.#load(this.#cursor), { hidden: true });
  #note = el("div");
  #bulk;

  // onError is called when the list cannot be kept up to date; see Poller. go is called
  // with a query and whether it replaces the address; upload opens the upload form.
  constructor({ onError, go, upload }) {
    this.#go = go;
    this.#upload = upload;
    this.#poller = new Poller((signal) => this.#poll(signal), onError);
    this.#bulk = new BulkBar(() => [...this.#cards.values()].filter((card) => !card.node.hidden).toSorted((a, b) => this.#order(a.video, b.video)), {
      removed: (id) => { this.remove(id); this.#tags.refresh(true); }, tags: () => this.#tags.names, edited: () => { this.#tags.refresh(true); this.refresh(); }, changed: (video) => this.#cards.get(video.id)?.update({ ...this.#cards.get(video.id).video, ...video }),
    });
    this.node = el("section", { class: "library", "aria-labelledby": "list-title" }, this.#head(),
      el("div", { class: "shelf" }, this.#tags.node, el("div", { class: "stack" }, this.#bulk.node, this.#note, this.#items, this.#trouble,
        el("p", { class: "actions centred" }, this.#more))));
    // The next page is loaded when the end of this one comes into sight.
    new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting) && this.#shown && !this.#busy && !this.#more.hidden) this.#load(this.#cursor);
    }, { rootMargin: "400px" }).observe(this.#more.parentNode);
  }

  #head() {
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#change({ q: this.#search.value.trim() }, this.#query.q !== ""), typingPause);
    });
    this.#filter.addEventListener("change", () => this.#change({ status: this.#filter.value }));
    this.#in.addEventListener("change", () => this.#change({ in: this.#in.value, q: this.#search.value.trim(), sort: "" }));
    this.#sort.addEventListener("change", () => this.#change({ sort: this.#sort.value }));
    this.#visibility.addEventListener("change", () => this.#change({ visibility: this.#visibility.value }));
    for (const [name, input] of [["from", this.#from], ["to", this.#to]]) input.addEventListener("change", () => this.#change({ [name]: input.value }));
    const field = (input, label) => [el("label", { for: input.id, class: "unseen" }, label), input];
    return el("div", { class: "head" }, this.#title,
      el("form", { class: "tools", role: "search", onsubmit: (event) => { event.preventDefault(); this.#change({ q: this.#search.value.trim() }); } },
        el("span", { class: "find" }, icon("search"), field(this.#search, "Search")), field(this.#in, "Where to search"),
        field(this.#filter, "Status"), field(this.#visibility, "Visibility"), field(this.#sort, "Order"),
        this.#period));
  }

  #change(part, replace = false) {
    clearTimeout(this.#typing);
    this.#go({ ...this.#query, ...part }, replace);
  }

  // show shows what a query of the address asks for.
  show(query) {
    const changed = Object.keys(this.#query).some((name) => !same(this.#query[name], query[name]));
    this.#query = query;
    this.#shown = true;
    if (this.#search.value.trim() !== query.q) this.#search.value = query.q;
    this.#filter.value = query.status;
    this.#in.value = query.in === "said" ? "said" : "";
    this.#search.placeholder = this.#in.value ? "Search in what is said" : "Search titles and file names";
    this.#sort.value = query.sort;
    for (const option of this.#sort.options) option.disabled = this.#saidWanted && !["", "oldest"].includes(option.value);
    this.#visibility.value = query.visibility;
    this.#from.value = query.from;
    this.#to.value = query.to;
    setText(this.#when, periodOf(query));
    this.#tags.show(query.tag);
    if (!may("read")) return this.#showUnreadable();
    this.#tags.refresh(!this.#loaded);
    if (changed || !this.#loaded) this.reload();
    else this.#poller.wake();
  }

  stop() {
    this.#shown = false;
    clearTimeout(this.#typing);
    this.#poller.stop();
  }

  focus() {
    this.#title.focus({ preventScroll: true });
  }

  focusSearch() {
    this.#search.focus();
    this.#search.select();
  }

  reload() {
    this.#poller.stop();
    this.#bulk.clear();
    return this.#load("");
  }

  get #saidWanted() { return this.#query.in === "said" && this.#query.q !== ""; }

  #path(cursor) {
    const query = new URLSearchParams({ limit: pageSize });
    for (const [name, value] of [[this.#saidWanted ? "said" : "q", this.#query.q], ["status", this.#query.status], ["sort", this.#saidWanted && this.#query.sort !== "oldest" ? "" : this.#query.sort], ["cursor", cursor]]) {
      if (value) query.set(name, value);
    }
    const { visibility, from, to, tag } = this.#query;
    if (visibility) query.set("isPublic", String(visibility === "public"));
    if (from) query.set("createdAfter", new Date(new Date(`${from}T00:00`) - 1).toISOString());
    if (to) query.set("createdBefore", new Date(new Date(`${to}T00:00`).getTime() + 24 * 3600 * 1000).toISOString());
    tag.forEach((one) => query.append("tag", one));
    return `video?${query}`;
  }

  async #load(cursor) {
    const load = ++this.#loads;
    this.#busy = this.#more.disabled = true;
    this.node.setAttribute("aria-busy", "true");
    if (!cursor && !this.#loaded) this.#items.replaceChildren(...Array.from({ length: 8 }, () => el("li", { class: "video ghost", "aria-hidden": "true" }, el("div", { class: "thumb" }), el("div", { class: "words" }))));
    try {
      const page = await this.#find(cursor, load);
      if (load !== this.#loads) return; // something else was asked for meanwhile
      if (!cursor) this.#clear();
      this.#loaded = true;
      page.videos.forEach((video) => this.#put(video));
      this.#cursor = page.nextCursor ?? "";
      this.#sweep = null;
      this.#showEnd();
      if (this.#shown) this.#poller.wake();
    } catch (error) {
      if (load !== this.#loads || error.status === 401) return;
      if (!this.#loaded) this.#items.replaceChildren();
      this.#note.replaceChildren(problemBox(error, button("Try again", () => this.#load(cursor))));
    } finally {
      if (load === this.#loads) {
        this.#busy = this.#more.disabled = false;
        this.node.removeAttribute("aria-busy");
      }
    }
  }

  // find requests a page, and those after it while it has found nothing.
  async #find(cursor, load) {
    let page = await request("GET", this.#path(cursor));
    for (let n = 1; n < maxShortPages && page.videos.length === 0 && page.nextCursor && load === this.#loads; n++) {
      page = await request("GET", this.#path(page.nextCursor));
    }
    return page;
  }

  #clear() {
    this.#cards.clear();
    this.#items.replaceChildren();
  }

  // showEnd shows what belongs below the last video.
  #showEnd() {
    this.#more.hidden = !this.#cursor;
    setText(this.#more, this.#query.q ? "Search further" : "Show more");
    this.#note.replaceChildren(this.#cards.size === 0 ? this.#empty() : "");
    this.#hideTrouble();
  }

  // hideTrouble keeps failed and abandoned uploads out of the way of people who do not look for them.
  #hideTrouble() {
    const { q, status } = this.#query;
    let hidden = 0;
    for (const card of this.#cards.values()) {
      card.node.hidden = !q && !status && !card.wasWell;
      if (card.node.hidden) hidden++;
    }
    this.#trouble.hidden = hidden === 0;
    if (hidden > 0) this.#trouble.replaceChildren(`${plural(hidden, "failed or abandoned upload")} ${hidden === 1 ? "is" : "are"} not shown. `, button("Show failed ones", () => this.#change({ status: "fail" }), { class: "quiet" }));
  }

  #empty() {
    const { q, status, visibility, from, to, tag } = this.#query;
    const words = this.#saidWanted ? " in captions" : "";
    const filtered = visibility || from || to || tag.length > 0;
    if (this.#cursor) return el("p", { class: "empty" }, q ? `Nothing found for “${q}”${words} so far.` : "Nothing found so far.");
    if (q) return el("p", { class: "empty" }, `Nothing found for “${q}”${words}${status ? ` among videos that are ${statuses[status]}` : ""}. `, el("a", { href: "#/" }, "Show all videos"));
    if (filtered) return el("p", { class: "empty" }, "No video fits these filters. ", el("a", { href: "#/" }, "Show all videos"));
    if (status) return el("p", { class: "empty" }, `No video is ${statuses[status]}. `, el("a", { href: "#/" }, "Show all videos"));
    return el("div", { class: "empty welcome" }, icon("film"),
      el("h2", {}, "No videos yet"),
      may("write")
        ? el("p", {}, "Upload video files, drop them anywhere on this page, or have them fetched from a URL. They are converted to the resolutions you pick, and can be watched here as soon as they are ready.")
        : el("p", {}, "This key may watch, but not upload. Videos appear here as soon as somebody uploads them."),
      may("write") && el("p", { class: "actions" }, button("Upload a video", this.#upload, { class: "main" })),
      el("p", { class: "fine" }, "Programs use the same key: the ", el("a", { href: "docs" }, "API docs"), " show how."));
  }

  // showUnreadable is for keys that may not see what there is.
  #showUnreadable() {
    this.node.querySelector(".tools").hidden = true;
    this.#note.replaceChildren(el("div", { class: "empty welcome" }, icon("lock"),
      el("h2", {}, "This key may not see videos"),
      el("p", {}, may("write") ? "It may upload them. To watch and manage them here, use a key with the scope read." : "To watch and manage them here, use a key with the scope read."),
      may("write") && el("p", { class: "actions" }, button("Upload a video", this.#upload, { class: "main" }))));
  }

  // order compares positions in the list: negative if a comes before b.
  #order = (a, b) => {
    const [, by, direction] = sorts[this.#query.sort];
    return by(a, b) || direction * compare(a.id, b.id);
  };

  // put shows a video at its place, or updates it. A change may be one of the place.
  #put(video) {
    const known = this.#cards.get(video.id);
    const moves = known && this.#order(known.video, video) !== 0;
    known?.update(video);
    if (known && !moves) return;
    const next = [...this.#cards.values()].filter((card) => this.#order(video, card.video) < 0).toSorted((a, b) => this.#order(a.video, b.video))[0];
    const card = known ?? new Card(video, may("write") || may("delete") ? (...args) => this.#bulk.picked(...args) : null);
    this.#cards.set(video.id, card);
    this.#items.insertBefore(card.node, next?.node ?? null);
  }

  // poll looks at the first page, where new videos appear, and at another one in turn.
  async #poll(signal) {
    const loads = this.#loads;
    const look = async (cursor, after) => {
      const page = await request("GET", this.#path(cursor), { signal });
      return loads === this.#loads ? this.#reconcile(page, after) : null;
    };
    const first = await look("", null);
    this.#sweep ??= first;
    if (this.#sweep?.cursor && first?.cursor) this.#sweep = await look(this.#sweep.cursor, this.#sweep.after);
    this.#tags.refresh();
    const active = [...this.#cards.values()].some((card) => ["processing", "pending_upload"].includes(card.video.status));
    return active ? interval : idleInterval;
  }

  // reconcile shows a page that begins after a video, or at the start of the list for
  // null, in place of what is shown of this stretch. It returns where the next stretch
  // begins, or null if nothing of it is shown.
  #reconcile({ videos, nextCursor }, after) {
    const last = videos.at(-1);
    if (nextCursor && !last) return null; // a search that has not found anything yet
    const found = new Set(videos.map((video) => video.id));
    for (const [id, card] of this.#cards) {
      const inside = (!after || this.#order(after, card.video) < 0) && (!nextCursor || this.#order(card.video, last) <= 0);
      if (inside && !found.has(id)) this.remove(id);
    }
    const end = [...this.#cards.values()].map((card) => card.video).toSorted(this.#order).at(-1);
    // What lies beyond the last video that is shown is on a page that was not loaded yet.
    for (const video of videos) if (!this.#cursor || !end || this.#order(video, end) <= 0) this.#put(video);
    if (!this.#cursor && nextCursor && !end) this.#cursor = nextCursor;
    this.#showEnd();
    return nextCursor && end && this.#order(last, end) < 0 ? { cursor: nextCursor, after: last } : null;
  }

  // known returns what the list knows of a video, or undefined.
  known(id) {
    return this.#cards.get(id)?.video;
  }

  // refresh looks again at once.
  refresh() {
    if (this.#loaded && this.#shown) this.#poller.pollNow();
  }

  remove(id) {
    const card = this.#cards.get(id);
    if (!card) return;
    if (card.node.contains(document.activeElement)) this.focus();
    card.node.remove();
    this.#cards.delete(id);
    this.#bulk.show();
    if (this.#cards.size === 0) this.#showEnd();
  }
}
