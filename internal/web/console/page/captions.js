// The captions of a video.

import { open, request } from "./api.js";
import { announce, button, confirmAction, el, problemBox } from "./dom.js";
import { may } from "./key.js";
import { isHopeless } from "./resolution.js";

const types = { vtt: "text/vtt", srt: "application/x-subrip" };

// Captions lists the captions of a video, and takes more. It is hidden if the server has
// none to tell of.
export class Captions {
  #id;
  #reload;
  #list = el("ul", { class: "resolutions" });
  #problem = el("div");
  #form;
  #language = el("input", { type: "text", id: "caption-language", placeholder: "en", size: 6, required: true, autocomplete: "off", maxlength: 35 });
  #label = el("input", { type: "text", id: "caption-label", placeholder: "English", autocomplete: "off", maxlength: 100 });
  #kind = el("select", { id: "caption-kind" }, el("option", { value: "subtitles" }, "subtitles"), el("option", { value: "captions" }, "captions for the deaf"));
  #file = el("input", { type: "file", id: "caption-file", accept: ".vtt,.srt,text/vtt", required: true });

  // reload loads the video again.
  constructor(id, reload) {
    this.#id = id;
    this.#reload = reload;
    const field = (label, input) => el("div", { class: "field" }, el("label", { for: input.id }, label), input);
    this.#form = el("details", {}, el("summary", {}, "Add captions"),
      el("form", { onsubmit: (event) => { event.preventDefault(); this.#add(); } },
        field("File (WebVTT or SubRip)", this.#file),
        el("div", { class: "pair" }, field("Language", this.#language), field("Name in the menu (optional)", this.#label)),
        field("Kind", this.#kind),
        el("p", { class: "actions" }, el("button", { type: "submit" }, "Add captions"))));
    this.node = el("section", { class: "panel", "aria-labelledby": "captions-title", hidden: true }, el("h2", { id: "captions-title" }, "Captions"),
      this.#list, this.#problem, may("write") && this.#form);
  }

  show(video) {
    const hopeless = video.status === "fail" && isHopeless(video.failure); // the video will never be played
    this.#form.hidden = hopeless;
    this.node.hidden = !video.captions || (hopeless && video.captions.length === 0);
    if (!video.captions) return;
    this.#list.replaceChildren(...video.captions.map((c) => el("li", { class: "caption" },
      el("div", { class: "line" }, el("strong", {}, c.label || c.language),
        el("span", { class: "actions" }, c.url && el("a", { class: "choose", href: c.url, download: `${c.language}.vtt`, "aria-label": `Download the captions ${c.label || c.language}` }, "Download"),
          may("write") && button("Delete", () => this.#remove(c), { class: "quiet danger", "aria-label": `Delete the captions ${c.label || c.language}` }))),
      el("p", { class: "meta" }, `${c.language} · ${c.kind} · ${c.source}`))));
    if (video.captions.length === 0) this.#list.replaceChildren(el("li", { class: "fine" }, "None yet."));
  }

  async #add() {
    const [file] = this.#file.files;
    const query = new URLSearchParams({ kind: this.#kind.value });
    if (this.#label.value.trim()) query.set("label", this.#label.value.trim());
    await this.#try(async () => {
      const type = types[file.name.split(".").at(-1).toLowerCase()] ?? "text/plain";
      await open("PUT", `${this.#path(this.#language.value.trim())}?${query}`, { raw: file, headers: { "Content-Type": type } });
      announce("The captions are added.");
      this.#file.value = this.#language.value = this.#label.value = "";
    });
  }

  async #remove({ language, label }) {
    if (!await confirmAction(`Delete the captions “${label || language}”?`, "Players stop offering them. This cannot be undone.", "Delete")) return;
    await this.#try(() => request("DELETE", this.#path(language)));
  }

  #path(language) {
    return `video/${this.#id}/captions/${encodeURIComponent(language)}`;
  }

  async #try(action) {
    this.#problem.replaceChildren();
    try {
      await action();
      await this.#reload();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }
}
