// One resolution of a video.

import { announce, button, copy, el, setText } from "./dom.js";
import { badge } from "./list.js";
import { bitrate, bytes, percent, size } from "./words.js";

// ofUpload are failures that only another upload mends.
const ofUpload = ["upload_missing", "upload_empty", "upload_expired", "file_too_large", "not_a_video"];

// Resolution shows a resolution and what can be done with it.
export class Resolution {
  #address = "";
  #expires = 0; // the address, in milliseconds; 0: never

  #badge = el("span", { class: "badge" });
  #meta = el("p", { class: "meta" });
  #work = el("div", { class: "work" });
  #bar = el("progress", { max: 1 });
  #share = el("span", { class: "fine" });
  #failure = el("p", { class: "failure" });
  #said = el("span", { class: "fine", role: "status" });
  #play;
  #copy;
  #retry;

  constructor(name, { play, retry, remove }) {
    this.#play = button("Play", play, { "aria-label": `Play ${name}` });
    this.#copy = button("Copy address", () => this.#copyAddress(), { "aria-label": `Copy the address of ${name}` });
    this.#retry = button("Try again", retry, { "aria-label": `Try ${name} again` });
    this.#bar.setAttribute("aria-label", `Progress of ${name}`);
    this.#work.append(this.#bar, this.#share);
    this.node = el("li", { class: "resolution" },
      el("div", { class: "line" }, el("strong", {}, name), this.#badge),
      this.#meta, this.#work, this.#failure,
      el("p", { class: "actions" }, this.#play, this.#copy, this.#retry,
        button("Delete", remove, { class: "quiet danger", "aria-label": `Delete ${name}` }), this.#said));
  }

  // expires is until when the address is signed; 0: it is permanent.
  update(state, expires) {
    [this.#address, this.#expires] = [state.videoUrl, expires];
    badge(this.#badge, state.status);
    const words = [size(state.width, state.height), bytes(state.sizeBytes), bitrate(state.bitrate)].filter(Boolean).join(" · ");
    setText(this.#meta, words);
    this.#meta.hidden = words === "";
    this.#work.hidden = state.status !== "processing";
    this.#bar.value = state.progress;
    setText(this.#share, percent(state.progress));
    setText(this.#failure, state.failure?.message ?? "");
    this.#failure.hidden = !state.failure;
    this.#play.hidden = state.status !== "ready";
    this.#retry.hidden = state.status !== "fail" || ofUpload.includes(state.failure?.code);
    this.#copy.hidden = state.status === "fail" || state.status === "pending_upload";
  }

  async #copyAddress() {
    try {
      await copy(this.#address);
      const end = new Date(this.#expires).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      setText(this.#said, this.#expires ? `Copied; good until ${end}.` : "Copied.");
    } catch (error) {
      setText(this.#said, error.message);
      announce(error.message);
    }
  }
}
