// One video of the library.

import { announce, el, icon, setText } from "./dom.js";
import { clock } from "./clock.js";
import { isFetching } from "./importing.js";
import { ago, bytes, dateTime, duration, percent, pictureSize, place, statuses, statusOf, titleOf, waits } from "./format.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const hoverDelay = 250; // milliseconds, so that a passing pointer loads nothing
const abandonedAfter = 24 * 3600 * 1000; // milliseconds that an upload may wait for its file before it is out of the way
const posterRetry = 4000; // milliseconds between two attempts at a picture that is not there yet

// Card shows a video as a picture with a few words. Its state is in video.
export class Card {
  #name = el("a", { class: "name", dir: "auto" });
  #badge = el("span", { class: "badge" });
  #thumb = el("div", { class: "thumb" });
  #length = el("span", { class: "length" });
  #bar = el("progress", { max: 1 });
  #work = el("div", { class: "work" });
  #percent = el("span", { class: "fine" });
  #meta = el("p", { class: "meta" });
  #access = el("span", { class: "visibility" });
  #created = el("time");
  #failure = el("p", { class: "failure" });
  #tags = el("ul", { class: "tags", "aria-label": "Tags" });
  #shownTags = "";
  #matches = el("ul", { class: "matches", "aria-label": "Where it is said" });
  #shownMatches = "";
  #poster = null;
  #posterTried = 0;
  #preview = null;
  #timer;
  wasWell = false;

  // select is called with the card and the event when its box is ticked; without it
  // there is no box.
  constructor(video, select) {
    this.box = el("input", { type: "checkbox", onclick: (event) => select(this, event) });
    this.#work.append(this.#bar, this.#percent);
    this.#thumb.append(icon("film"), this.#badge, this.#length);
    this.node = el("li", { class: "video" }, this.#thumb,
      el("div", { class: "words" }, this.#name, this.#work, this.#meta, this.#tags, this.#failure, this.#matches),
      select && el("label", { class: "pick" }, this.box));
    this.#name.href = `#/video/${encodeURIComponent(video.id)}`;
    this.#created.dateTime = video.createdAt;
    this.#created.title = dateTime(video.createdAt);
    for (const name of ["pointerenter", "focusin"]) this.node.addEventListener(name, () => this.#startPreview());
    for (const name of ["pointerleave", "focusout"]) this.node.addEventListener(name, () => this.#stopPreview());
    this.update(video);
  }

  update(video) {
    const title = titleOf(video);
    if (this.video && this.video.status !== video.status) announce(`${title} is ${statuses[video.status]}.`);
    this.video = video;
    this.wasWell ||= !isTrouble(video); // what fails before people's eyes stays there
    setText(this.#name, title);
    this.box.setAttribute("aria-label", `Select ${title}`);
    const importing = isFetching(video);
    badge(this.#badge, video.status, statusOf(video));
    if (importing) setText(this.#badge, "being fetched");
    if (video.status === "processing" && video.playable) setText(this.#badge, `${statuses.processing}, can be watched`);
    this.#badge.classList.toggle("unseen", video.status === "ready"); // what is normal needs no label
    setText(this.#length, duration(video.durationSeconds));
    this.#length.hidden = !video.durationSeconds;
    this.#work.hidden = video.status !== "processing" && !importing;
    this.#bar.value = importing ? video.importProgress : video.progress;
    this.#bar.setAttribute("aria-label", `Progress of ${title}`);
    setText(this.#percent, waits(video) ? place(video) : percent(this.#bar.value));
    this.#showMeta(video);
    this.#showMatches(video.matches ?? []);
    this.#showPoster(video.posterUrl);
  }

  // showMatches shows where a search has found what is said. Each place leads to the video at its time.
  #showMatches(all) {
    if (JSON.stringify(all) === this.#shownMatches) return;
    this.#shownMatches = JSON.stringify(all);
    this.#matches.hidden = all.length === 0;
    this.#matches.replaceChildren(...all.map(({ language, startSeconds, text }) => el("li", {},
      el("a", { href: `${this.#name.href}?start=${startSeconds}` }, el("span", { class: "at" }, clock(Math.floor(startSeconds))), " ", el("span", { lang: language, dir: "auto" }, text)))));
  }

  #showMeta(video) {
    setText(this.#created, ago(video.createdAt));
    setText(this.#access, video.isPublic ? "public" : "private");
    const parts = [pictureSize(video), bytes(video.sizeBytes), this.#access, this.#created, video.expiresAt && expires(video.expiresAt)].filter(Boolean);
    this.#meta.replaceChildren(...parts.flatMap((part, i) => (i > 0 ? [" · ", part] : [part])));
    const tags = video.tags ?? [];
    if (tags.join("\n") !== this.#shownTags) this.#tags.replaceChildren(...tags.map((tag) => el("li", { dir: "auto" }, tag)));
    this.#shownTags = tags.join("\n");
    this.#tags.hidden = tags.length === 0;
    const message = video.failure?.message ?? video.warnings?.map((w) => w.message).join(" ") ?? "";
    setText(this.#failure, message);
    this.#failure.hidden = message === "";
    this.#failure.classList.toggle("warning", !video.failure);
  }

  // showPoster loads the picture once. Its URL changes whenever it is signed again.
  #showPoster(url) {
    const made = this.video.status === "ready" || this.video.playable; // or a moment later
    if (!url || !made || this.#poster || Date.now() - this.#posterTried < posterRetry) return;
    this.#posterTried = Date.now();
    const image = this.#poster = el("img", {
      src: url, alt: "", loading: "lazy", decoding: "async",
      onload: () => this.#thumb.classList.add("pictured"),
      onerror: () => { image.remove(); this.#poster = null; },
    });
    this.#thumb.prepend(image);
  }

  #startPreview() {
    if (!this.video.previewUrl || this.video.status !== "ready" || this.#preview || calm.matches) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const image = this.#preview = el("img", {
        class: "moving", src: this.video.previewUrl, alt: "",
        onload: () => this.#thumb.classList.add("pictured"), onerror: () => this.#stopPreview(),
      });
      this.#poster ? this.#poster.after(image) : this.#thumb.prepend(image);
    }, hoverDelay);
  }

  #stopPreview() {
    clearTimeout(this.#timer);
    this.#preview?.remove();
    this.#preview = null;
  }
}

// isTrouble reports whether a video is a failed or an abandoned upload, which the list keeps out of the way.
function isTrouble(video) {
  const abandoned = video.status === "pending_upload" && video.importProgress === undefined && Date.now() - new Date(video.createdAt) > abandonedAfter;
  return video.status === "fail" || abandoned;
}

// expires says when a video is deleted by itself.
function expires(time) {
  return `expires ${new Date(time).toLocaleDateString()}`;
}

// badge shows a status with a word and a colour.
export function badge(node, status, word = statuses[status] ?? status) {
  node.className = `badge ${status}`;
  setText(node, word);
}
