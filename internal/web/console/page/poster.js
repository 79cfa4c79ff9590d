// The poster of a video.

import { open, request } from "./api.js";
import { announce, button, el, problemBox } from "./dom.js";
import { largest } from "./format.js";
import { may } from "./key.js";

const types = "image/jpeg,image/png,image/webp,image/avif";

// Poster shows the poster of a video, and takes another one: the frame that the player shows, a picture, or the automatic
// one again.
export class Poster {
  #page;
  #video = null;
  #picture = el("img", { class: "poster", alt: "The poster", onerror: () => { this.#picture.hidden = true; }, onload: () => { this.#picture.hidden = false; } });
  #file = el("input", { type: "file", id: "poster-file", accept: types, hidden: true, "aria-label": "A picture for the poster", onchange: () => this.#upload() });
  #frame = button("Use this frame", () => this.#put({ body: { timeSeconds: this.#page.player.media?.currentTime ?? 0 } }), { id: "poster-frame" });
  #problem = el("div");

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel half", "aria-labelledby": "poster-title", hidden: true }, el("h2", { id: "poster-title" }, "Poster"), this.#picture,
      may("write") && el("p", { class: "actions" }, this.#frame, button("Upload a picture", () => this.#file.click(), { id: "poster-upload" }), this.#file,
        button("Automatic", () => this.#change("DELETE", {}), { class: "quiet", id: "poster-auto" })),
      this.#problem);
  }

  show(video) {
    const another = this.#video?.posterUrl?.split("/").at(-2) !== video.posterUrl?.split("/").at(-2);
    this.#video = video;
    this.node.hidden = !video.posterUrl || video.status === "fail";
    this.#frame.hidden = !largest(video);
    if (another || this.#picture.hidden) this.#showPicture();
  }

  // showPicture asks for the picture anew: its address stays the same when it is replaced.
  #showPicture() {
    if (this.#video.posterUrl) this.#picture.src = `${this.#video.posterUrl}?${Date.now()}`;
  }

  async #upload() {
    const [raw] = this.#file.files;
    this.#file.value = "";
    if (raw) await this.#put({ raw, headers: { "Content-Type": raw.type } });
  }

  #put(options) {
    return this.#change("PUT", options);
  }

  async #change(method, options) {
    this.#problem.replaceChildren();
    this.node.setAttribute("aria-busy", "true");
    try {
      await (options.raw ? open : request)(method, `${this.#page.path}/poster`, options);
      announce("The poster has changed.");
      await this.#page.load();
      this.#showPicture();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    } finally {
      this.node.removeAttribute("aria-busy");
    }
  }
}
