// One resolution of a video.

import { button, el, setText } from "./dom.js";
import { bitrate, bytes, percent, size } from "./format.js";
import { badge } from "./card.js";
import { may } from "./key.js";
import { shortSides } from "./resolutions.js";

// hopeless are failures of the file or of its upload: trying again gives the same.
const hopeless = [
  "upload_missing", "upload_empty", "upload_expired", "file_too_large", "not_a_video", "no_video_stream",
  "encrypted", "unsupported_codec", "too_long", "too_many_pixels",
];

// Resolution shows a resolution and its actions.
export class Resolution {
  #name;
  #badge = el("span", { class: "badge" });
  #meta = el("p", { class: "meta" });
  #progress = el("div", { class: "work" });
  #bar = el("progress", { max: 1 });
  #percent = el("span", { class: "fine" });
  #failure = el("p", { class: "failure" });
  #download;
  #retry;

  constructor(name, { retry, remove }) {
    this.#name = name;
    this.#download = el("a", { class: "choose", download: "", "aria-label": `Download ${name}` }, "Download");
    this.#retry = button("Try again", retry, { "aria-label": `Try ${name} again` });
    this.#bar.setAttribute("aria-label", `Progress of ${name}`);
    this.#progress.append(this.#bar, this.#percent);
    this.node = el("li", { class: "resolution" },
      el("div", { class: "line" }, el("span", {}, el("strong", {}, name), " ", this.#badge),
        el("span", { class: "actions" }, this.#download, may("write") && may("read") && this.#retry,
          may("delete") && button("Delete", remove, { class: "quiet danger", "aria-label": `Delete ${name}` }))),
      this.#meta, this.#progress, this.#failure);
  }

  update(state) {
    badge(this.#badge, state.status);
    this.#badge.classList.toggle("unseen", state.status === "ready");
    const words = [size(state.width, state.height), bytes(state.sizeBytes), bitrate(state.bitrate)].filter(Boolean);
    // A name above the size of the film is confusing without an explanation.
    const short = Math.min(state.width ?? Infinity, state.height ?? Infinity);
    if (state.status === "ready" && short < shortSides[this.#name] - 1) words.push(`the film is smaller than ${this.#name}, so it keeps its size`);
    setText(this.#meta, words.join(" · "));
    this.#meta.hidden = words.length === 0;
    this.#progress.hidden = state.status !== "processing";
    this.#bar.value = state.progress;
    setText(this.#percent, percent(state.progress));
    setText(this.#failure, state.failure?.message ?? "");
    this.#failure.hidden = !state.failure;
    this.#retry.hidden = state.status !== "fail" || hopeless.includes(state.failure?.code);
    this.#download.hidden = state.status !== "ready";
    if (state.videoUrl) this.#download.href = `${state.videoUrl}${state.videoUrl.includes("?") ? "&" : "?"}download=1`;
  }
}
