// One video: what it is, playing it, making more of it, deleting it.

import { request } from "./api.js";
import { announce, ask, button, el, problemBox, setText } from "./dom.js";
import { events } from "./events.js";
import { badge } from "./list.js";
import { Player } from "./player.js";
import { Poller } from "./poll.js";
import { showReport } from "./report.js";
import { Resolution } from "./resolution.js";
import { ago, length, moment, resolutions, statuses } from "./words.js";

const addressLife = 3600; // seconds that addresses of private videos are signed for

// VideoPage shows one video. deleted is called when it is gone.
export class VideoPage {
  #id;
  #deleted;
  #poller; // looks while the server cannot tell
  #stream = null; // of what the server tells
  #streams = true; // whether streams get through to this page
  #video = null; // as it was read or told last, with addresses
  #readAt = 0; // the addresses, in milliseconds
  #filename = "";
  #rows = new Map(); // by name

  #title = el("h1", { tabindex: -1 }, "Video");
  #badge = el("span", { class: "badge" });
  #meta = el("p", { class: "meta" });
  #notes = el("div");
  #player = new Player(() => this.#read());
  #resolutions = el("ul", { class: "resolutions" });
  #more = el("select", { id: "more", "aria-label": "Another resolution" });
  #add = el("form", { class: "actions add", onsubmit: (event) => { event.preventDefault(); this.#addResolution(this.#more.value); } },
    this.#more, el("button", { type: "submit", id: "add" }, "Add"));
  #metadata = el("details", { class: "panel", hidden: true });
  #report = el("details", { class: "panel", ontoggle: () => this.#loadReport() });
  #reportBody = el("div");
  #problem = el("div");
  #body;

  constructor(id, { trouble, deleted }) {
    this.id = id;
    this.gone = false; // deleted here
    this.#id = encodeURIComponent(id);
    this.#deleted = deleted;
    this.#poller = new Poller(() => this.#look(), trouble);
    this.#report.append(el("summary", {}, "Report"), this.#reportBody);
    this.#body = el("div", { class: "stack", hidden: true },
      this.#meta, this.#notes, this.#player.node,
      el("section", { "aria-labelledby": "resolutions-title" }, el("h2", { id: "resolutions-title" }, "Resolutions"), this.#resolutions, this.#add),
      this.#metadata, this.#report,
      el("p", { class: "actions" }, button("Delete video", () => this.#delete(), { class: "danger", id: "delete-video" })));
    this.node = el("article", { class: "stack" },
      el("p", {}, el("a", { href: "#/" }, "← All videos")),
      el("div", { class: "line title" }, this.#title, this.#badge), this.#problem, this.#body);
  }

  async start() {
    this.#problem.replaceChildren();
    try {
      // Only the state has the file's name, and only reads have the addresses.
      const state = await request("GET", `video/${this.#id}`);
      this.#filename = state.filename;
      this.#video = state;
      await this.#read();
      this.#body.hidden = false;
      if (this.#waiting() && !document.hidden) this.#follow();
      else if (this.#waiting()) this.#poller.wake(); // which waits until somebody looks
    } catch (error) {
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, error.status !== 404 && button("Try again", () => this.start())));
    }
    this.#title.focus();
  }

  stop() {
    this.#stream?.abort();
    this.#poller.stop();
    this.#player.stop();
  }

  #waiting() {
    return ["pending_upload", "processing"].includes(this.#video.status);
  }

  // read gets the video with its addresses and shows it.
  async #read() {
    const before = this.#video;
    this.#readAt = Date.now();
    this.#video = await request("GET", `video/${this.#id}/${before.isPublic ? "public" : `private/${addressLife}`}`);
    if (before.status !== this.#video.status) announce(`${this.#filename} is ${statuses[this.#video.status]}.`);
    this.#show();
    this.#player.show(this.#video);
    return this.#video;
  }

  // follow shows what the server tells. Should the stream break, the poller finds
  // out what is wrong, and has it begin anew.
  async #follow() {
    const turn = this.#stream = new AbortController();
    let heard = false;
    try {
      for await (const { event, data } of events(`video/${this.#id}/events`, turn.signal)) {
        heard = true;
        if (event === "deleted") return this.#vanish();
        await this.#hear(JSON.parse(data));
      }
    } catch {
      this.#streams = heard || document.hidden; // nothing is lost: the next look sees everything
    }
    if (turn.signal.aborted) return;
    if (this.#waiting()) this.#poller.wake();
    else this.#loadReport();
  }

  // hear shows a state that the server told. It has no addresses; those that were
  // read last stay, unless a status is another one or they grow old.
  async #hear(state) {
    const known = this.#video.resolutions;
    const parts = (video) => Object.entries(video.resolutions).map(([name, r]) => `${name} ${r.status}`).join();
    const old = Date.now() - this.#readAt > addressLife * 500; // half their life
    if (old || state.status !== this.#video.status || parts(state) !== parts(this.#video)) return this.#read();
    for (const [name, resolution] of Object.entries(state.resolutions)) {
      const { videoUrl, thumbnailImageUrls } = known[name];
      Object.assign(resolution, { videoUrl, thumbnailImageUrls });
    }
    this.#video = state;
    this.#show();
  }

  // vanish tells that somebody else has deleted the video.
  #vanish() {
    if (this.gone) return;
    this.#player.stop();
    this.#body.hidden = true;
    this.#problem.replaceChildren(problemBox(new Error("This video has been deleted.")));
  }

  async #look() {
    await this.#read();
    if (!this.#waiting()) {
      this.#loadReport();
      return false;
    }
    if (!this.#streams) return this.#video.status === "processing";
    this.#follow();
    return false;
  }

  #show() {
    const video = this.#video;
    document.title = `${this.#filename} – Spool`;
    setText(this.#title, this.#filename);
    badge(this.#badge, video.status);
    const words = [length(video.durationSeconds), video.isPublic ? "public" : "private", `created ${ago(video.createdAt)}`];
    setText(this.#meta, words.filter(Boolean).join(" · "));
    this.#meta.title = moment(video.createdAt);
    this.#notes.replaceChildren(
      ...(video.failure ? [el("p", { class: "failure" }, video.failure.message)] : []),
      ...(video.warnings ?? []).map((w) => el("p", { class: "failure warning" }, w.message)),
      ...(video.status === "pending_upload" ? [el("p", { class: "empty" }, "No file has been uploaded for this video yet.")] : []));
    this.#showResolutions();
    this.#showMetadata();
  }

  #showResolutions() {
    const all = Object.entries(this.#video.resolutions);
    for (const [name, row] of this.#rows) {
      if (this.#video.resolutions[name]) continue;
      row.node.remove();
      this.#rows.delete(name);
    }
    for (const [name, state] of all) {
      let row = this.#rows.get(name);
      if (!row) {
        row = new Resolution(name, {
          play: () => this.#player.play(name), retry: () => this.#retryResolution(name), remove: () => this.#deleteResolution(name),
        });
        this.#rows.set(name, row);
        this.#resolutions.append(row.node);
      }
      row.update(state, this.#video.isPublic ? 0 : this.#readAt + addressLife * 1000);
    }
    this.#showMore(resolutions.filter((name) => !this.#video.resolutions[name]));
  }

  // showMore offers resolutions, and leaves the choice alone while it stays the
  // same.
  #showMore(names) {
    this.#add.hidden = names.length === 0;
    if ([...this.#more.options].map((option) => option.value).join() === names.join()) return;
    this.#more.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  }

  #showMetadata() {
    const metadata = this.#video.customMetadata;
    this.#metadata.hidden = !metadata;
    if (!metadata || this.#metadata.firstChild) return; // it never changes
    this.#metadata.append(el("summary", {}, "Metadata"), el("pre", {}, JSON.stringify(metadata, null, 2)));
  }

  async #loadReport() {
    if (!this.#report.open) return;
    try {
      this.#reportBody.replaceChildren(showReport(await request("GET", `video/${this.#id}/report`)));
    } catch (error) {
      this.#reportBody.replaceChildren(problemBox(error, button("Try again", () => this.#loadReport())));
    }
  }

  #addResolution(name) {
    return this.#make(`video/${this.#id}/resolutions`, { resolution: name }, `${name} is added.`);
  }

  #retryResolution(name) {
    return this.#make(`video/resolution/${encodeURIComponent(this.#video.resolutions[name].id)}/retry`, undefined, `${name} is tried again.`);
  }

  // make has something made of the video, and follows it.
  #make(path, body, words) {
    return this.#try(async () => {
      await request("POST", path, { body });
      announce(words);
      await this.#read();
      if (!this.#waiting()) return;
      this.#stream?.abort();
      if (this.#streams) this.#follow();
      else this.#poller.wake();
    });
  }

  async #deleteResolution(name) {
    const question = `Delete ${name} of “${this.#filename}”?`;
    if (!await ask(question, "Its file and its addresses are gone at once. This cannot be undone.", "Delete")) return;
    await this.#try(async () => {
      await request("DELETE", `video/resolution/${encodeURIComponent(this.#video.resolutions[name].id)}`);
      announce(`${name} is deleted.`);
      await this.#read();
    });
  }

  async #delete() {
    const explanation = "All its resolutions, its thumbnails and the uploaded file are deleted. This cannot be undone.";
    if (!await ask(`Delete “${this.#filename}”?`, explanation, "Delete")) return;
    await this.#try(async () => {
      await request("DELETE", `video/${this.#id}`);
      announce(`${this.#filename} is deleted.`);
      this.gone = true;
      this.#deleted();
    });
  }

  async #try(action) {
    this.#problem.replaceChildren();
    try {
      await action();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
      this.#problem.scrollIntoView({ block: "center" });
    }
  }
}
