// The page of one video.

import { request } from "./api.js";
import { Captions } from "./captions.js";
import { badge } from "./card.js";
import { Metadata } from "./details.js";
import { announce, button, confirmAction, el, problemBox, setText } from "./dom.js";
import { events } from "./events.js";
import { ago, dateTime, duration, place, statuses, statusOf, titleOf } from "./format.js";
import { Importing, isFetching } from "./importing.js";
import { may } from "./key.js";
import { Player } from "./player.js";
import { Poller, interval } from "./poller.js";
import { showReport } from "./report.js";
import { Resolution, isHopeless } from "./resolution.js";
import { resolutions } from "./resolutions.js";
import { Share } from "./share.js";
import { Title } from "./title.js";

const urlSeconds = 3600; // how long URLs of private videos are valid
const variantInterval = 5000; // milliseconds between polls while other codecs are being made

// parts says what the statuses of a video are: URLs are loaded again when one has changed.
const parts = (video) => Object.entries(video.resolutions).map(([name, r]) => [name, r.status, ...(r.variants ?? []).map((v) => v.status)].join(" ")).join();

// VideoPage shows one video. It follows the event stream of the video, and polls when the
// stream breaks. After the first successful poll it subscribes again, unless no event ever
// arrived: then a proxy buffers streams, and polling continues. deleted is called after
// the user has deleted the video.
export class VideoPage {
  #id;
  #deleted;
  #poller; // used while there is no event stream
  #stream = null; // AbortController of the event stream
  #streamsWork = true; // whether event streams reach this page
  #video = null; // the last state, with URLs
  #loadedAt = 0; // when the URLs were loaded, in milliseconds
  #rows = new Map(); // by name

  #title = new Title((title) => this.#edit({ title }));
  #badge = el("span", { class: "badge" });
  #meta = el("p", { class: "meta" });
  #notes = el("div");
  #importing = new Importing(() => this.#change(`video/${this.#id}/import`, undefined, "The file is fetched again."));
  #player = new Player(() => this.#load());
  #resolutions = el("ul", { class: "resolutions" });
  #more = el("select", { id: "more", "aria-label": "Another resolution" });
  #add = el("form", { class: "actions add", onsubmit: (event) => { event.preventDefault(); this.#addResolution(this.#more.value); } },
    this.#more, el("button", { type: "submit", id: "add" }, "Add"));
  #metadata = new Metadata((customMetadata) => this.#edit({ customMetadata }));
  #share;
  #captions;
  #report = el("details", { class: "panel", ontoggle: () => this.#loadReport() });
  #reportBody = el("div");
  #problem = el("div");
  #body;

  // back is the address of the list that the user came from.
  constructor(id, { showOutdated, deleted, back }) {
    this.id = id;
    this.gone = false; // deleted on this page
    this.#id = encodeURIComponent(id);
    this.#deleted = deleted;
    this.#poller = new Poller(() => this.#poll(), showOutdated);
    this.#share = new Share(this.#id);
    this.#captions = new Captions(this.#id, () => this.#load());
    this.#report.append(el("summary", {}, el("h2", {}, "Report")), this.#reportBody);
    this.#body = el("div", { class: "watching", hidden: true },
      el("div", { class: "stack" }, this.#notes, this.#importing.node, this.#player.node, this.#report),
      el("div", { class: "stack side" }, this.#share.node,
        el("section", { class: "panel", "aria-labelledby": "resolutions-title" }, el("h2", { id: "resolutions-title" }, "Resolutions"), this.#resolutions, may("write") && this.#add),
        this.#captions.node, this.#metadata.node,
        may("delete") && el("p", { class: "actions" }, button("Delete video", () => this.#delete(), { class: "danger", id: "delete-video" }))));
    this.node = el("article", { class: "stack" },
      el("p", { class: "back" }, el("a", { href: back }, "← All videos")),
      el("div", { class: "line title" }, this.#title.node, this.#badge), this.#meta, this.#problem, this.#body);
  }

  async start() {
    this.#problem.replaceChildren();
    try {
      await this.#load();
      this.#body.hidden = false;
      if (this.#isPending() && !document.hidden) this.#subscribe();
      else if (this.#isPending()) this.#poller.wake(); // waits until the page is visible
      else this.#followVariants();
    } catch (error) {
      if (error.status === 404) this.#title.show("There is no such video", false);
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, ![403, 404].includes(error.status) && button("Try again", () => this.start())));
    }
    this.#title.focus();
  }

  stop() {
    this.#stream?.abort();
    this.#poller.stop();
    this.#player.stop();
  }

  #isPending() {
    return ["pending_upload", "processing"].includes(this.#video.status);
  }

  // awaitsVariants reports whether a ready resolution is still being made in another codec. No
  // event tells of that.
  #awaitsVariants() {
    return Object.values(this.#video.resolutions).some((r) => r.status === "ready" && r.variants?.some((v) => v.status === "processing"));
  }

  #followVariants() {
    if (this.#awaitsVariants()) this.#poller.wake(variantInterval);
  }

  // load loads the video with its URLs and shows it.
  async #load() {
    const before = this.#video;
    this.#loadedAt = Date.now();
    this.#video = await request("GET", `video/${this.#id}?expiresIn=${urlSeconds}`);
    if (before && before.status !== this.#video.status) announce(`${titleOf(this.#video)} is ${statuses[this.#video.status]}.`);
    this.#show();
    this.#player.show(this.#video);
    this.#share.show(this.#video, titleOf(this.#video));
    this.#captions.show(this.#video);
    return this.#video;
  }

  // subscribe shows the events of the stream. When the stream breaks, the poller finds out
  // why and subscribes again.
  async #subscribe() {
    const controller = this.#stream = new AbortController();
    let received = false;
    try {
      for await (const { event, data } of events(`video/${this.#id}/events`, controller.signal)) {
        received = true;
        if (event === "deleted") return this.#showDeleted();
        await this.#apply(JSON.parse(data));
      }
    } catch {
      this.#streamsWork = received || document.hidden; // nothing is lost: the next poll sees everything
    }
    if (controller.signal.aborted) return;
    if (this.#isPending()) this.#poller.wake();
    else {
      this.#loadReport();
      this.#followVariants();
    }
  }

  // apply shows the state of an event. It has no URLs: those that were loaded last are kept,
  // unless a status has changed or they are about to expire.
  async #apply(state) {
    const known = this.#video.resolutions;
    const old = Date.now() - this.#loadedAt > urlSeconds * 500; // half their validity
    if (old || state.status !== this.#video.status || parts(state) !== parts(this.#video)) return this.#load();
    for (const [name, resolution] of Object.entries(state.resolutions)) {
      const { videoUrl, thumbnailImageUrls, variants } = known[name];
      resolution.variants?.forEach((v, i) => { v.videoUrl = variants?.[i]?.videoUrl; });
      Object.assign(resolution, { videoUrl, thumbnailImageUrls });
    }
    const { hlsUrl, dashUrl, posterUrl, storyboardUrl, previewUrl, embedUrl, watchUrl, captions } = this.#video;
    const playable = state.playable && !this.#video.playable;
    this.#video = { hlsUrl, dashUrl, posterUrl, storyboardUrl, previewUrl, embedUrl, watchUrl, captions, ...state };
    this.#show();
    if (playable) this.#player.show(this.#video);
  }

  // showDeleted says that somebody else has deleted the video.
  #showDeleted() {
    if (this.gone) return;
    this.#player.stop();
    this.#body.hidden = this.#badge.hidden = true;
    this.#title.show(titleOf(this.#video), false);
    this.#problem.replaceChildren(problemBox(new Error("This video has been deleted.")));
  }

  async #poll() {
    try {
      return await this.#look();
    } catch (error) {
      if (error.status !== 404) throw error;
      this.#showDeleted(); // it was there when the page was opened
      return 0;
    }
  }

  // look loads the video once more and returns after how many milliseconds to do so again; 0 is never.
  async #look() {
    if (!this.#isPending()) return this.#pollVariants();
    await this.#load();
    if (!this.#isPending()) {
      this.#loadReport();
      return this.#awaitsVariants() ? variantInterval : 0;
    }
    if (!this.#streamsWork) return this.#video.status === "processing" || isFetching(this.#video) ? interval : 0;
    this.#subscribe();
    return 0;
  }

  async #pollVariants() {
    const before = parts(this.#video);
    await this.#apply(await request("GET", `video/${this.#id}`));
    if (parts(this.#video) !== before) this.#loadReport();
    return this.#awaitsVariants() ? variantInterval : 0;
  }

  #show() {
    const video = this.#video;
    document.title = `${titleOf(video)} – Spool`;
    this.#title.show(titleOf(video));
    badge(this.#badge, video.status, [statusOf(video), place(video)].filter(Boolean).join(" "));
    if (isFetching(video)) setText(this.#badge, "being fetched");
    const words = [duration(video.durationSeconds), video.isPublic ? "public" : "private", `created ${ago(video.createdAt)}`, video.filename];
    setText(this.#meta, words.filter(Boolean).join(" · "));
    this.#meta.title = dateTime(video.createdAt);
    this.#notes.replaceChildren(
      ...(video.failure ? [el("p", { class: "failure problem" }, video.failure.message)] : []),
      ...(video.warnings ?? []).map((w) => el("p", { class: "failure warning" }, w.message)),
      ...(video.status === "pending_upload" && !isFetching(video) ? [el("p", { class: "empty" }, "No file has been uploaded for this video yet.")] : []));
    this.#badge.classList.toggle("unseen", video.status === "ready");
    this.#importing.show(video);
    this.#showResolutions();
    this.#metadata.show(video.customMetadata);
  }

  // edit changes what the user says about the video.
  async #edit(change) {
    const state = await request("PATCH", `video/${this.#id}`, { body: change });
    announce("Saved.");
    Object.assign(this.#video, { title: state.title, customMetadata: state.customMetadata });
    this.#show();
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
          retry: () => this.#retryResolution(name), remove: () => this.#deleteResolution(name),
        });
        this.#rows.set(name, row);
        this.#resolutions.append(row.node);
      }
      row.update(state, this.#video);
    }
    this.#showMore(resolutions.filter((name) => !this.#video.resolutions[name]));
  }

  // showMore offers resolutions. It keeps the selection while the offer stays the same.
  #showMore(names) {
    this.#add.hidden = names.length === 0 || (this.#video.status === "fail" && isHopeless(this.#video.failure));
    if ([...this.#more.options].map((option) => option.value).join() === names.join()) return;
    this.#more.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
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
    return this.#change(`video/${this.#id}/resolutions`, { resolution: name }, `${name} is added.`);
  }

  #retryResolution(name) {
    return this.#change(`video/resolution/${encodeURIComponent(this.#video.resolutions[name].id)}/retry`, undefined, `${name} is tried again.`);
  }

  // change requests a change of the video and follows its progress.
  #change(path, body, words) {
    return this.#try(async () => {
      await request("POST", path, { body });
      announce(words);
      await this.#load();
      if (!this.#isPending()) return this.#followVariants();
      this.#stream?.abort();
      if (this.#streamsWork) this.#subscribe();
      else this.#poller.wake();
    });
  }

  async #deleteResolution(name) {
    const question = `Delete ${name} of “${titleOf(this.#video)}”?`;
    if (!await confirmAction(question, "Its file and its addresses are gone at once. This cannot be undone.", "Delete")) return;
    await this.#try(async () => {
      await request("DELETE", `video/resolution/${encodeURIComponent(this.#video.resolutions[name].id)}`);
      announce(`${name} is deleted.`);
      await this.#load();
    });
  }

  async #delete() {
    const explanation = "All its resolutions, its thumbnails and the uploaded file are deleted. This cannot be undone.";
    if (!await confirmAction(`Delete “${titleOf(this.#video)}”?`, explanation, "Delete")) return;
    await this.#try(async () => {
      await request("DELETE", `video/${this.#id}`);
      announce(`${titleOf(this.#video)} is deleted.`);
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
