// One resolution of a video.

import { button, copyButton, el, setText } from "./dom.js";
import { bitrate, bytes, codecNames, compared, percent, size } from "./format.js";
import { badge } from "./card.js";
import { canFetchAgain, isFetching } from "./importing.js";
import { may } from "./key.js";
import { shortSides } from "./resolutions.js";

// hopeless are failures of the file or of its upload: trying again gives the same.
const hopeless = [
  "upload_missing", "upload_empty", "upload_expired", "file_too_large", "not_a_video", "no_video_stream",
  "encrypted", "unsupported_codec", "too_long", "too_many_pixels", "nothing_left",
];

// isHopeless reports whether nothing that is done with a video mends its failure.
export function isHopeless(failure) {
  return hopeless.includes(failure?.code);
}

// saving returns the address that makes a browser save a file instead of playing it.
function saving(url) {
  return `${url}${url.includes("?") ? "&" : "?"}download=1`;
}

// Resolution shows a resolution and its actions.
export class Resolution {
  #name;
  #badge = el("span", { class: "badge" });
  #meta = el("span", { class: "meta" });
  #progress = el("div", { class: "work" });
  #bar = el("progress", { max: 1 });
  #percent = el("span", { class: "fine" });
  #failure = el("p", { class: "failure" });
  #variants = el("ul", { class: "variants" });
  #shownVariants = "";
  #url = "";
  #copy;
  #download;
  #retry;
  #again;

  constructor(name, { retry, remove }) {
    this.#name = name;
    this.#again = retry;
    this.#variants.setAttribute("aria-label", `${name} in other codecs`);
    this.#copy = copyButton(name, () => this.#url, "Copy address");
    this.#download = el("a", { class: "choose", download: "", "aria-label": `Download ${name}` }, "Download");
    this.#retry = button("Try again", retry, { "aria-label": `Try again: ${name}` });
    this.#bar.setAttribute("aria-label", `Progress of ${name}`);
    this.#progress.append(this.#bar, this.#percent);
    this.node = el("li", { class: "resolution" },
      el("div", { class: "line" }, el("span", { class: "what" }, el("strong", {}, name), this.#badge, this.#meta),
        el("span", { class: "actions" }, this.#copy, this.#download, may("write") && may("read") && this.#retry,
          may("delete") && button("Delete", remove, { class: "quiet danger", "aria-label": `Delete ${name}` }))),
      this.#progress, this.#failure, this.#variants);
  }

  // update shows a state of the resolution, which is one of the video.
  update(state, video) {
    badge(this.#badge, state.status);
    if (isFetching(video)) setText(this.#badge, "waiting for the file");
    else if (state.status === "processing" && state.progress === 0) setText(this.#badge, "waiting");
    this.#badge.classList.toggle("unseen", state.status === "ready");
    const words = this.#describe(state);
    setText(this.#meta, words.join(" · "));
    this.#meta.hidden = words.length === 0;
    this.#progress.hidden = state.status !== "processing";
    this.#bar.value = state.progress;
    setText(this.#percent, percent(state.progress));
    this.#showVariants(state);
    setText(this.#failure, state.failure?.message ?? "");
    this.#failure.hidden = !state.failure || canFetchAgain(video) || state.failure.message === video.failure?.message; // the page says it already
    this.#retry.hidden = state.status !== "fail" || isHopeless(state.failure) || canFetchAgain(video);
    this.#copy.hidden = this.#download.hidden = state.status !== "ready";
    this.#url = state.videoUrl ?? "";
    this.#download.href = saving(this.#url);
  }

  // describe says how large the resolution is. A name above the size of the video is confusing without an explanation.
  #describe(state) {
    if (state.sameAs) return [`same as ${state.sameAs}`];
    const words = [size(state.width, state.height), bytes(state.sizeBytes), bitrate(state.bitrate), state.method === "copied" && "copied from the file"].filter(Boolean);
    const short = Math.min(state.width ?? Infinity, state.height ?? Infinity);
    if (short < shortSides[this.#name] - 1) words.push(`the video is smaller than ${this.#name}, so it keeps its size`);
    return words;
  }

  // showVariants shows the resolution in the codecs beside H.264. Equal ones are kept: a
  // button may have the focus.
  #showVariants(state) {
    const others = (state.variants ?? []).filter((v) => v.codec !== "h264");
    const key = JSON.stringify(others.map((v) => [v.codec, v.status, percent(v.progress), v.sizeBytes, v.failure?.message, v.videoUrl, state.status]));
    if (key === this.#shownVariants) return;
    this.#shownVariants = key;
    this.#variants.hidden = others.length === 0;
    this.#variants.replaceChildren(...others.map((v) => this.#variant(v, state)));
  }

  #variant(v, state) {
    const name = (codecNames[v.codec] ?? v.codec) + (["pq", "hlg"].includes(v.dynamicRange) ? " HDR" : "");
    const useless = v.failure?.code === "not_smaller"; // no fault: H.264 is as small
    const waits = v.status === "pending_upload" || (v.status === "processing" && v.progress === 0);
    const [word, words] = v.status === "ready" ? ["", [bytes(v.sizeBytes), compared(v.sizeBytes, state.sizeBytes)].filter(Boolean).join(" · ")]
      : useless ? [" not needed", v.failure.message]
      : v.status === "fail" ? [" failed", v.failure?.message ?? ""]
        : waits ? [" waiting", "made when the server has nothing else to do"] : [` ${percent(v.progress)}`, "being made"];
    const again = v.status === "fail" && !useless && state.status === "ready" && may("write") && may("read");
    return el("li", { class: "variant" },
      el("span", { class: `badge ${waits || useless ? "" : v.status}` }, name + word), el("span", { class: v.status === "fail" && !useless ? "failure" : "fine" }, words),
      el("span", { class: "actions" },
        v.status === "ready" && [copyButton(`${this.#name} in ${name}`, () => v.videoUrl, "Copy address"),
          el("a", { class: "choose", download: "", href: saving(v.videoUrl), "aria-label": `Download ${this.#name} in ${name}` }, "Download")],
        again && button("Try again", this.#again, { "aria-label": `Try again: ${name} of ${this.#name}` })));
  }
}
