// The chapters of a video: marks and titles on the time line, which media-chrome draws from a text track, a menu, and
// steps to the next and the one before.

import { clock } from "./clock.js";
import { el } from "./layout.js";
import { readCues } from "./vtt.js";

const grace = 3; // seconds into a chapter in which a step back goes to the one before

export class Chapters {
  #media;
  #button;
  #menu;
  #name = el("span", { class: "name" });
  #all = []; // of {start, end, text}
  #request = null;

  constructor({ video, chapterButton, chapterMenu }) {
    this.#media = video;
    this.#button = chapterButton;
    this.#menu = chapterMenu;
    chapterButton.append(this.#name);
    for (const type of ["timeupdate", "seeking"]) video.addEventListener(type, () => this.#showCurrent());
    video.addEventListener("durationchange", () => this.#mark());
    chapterMenu.addEventListener("click", (event) => this.#choose(event));
    chapterMenu.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) this.#choose(event); });
    chapterMenu.addEventListener("toggle", (event) => { if (event.newState === "open") this.#focusCurrent(); });
  }

  // load shows the chapters at a URL; none if that is empty.
  async load(url) {
    this.#request?.abort();
    this.#request = new AbortController();
    if (!url) return this.#show([]);
    try {
      const response = await fetch(url, { signal: this.#request.signal, cache: "no-cache" }); // a publisher may have changed them just now
      this.#show(response.ok ? readCues(await response.text()) : []);
    } catch {
      // No chapters then, or the ones before.
    }
  }

  // step goes to the next chapter or, with -1, to the beginning of this one or the one before. It reports whether
  // there are chapters.
  step(by) {
    if (this.#all.length === 0) return false;
    const now = this.#current();
    let to = now + by;
    if (by < 0 && now >= 0 && this.#media.currentTime - this.#all[now].start > grace) to = now;
    if (to < this.#all.length) this.#media.currentTime = to < 0 ? 0 : this.#all[to].start;
    return true;
  }

  #current() {
    return this.#all.findLastIndex((c) => c.start <= this.#media.currentTime + 0.001);
  }

  #show(all) {
    this.#all = all;
    this.#button.hidden = all.length === 0;
    this.#menu.replaceChildren(...all.map(({ start, text }, i) =>
      el("media-chrome-menu-item", { type: "radio", value: String(i) }, text, el("span", { slot: "suffix", class: "time" }, clock(start)))));
    this.#mark();
    this.#showCurrent();
  }

  // mark hands the chapters to media-chrome. While a video is being made, some begin behind what there is of it.
  #mark() {
    const { duration, textTracks } = this.#media, length = Number.isFinite(duration) ? duration : Infinity;
    let track = [...textTracks].find((t) => t.kind === "chapters");
    if (!track && this.#all.length === 0) return;
    track ??= this.#media.addTextTrack("chapters", "Chapters");
    track.mode = "hidden"; // with "disabled" there would be no cues
    for (const cue of [...track.cues]) track.removeCue(cue);
    for (const { start, end, text } of this.#all) if (start < length) track.addCue(new VTTCue(start, Math.min(end, length), text));
    track.mode = "disabled"; // media-chrome looks again when a mode has changed
    track.mode = "hidden";
  }

  #showCurrent() {
    const now = this.#current(), title = this.#all[now]?.text ?? "Chapters";
    if (this.#name.textContent === title) return;
    this.#name.textContent = title;
    this.#button.setAttribute("aria-label", now < 0 ? title : `Chapters, now: ${title}`);
    [...this.#menu.children].forEach((item, i) => { item.checked = i === now; });
  }

  #focusCurrent() {
    const item = this.#menu.children[Math.max(0, this.#current())];
    this.#menu.addEventListener("transitionend", () => item?.focus(), { once: true });
  }

  #choose(event) {
    const item = event.composedPath().find((node) => node.parentNode === this.#menu);
    if (item) this.#media.currentTime = this.#all[Number(item.value)].start;
  }
}
