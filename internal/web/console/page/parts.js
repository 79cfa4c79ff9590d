// Parts of videos: times as people write them, and the fields that ask for a part.

import { el } from "./dom.js";

// parseTime reads seconds, or hours, minutes and seconds with colons: "12.5", "1:02:03". It returns undefined for
// nothing, and throws for what is no time.
export function parseTime(text) {
  text = text.trim();
  if (text === "") return undefined;
  const parts = text.replace(",", ".").split(":");
  if (parts.length > 3 || parts.some((part, i) => !/^\d+(\.\d*)?$/.test(part) || (i > 0 && Number(part) >= 60))) {
    throw new Error(`“${text}” is no time: write seconds such as 12.5, or minutes and seconds such as 1:30.`);
  }
  return parts.reduce((seconds, part) => seconds * 60 + Number(part), 0);
}

// TrimFields ask which part of a file to make.
export class TrimFields {
  #start = el("input", { type: "text", id: "trim-start", placeholder: "0:00", autocomplete: "off" });
  #end = el("input", { type: "text", id: "trim-end", placeholder: "the end", autocomplete: "off" });

  constructor() {
    this.node = el("div", { class: "field", role: "group", "aria-labelledby": "trim-label" },
      el("span", { class: "label", id: "trim-label" }, "Only a part of the file"),
      el("div", { class: "field inline" },
        el("label", { for: "trim-start" }, "from"), this.#start,
        el("label", { for: "trim-end" }, "to"), this.#end));
  }

  clear() {
    this.#start.value = this.#end.value = "";
  }

  // draft is this part of the create request. It throws if the times make no sense.
  get draft() {
    const startSeconds = parseTime(this.#start.value);
    const endSeconds = parseTime(this.#end.value);
    if (startSeconds === undefined && endSeconds === undefined) return {};
    if (endSeconds !== undefined && endSeconds <= (startSeconds ?? 0)) throw new Error("The part ends before it begins.");
    return { trim: { startSeconds, endSeconds } };
  }
}
