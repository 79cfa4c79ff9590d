// Clips: videos of a part of another one.

import { newIdempotencyKey, request } from "./api.js";
import { clock, parseClock } from "./clock.js";
import { announce, button, el, problemBox } from "./dom.js";
import { largest, titleOf } from "./format.js";
import { may } from "./key.js";
import { Timeline } from "./timeline.js";

// ClipForm makes a video of a part of the one that is shown.
export class ClipForm {
  #page;
  #length = 0; // of the video, in seconds
  #line;
  #from = this.#time("clip-from", "From");
  #to = this.#time("clip-to", "To");
  #title = el("input", { type: "text", id: "clip-title", dir: "auto", maxlength: 200, autocomplete: "off" });
  #result = el("div");
  #attempt = { body: "", key: "" }; // the last request: sent again after its answer was lost, it makes no second clip

  constructor(page) {
    this.#page = page;
    this.#line = new Timeline(page.player, { onRange: (from, to) => this.#write(from, to) });
    this.node = el("section", { class: "panel", "aria-labelledby": "clip-heading", hidden: true },
      el("h2", { id: "clip-heading" }, "Make a clip"), this.#line.node,
      el("form", { class: "stack", novalidate: true, onsubmit: (event) => { event.preventDefault(); this.#make(); } },
        el("div", { class: "pair ends" }, this.#from.node, this.#to.node),
        el("div", { class: "field" }, el("label", { for: "clip-title" }, "Title (optional)"), this.#title),
        this.#result,
        el("p", { class: "actions" }, el("button", { type: "submit", id: "make-clip" }, "Make the clip"))),
      el("p", { class: "fine" }, "A clip is a video of its own. It stays when this one is deleted."));
  }

  // time is a field for an end of the clip.
  #time(id, label) {
    const input = el("input", { type: "text", id, autocomplete: "off", onchange: () => this.#take() });
    const here = () => { input.value = clock(this.#page.player.media?.currentTime ?? 0); this.#take(); };
    return { input, node: el("div", { class: "field" }, el("label", { for: id }, label), el("div", { class: "field inline" }, input,
      button("Here", here, { class: "quiet", id: `${id}-here`, "aria-label": `${label}: Here, where the player is` }))) };
  }

  show(video, report) {
    this.node.hidden = !may("write") || !may("read") || !largest(video) || !video.durationSeconds;
    this.#title.placeholder = titleOf(video);
    this.#line.show(video, report);
    if (this.#length === (video.durationSeconds ?? 0)) return;
    this.#length = video.durationSeconds ?? 0;
    this.#line.range = { from: 0, to: this.#length };
    this.#write(0, this.#length);
  }

  #write(from, to) {
    this.#from.input.value = clock(from);
    this.#to.input.value = clock(to);
  }

  #written() {
    return [this.#from, this.#to].map(({ input }) => parseClock(input.value));
  }

  // take shows what was written on the time line. A range that makes no sense is refused when the clip is made.
  #take() {
    const [from, to] = this.#written();
    if (from < to && to <= this.#length) this.#line.range = { from, to };
  }

  async #make() {
    try {
      const [startSeconds, endSeconds] = this.#written();
      if (Number.isNaN(startSeconds + endSeconds)) throw new Error("Write times such as 12.5 or 1:30.");
      if (endSeconds <= startSeconds) throw new Error("The clip ends before it begins.");
      const title = this.#title.value.trim();
      const body = { isPublic: this.#page.video.isPublic, clip: { videoId: this.#page.id, startSeconds, endSeconds }, ...(title && { title }) };
      if (this.#attempt.body !== JSON.stringify(body)) this.#attempt = { body: JSON.stringify(body), key: newIdempotencyKey() };
      const { id } = await request("POST", "video", { body, headers: { "Idempotency-Key": this.#attempt.key } });
      this.#attempt = { body: "", key: "" };
      announce("The clip is being made.");
      this.#result.replaceChildren(el("p", {}, "The clip is being made: ", el("a", { href: `#/video/${encodeURIComponent(id)}` }, "open it"), "."));
    } catch (error) {
      if (error.status !== 401) this.#result.replaceChildren(problemBox(error));
    }
  }
}
