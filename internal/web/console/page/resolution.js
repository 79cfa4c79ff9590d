// One resolution of a video.

import { announce, button, copyText, el, setText } from "./dom.js";
import { bitrate, bytes, percent, size } from "./format.js";
import { badge } from "./list.js";

// uploadFailures are failures that only another upload can fix.
const uploadFailures = ["upload_missing", "upload_empty", "upload_expired", "file_too_large", "not_a_video"];

// Resolution shows a resolution and its actions.
export class Resolution {
  #url = "";
  #expires = 0; // when the URL expires, in milliseconds; 0: never

  #badge = el("span", { class: "badge" });
  #meta = el("p", { class: "meta" });
  #progress = el("div", { class: "work" });
  #bar = el("progress", { max: 1 });
  #percent = el("span", { class: "fine" });
  #failure = el("p", { class: "failure" });
  #status = el("span", { class: "fine", role: "status" });
  #play;
  #copy;
  #retry;

  constructor(name, { play, retry, remove }) {
    this.#play = button("Play", play, { "aria-label": `Play ${name}` });
    this.#copy = button("Copy address", () => this.#copyUrl(), { "aria-label": `Copy the address of ${name}` });
    this.#retry = button("Try again", retry, { "aria-label": `Try ${name} again` });
    this.#bar.setAttribute("aria-label", `Progress of ${name}`);
    this.#progress.append(this.#bar, this.#percent);
    this.node = el("li", { class: "resolution" },
      el("div", { class: "line" }, el("strong", {}, name), this.#badge),
      this.#meta, this.#progress, this.#failure,
      el("p", { class: "actions" }, this.#play, this.#copy, this.#retry,
        button("Delete", remove, { class: "quiet danger", "aria-label": `Delete ${name}` }), this.#status));
  }

  // expires is when the URL expires, in milliseconds; 0: never.
  update(state, expires) {
    [this.#url, this.#expires] = [state.videoUrl, expires];
    badge(this.#badge, state.status);
    const words = [size(state.width, state.height), bytes(state.sizeBytes), bitrate(state.bitrate)].filter(Boolean).join(" · ");
    setText(this.#meta, words);
    this.#meta.hidden = words === "";
    this.#progress.hidden = state.status !== "processing";
    this.#bar.value = state.progress;
    setText(this.#percent, percent(state.progress));
    setText(this.#failure, state.failure?.message ?? "");
    this.#failure.hidden = !state.failure;
    this.#play.hidden = state.status !== "ready";
    this.#retry.hidden = state.status !== "fail" || uploadFailures.includes(state.failure?.code);
    this.#copy.hidden = state.status === "fail" || state.status === "pending_upload";
  }

  async #copyUrl() {
    try {
      await copyText(this.#url);
      const end = new Date(this.#expires).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      setText(this.#status, this.#expires ? `Copied; good until ${end}.` : "Copied.");
    } catch (error) {
      setText(this.#status, error.message);
      announce(error.message);
    }
  }
}
