// What a video is: the first tab of its page.

import { button, el, facts, setText } from "./dom.js";
import { bytes, codecNames, dateTime, duration, elapsed, largest, percent, size } from "./format.js";
import { may } from "./key.js";

// Making shows how far each resolution is, in each codec.
export class Making {
  #rows = new Map(); // by name
  #list = el("ul", { class: "making" });

  constructor() {
    this.node = el("section", { class: "panel", "aria-labelledby": "making-title", hidden: true }, el("h2", { id: "making-title" }, "Being made"), this.#list);
  }

  show(video) {
    const open = new Map(Object.entries(video.resolutions).flatMap(([name, r]) => [[name, r],
      ...(r.status === "ready" ? r.variants ?? [] : []).map((v) => [`${name}, ${codecNames[v.codec] ?? v.codec}`, v])]).filter(([, one]) => one.status === "processing"));
    this.node.hidden = open.size === 0;
    for (const [name, row] of this.#rows) {
      if (open.has(name)) continue;
      row.node.remove();
      this.#rows.delete(name);
    }
    for (const [name, { progress }] of open) {
      if (!this.#rows.has(name)) this.#add(name);
      const row = this.#rows.get(name);
      row.bar.value = progress;
      setText(row.percent, progress > 0 ? percent(progress) : "waiting");
    }
  }

  #add(name) {
    const row = { bar: el("progress", { max: 1, "aria-label": `Progress of ${name}` }), percent: el("span", { class: "fine" }) };
    row.node = el("li", { class: "work" }, el("strong", {}, name), row.bar, row.percent);
    this.#rows.set(name, row);
    this.#list.append(row.node);
  }
}

// Facts shows what is known of a video.
export class Facts {
  #shown = "";
  #body = el("div");

  constructor() {
    this.node = el("section", { class: "panel half", "aria-labelledby": "facts-title" }, el("h2", { id: "facts-title" }, "Details"), this.#body);
  }

  show(video, report) {
    const best = largest(video);
    const ready = Object.entries(video.resolutions).filter(([, r]) => r.status === "ready");
    const all = [
      ["Duration", duration(video.durationSeconds)],
      ["Picture", [size(best?.width, best?.height), report?.found?.video.frameRate && `${+report.found.video.frameRate.toFixed(2)} fps`].filter(Boolean).join(", ")],
      ["Resolutions", ready.map(([name]) => name).join(", ")],
      ["All its files", bytes(video.sizeBytes)],
      ["Uploaded file", video.filename],
      ["Source", report?.found && source(report.found)],
      ["Created", dateTime(video.createdAt)],
      ["From upload to ready", video.status === "ready" && elapsed(report?.totals.totalSeconds)],
    ];
    if (JSON.stringify(all) === this.#shown) return; // a selection in it stays
    this.#shown = JSON.stringify(all);
    this.#body.replaceChildren(facts(all));
  }
}

// source describes the uploaded file.
function source({ sizeBytes, video, audio }) {
  return [bytes(sizeBytes), codecNames[video.codec] ?? video.codec, audio ? audio.codec.toUpperCase() : "no sound"].join(" · ");
}

// Removal deletes the video.
export class Removal {
  constructor(page) {
    this.node = el("p", { class: "actions removal", hidden: !may("delete") }, button("Delete video", () => page.remove(), { class: "danger", id: "delete-video" }));
  }

  show() {}
}
