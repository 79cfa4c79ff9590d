// Parts of videos: the fields that ask for a part.

import { parseClock } from "./clock.js";
import { el } from "./dom.js";

// timeIn reads a field with a time. It returns undefined for an empty one, and throws for what is no time.
function timeIn(input) {
  const text = input.value.trim();
  const seconds = parseClock(text);
  if (text !== "" && Number.isNaN(seconds)) throw new Error(`“${text}” is no time: write seconds such as 12.5, or minutes and seconds such as 1:30.`);
  return text === "" ? undefined : seconds;
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
    const startSeconds = timeIn(this.#start);
    const endSeconds = timeIn(this.#end);
    if (startSeconds === undefined && endSeconds === undefined) return {};
    if (endSeconds !== undefined && endSeconds <= (startSeconds ?? 0)) throw new Error("The part ends before it begins.");
    return { trim: { startSeconds, endSeconds } };
  }
}
