// The captions of a video.

import { open, request } from "./api.js";
import { announce, button, confirmAction, el, problemBox } from "./dom.js";
import { may } from "./key.js";
import { isHopeless } from "./resolution.js";

// suggested are languages that the form offers. It takes any other, too.
const suggested = "ar bg bn ca cs da de el en es et fa fi fil fr he hi hr hu id it ja ko lt lv ms nb nl pl pt pt-BR ro ru sk sl sr sv sw ta te th tr uk ur vi zh zh-Hans zh-Hant".split(" ");
const languageNames = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });

// languageOf returns the language that a file's name ends with, as in film.en.vtt, or "".
function languageOf(filename) {
  const code = filename.match(/[._-]([a-z]{2,3}(-[a-z0-9]{2,8})*)\.[^.]+$/i)?.[1] ?? "";
  try {
    return languageNames.of(code) ? code : "";
  } catch {
    return ""; // no code at all
  }
}

const speechWords = { processing: "is made when the server has nothing else to do", ready: "made", fail: "could not be made" };

const types = { vtt: "text/vtt", srt: "application/x-subrip" };

// Captions lists the captions of a video, and takes more. It is hidden if the server has
// none to tell of.
export class Captions {
  #page;
  #shown = "";
  #list = el("ul", { class: "resolutions" });
  #problem = el("div");
  #speech = el("div");
  #shownSpeech = "";
  #form;
  #language = el("input", { type: "text", id: "caption-language", list: "caption-languages", size: 8, required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: 35, "aria-describedby": "caption-language-note" });
  #label = el("input", { type: "text", id: "caption-label", autocomplete: "off", maxlength: 100 });
  #kind = el("select", { id: "caption-kind" }, el("option", { value: "subtitles" }, "subtitles"), el("option", { value: "captions" }, "captions for the deaf"));
  #file = el("input", { type: "file", id: "caption-file", accept: ".vtt,.srt,text/vtt", required: true, onchange: () => this.#readLanguage() });

  constructor(page) {
    this.#page = page;
    const field = (label, input) => el("div", { class: "field" }, el("label", { for: input.id }, label), input);
    const languageField = field("Language code", this.#language);
    languageField.append(el("p", { class: "fine", id: "caption-language-note" }, "Such as en, de or pt-BR. It is taken from a file name like film.en.vtt."));
    this.#form = el("details", {}, el("summary", {}, "Add captions"),
      el("form", { onsubmit: (event) => { event.preventDefault(); this.#add(); } },
        field("File (WebVTT or SubRip)", this.#file),
        el("div", { class: "pair" }, languageField, field("Name in the menu (optional)", this.#label)),
        el("datalist", { id: "caption-languages" }, suggested.map((code) => el("option", { value: code }, languageNames.of(code)))),
        field("Kind", this.#kind),
        el("p", { class: "actions" }, el("button", { type: "submit" }, "Add captions"))));
    this.node = el("section", { class: "panel", "aria-labelledby": "captions-title", hidden: true }, el("h2", { id: "captions-title" }, "Captions"),
      this.#list, this.#speech, this.#problem, may("write") && this.#form);
  }

  // showSpeech tells how transcription and translations go, and offers a transcription.
  #showSpeech({ transcription, translations = [], status }) {
    const now = JSON.stringify([transcription, translations, status]);
    if (now === this.#shownSpeech) return;
    this.#shownSpeech = now;
    const tell = (what, m) => el("li", { class: "caption" }, el("p", {}, `${what}${m.language ? ` (${m.language})` : ""}: ${speechWords[m.status] ?? m.status}`), m.failure && el("p", { class: "failure" }, m.failure.message));
    const busy = transcription?.status === "processing";
    this.#speech.replaceChildren(
      el("div", { role: "status" }, el("ul", { class: "resolutions" }, transcription && tell("Transcription", transcription), translations.map((m) => tell("Translation", m)))),
      may("write") && may("read") && status === "ready" && !busy ? el("p", { class: "actions" }, button(transcription ? "Transcribe again" : "Transcribe", () => this.#try(() => request("POST", `${this.#page.path}/transcribe`)))) : "");
  }

  show(video) {
    const hopeless = video.status === "fail" && isHopeless(video.failure); // the video will never be played
    this.#form.hidden = hopeless;
    this.#showSpeech(video);
    this.node.hidden = !video.captions || (hopeless && video.captions.length === 0);
    if (!video.captions || JSON.stringify(video.captions) === this.#shown) return;
    this.#shown = JSON.stringify(video.captions);
    this.#list.replaceChildren(...video.captions.map((c) => el("li", { class: "caption" },
      el("div", { class: "line" }, el("strong", {}, c.label || c.language),
        el("span", { class: "actions" }, c.url && el("a", { class: "choose", href: c.url, download: `${c.language}.vtt`, "aria-label": `Download the captions ${c.label || c.language}` }, "Download"),
          may("write") && button("Delete", () => this.#remove(c), { class: "quiet danger", "aria-label": `Delete the captions ${c.label || c.language}` }))),
      el("p", { class: "meta" }, `${c.language} · ${c.kind} · ${c.source}`))));
    if (video.captions.length === 0) this.#list.replaceChildren(el("li", { class: "fine" }, "None yet."));
  }

  #readLanguage() {
    const language = languageOf(this.#file.files[0]?.name ?? "");
    if (language) this.#language.value = language;
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
    return `${this.#page.path}/captions/${encodeURIComponent(language)}`;
  }

  async #try(action) {
    this.#problem.replaceChildren();
    try {
      await action();
      await this.#page.load();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }
}
