// A time line: pictures of the video with a playhead, marks that can be moved, and a range with two ends.

import { clock } from "./clock.js";
import { el, setText } from "./dom.js";
import { loadPlayer } from "./player.js";

const usualRate = 25; // frames a second, while it is not known
const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }; // seconds

// Timeline shows a video by time. Its points are sliders: arrow keys move them by a second, with Shift by a frame, the
// page keys by ten seconds. While a point is moved, the player shows its frame.
//
//	const line = new Timeline(player, { onMark: (i, seconds) => …, onRange: (from, to) => … });
//	line.show(video, report);
//	line.marks = [{ start: 0, title: "One" }];
//	line.range = { from: 2, to: 10 };
//
// onMark and onRange are called while a point is moved; without onMark, marks stay where they are.
export class Timeline {
  #player;
  #onMark;
  #onRange;
  #length = 0; // seconds
  #frame = 1 / usualRate; // seconds
  #storyboard = ""; // the URL without its signature, which changes
  #pictures = []; // of {start, end, text}
  #base = "";
  #marks = []; // points
  #range = null; // {from, to}
  #film = el("div", { class: "film", "aria-hidden": "true" });
  #chosen = el("div", { class: "chosen", hidden: true });
  #head = this.#point("head", "Position", (at) => this.#seek(at));
  #from = this.#point("end from", "Beginning", (at) => this.#setRange(Math.min(at, this.#range.to - this.#frame), this.#range.to));
  #to = this.#point("end to", "End", (at) => this.#setRange(this.#range.from, Math.max(at, this.#range.from + this.#frame)));
  #line = el("div", { class: "points", onpointerdown: (event) => this.#press(event) }, this.#film, this.#chosen, this.#from.node, this.#to.node, this.#head.node);

  constructor(player, { onMark = null, onRange = null } = {}) {
    this.#player = player;
    this.#onMark = onMark;
    this.#onRange = onRange;
    this.#from.node.hidden = this.#to.node.hidden = true;
    this.node = el("div", { class: "timeline", role: "group", "aria-label": "Time line", hidden: true }, this.#line);
    player.follow((media) => this.#place(this.#head, media.currentTime));
    new ResizeObserver(() => this.#drawFilm()).observe(this.#film);
  }

  // show is called whenever the video was loaded.
  show(video, report) {
    this.#length = video.durationSeconds ?? 0;
    this.#frame = 1 / (report?.found?.video.frameRate || usualRate);
    this.node.hidden = !(this.#length > 0);
    for (const point of [this.#head, this.#from, this.#to, ...this.#marks]) this.#place(point, point.at);
    const url = video.status === "ready" ? video.storyboardUrl ?? "" : "";
    if (url.split("/").at(-1) !== this.#storyboard) this.#load(url);
  }

  // marks are points with titles.
  set marks(all) {
    while (this.#marks.length > all.length) this.#marks.pop().node.remove();
    for (let i = this.#marks.length; i < all.length; i++) {
      const point = this.#point("mark", "", (at) => { this.#seek(at); this.#onMark(i, at); }, this.#onMark === null);
      this.#marks.push(point);
      this.#line.append(point.node);
    }
    all.forEach(({ start, title }, i) => {
      const point = this.#marks[i];
      point.node.setAttribute("aria-label", title || "Without a title");
      point.node.title = title;
      this.#place(point, start);
    });
  }

  get range() { return this.#range; }

  // range is the chosen part in seconds; null: none can be chosen.
  set range(range) {
    this.#range = range;
    this.#from.node.hidden = this.#to.node.hidden = this.#chosen.hidden = range === null;
    if (range) this.#drawRange();
  }

  #setRange(from, to) {
    const before = this.#range;
    this.#range = { from: this.#round(from), to: this.#round(to) };
    this.#drawRange();
    this.#seek(before.from !== this.#range.from ? this.#range.from : this.#range.to);
    this.#onRange?.(this.#range.from, this.#range.to);
  }

  #drawRange() {
    const { from, to } = this.#range;
    this.#place(this.#from, from);
    this.#place(this.#to, to);
    this.#chosen.style.left = this.#share(from);
    this.#chosen.style.width = this.#share(to - from);
  }

  // point is a slider; moved is called with its new time.
  #point(name, label, moved, fixed = false) {
    const time = el("span", { class: "when", "aria-hidden": "true" });
    const node = el("div", {
      class: `point ${name}`, role: "slider", tabindex: fixed ? -1 : 0, "aria-label": label, "aria-disabled": fixed ? "true" : null,
      onkeydown: (event) => this.#pressed(event, point),
    }, time);
    const point = { node, time, at: 0, moved: fixed ? null : moved };
    return point;
  }

  #place(point, at) {
    point.at = at;
    point.node.style.left = this.#share(at);
    setText(point.time, clock(at));
    for (const [name, value] of [["min", 0], ["max", this.#length], ["now", at], ["valuetext", clock(at)]]) {
      point.node.setAttribute(name === "valuetext" ? "aria-valuetext" : `aria-value${name}`, value);
    }
  }

  #share(seconds) {
    return `${this.#length > 0 ? 100 * Math.min(1, Math.max(0, seconds / this.#length)) : 0}%`;
  }

  // round returns the time of the nearest frame.
  #round(seconds) {
    const frame = Math.round(Math.min(this.#length, Math.max(0, seconds)) / this.#frame) * this.#frame;
    return Math.min(this.#length, Math.round(frame * 1000) / 1000);
  }

  #seek(at) {
    this.#player.seek(this.#round(at));
    this.#place(this.#head, this.#round(at));
  }

  #pressed(event, point) {
    if (event.ctrlKey || event.metaKey || event.altKey || !point.moved) return;
    let to = { Home: 0, End: this.#length }[event.key];
    if (event.key in keys) to = point.at + (event.shiftKey ? Math.sign(keys[event.key]) * this.#frame : keys[event.key]);
    if (to === undefined) return;
    event.preventDefault();
    point.moved(this.#round(to));
  }

  // press takes the point under the pointer, or else the playhead, which jumps there.
  #press(event) {
    if (event.button !== 0) return;
    const points = [this.#head, this.#from, this.#to, ...this.#marks];
    const point = points.find((p) => p.moved && p.node.contains(event.target)) ?? this.#head;
    const drag = (e) => {
      const { left, width } = this.#line.getBoundingClientRect();
      point.moved(this.#round((e.clientX - left) / width * this.#length));
    };
    const stop = new AbortController(), { signal } = stop;
    this.#line.setPointerCapture(event.pointerId);
    this.#line.addEventListener("pointermove", drag, { signal });
    for (const end of ["pointerup", "pointercancel"]) {
      this.#line.addEventListener(end, () => { stop.abort(); point.node.classList.remove("moved"); }, { signal });
    }
    point.node.classList.add("moved");
    point.node.focus({ preventScroll: true });
    event.preventDefault(); // no text is selected
    if (point === this.#head) drag(event);
  }

  async #load(url) {
    this.#storyboard = url.split("/").at(-1);
    this.#pictures = [];
    if (url) {
      try {
        const [{ readCues }, response] = await Promise.all([loadPlayer(), fetch(url)]);
        if (!response.ok) this.#storyboard = ""; // it is made last
        else this.#pictures = readCues(await response.text()).filter((cue) => cue.text.includes("#xywh="));
        this.#base = url;
      } catch {
        this.#storyboard = "";
      }
    }
    this.#drawFilm();
  }

  // drawFilm fills the line with as many pictures as there is space for.
  #drawFilm() {
    const { clientWidth: width, clientHeight: height } = this.#film, [first] = this.#pictures;
    if (!first || width === 0) return this.#film.replaceChildren();
    const [, , w, h] = first.text.split("#xywh=")[1].split(",").map(Number);
    const n = Math.max(1, Math.round(width / (height * w / h)));
    this.#film.replaceChildren(...Array.from({ length: n }, (_, i) => {
      const at = (i + 0.5) / n * this.#length;
      return this.#picture(this.#pictures.find((cue) => at < cue.end) ?? this.#pictures.at(-1), width / n, height);
    }));
  }

  // picture shows a part of a sprite, so large that it covers a box.
  #picture({ text }, width, height) {
    const [file, where] = text.trim().split("#xywh="), [x, y, w, h] = where.split(",").map(Number);
    const inner = el("div"), scale = Math.max(width / w, height / h);
    Object.assign(inner.style, {
      width: `${w}px`, height: `${h}px`, transform: `scale(${scale})`,
      background: `url(${JSON.stringify(new URL(file, this.#base).href)}) -${x}px -${y}px`,
    });
    return el("div", {}, inner);
  }
}
