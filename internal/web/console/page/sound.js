// The sound of a video.

import { el } from "./dom.js";
import { plural } from "./format.js";

const languages = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

// languageOf returns the name of a language that a file gives, or "" for one that it does not know.
function languageOf(code) {
  try {
    return !code || code === "und" ? "" : languages.of(code);
  } catch {
    return code; // a file may say anything
  }
}

// Sound shows the sound that the file has, and which of it viewers hear.
export class Sound {
  #report = null;
  #list = el("ul", { class: "resolutions" });

  constructor() {
    this.node = el("section", { class: "panel", "aria-labelledby": "sound-title", hidden: true }, el("h2", { id: "sound-title" }, "Sound of the file"), this.#list);
  }

  show(video, report) {
    if (!report || report === this.#report) return;
    this.#report = report;
    const heard = report.found?.audio;
    const streams = report.found?.streams?.filter((s) => s.type === "audio") ?? [];
    this.node.hidden = streams.length === 0;
    this.#list.replaceChildren(...streams.map((s) => el("li", { class: "caption" },
      el("div", { class: "line" }, el("strong", { dir: "auto" }, s.title || languageOf(s.language) || `Stream ${s.index}`),
        s.index === heard?.stream && el("span", { class: "badge ready" }, "viewers hear this")),
      el("p", { class: "meta" }, [s.title && languageOf(s.language), s.codec, s.index === heard?.stream && plural(heard.channels, "channel"), `stream ${s.index}`, ...(s.dispositions ?? [])].filter(Boolean).join(" · ")))));
  }
}
