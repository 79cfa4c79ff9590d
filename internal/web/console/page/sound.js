// The sound tracks of a video.

import { open, request } from "./api.js";
import { announce, button, confirmAction, el, problemBox } from "./dom.js";
import { may } from "./key.js";

const languages = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
const kinds = { dub: "another language", main: "main sound", commentary: "comments", description: "description of the pictures" };

// nameOf returns the name of a language, or "" for one that is not known.
function nameOf(code) {
  try {
    return !code || code === "und" ? "" : languages.of(code);
  } catch {
    return code; // a file may say anything
  }
}

// loud says how loud a track is in its file, and by how much it was changed.
function loud(l) {
  if (!l) return "";
  if (l.integrated === null) return "silent, or too short to measure";
  const change = l.gain === 0 ? "" : `, made ${l.gain > 0 ? "louder" : "quieter"} by ${Math.abs(l.gain).toFixed(1)} dB`;
  return `${l.integrated.toFixed(1)} LUFS in the file${change}`;
}

// Sound lists what viewers can choose to hear, and takes more.
export class Sound {
  #page;
  #shown = "";
  #list = el("ul", { class: "resolutions" });
  #problem = el("div");
  #form;
  #send = el("button", { type: "submit" }, "Add track");
  #language = el("input", { type: "text", id: "sound-language", size: 8, autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: 35, "aria-describedby": "sound-language-note" });
  #label = el("input", { type: "text", id: "sound-label", autocomplete: "off", maxlength: 100 });
  #kind = el("select", { id: "sound-kind" }, Object.entries(kinds).map(([value, text]) => el("option", { value }, text)));
  #file = el("input", { type: "file", id: "sound-file", accept: "audio/*,video/*", required: true });

  constructor(page) {
    this.#page = page;
    const field = (label, input) => el("div", { class: "field" }, el("label", { for: input.id }, label), input);
    const languageField = field("Language code", this.#language);
    languageField.append(el("p", { class: "fine", id: "sound-language-note" }, "Such as en, de or pt-BR."));
    this.#form = el("details", {}, el("summary", {}, "Add a sound track"),
      el("form", { onsubmit: (event) => { event.preventDefault(); this.#add(); } },
        field("File with sound (at most 2 GiB)", this.#file),
        el("div", { class: "pair" }, languageField, field("Name in the menu (optional)", this.#label)),
        field("Kind", this.#kind),
        el("p", { class: "fine" }, "It becomes as long as the video: silence is added at its end, or the rest is cut off."),
        el("p", { class: "actions" }, this.#send)));
    this.node = el("section", { class: "panel", "aria-labelledby": "sound-title", hidden: true }, el("h2", { id: "sound-title" }, "Sound"),
      this.#list, this.#problem, may("write") && this.#form);
  }

  show(video, report) {
    this.node.hidden = !video.audioTracks || video.status === "fail" || video.status === "pending_upload";
    const measured = new Map(report?.audioTracks.map((t) => [t.id, loud(t.loudness)]));
    const key = JSON.stringify([video.audioTracks, ...measured]);
    if (this.node.hidden || key === this.#shown) return;
    this.#shown = key;
    this.#list.replaceChildren(...video.audioTracks.map((t) => this.#row(t, measured.get(t.id))));
    if (video.audioTracks.length === 0) this.#list.replaceChildren(el("li", { class: "fine" }, "This video has no sound."));
  }

  #row(t, loudness) {
    const ready = t.status === "ready";
    return el("li", { class: "caption" },
      el("div", { class: "line" }, el("strong", { dir: "auto" }, t.label),
        t.default ? el("span", { class: "badge ready" }, "default") : !ready && el("span", { class: `badge ${t.status}` }, t.status === "fail" ? "failed" : "being made"),
        el("span", { class: "actions" },
          ready && t.url && el("a", { class: "choose", href: t.url, download: `${t.label}.m4a`, "aria-label": `Download the sound track ${t.label}` }, "Download"),
          ready && !t.default && may("write") && button("Make default", () => this.#change(t), { class: "quiet", "aria-label": `Make ${t.label} the default sound track` }),
          (!t.default || t.status === "fail") && may("write") && button("Delete", () => this.#remove(t), { class: "quiet danger", "aria-label": `Delete the sound track ${t.label}` }))),
      el("p", { class: "meta" }, [nameOf(t.language), kinds[t.kind], t.source === "embedded" ? "from the file" : "uploaded", loudness].filter(Boolean).join(" · ")),
      t.failure && el("p", { class: "fine" }, t.failure.message));
  }

  async #add() {
    const [file] = this.#file.files;
    const query = new URLSearchParams({ kind: this.#kind.value });
    for (const [name, input] of [["language", this.#language], ["label", this.#label]]) if (input.value.trim()) query.set(name, input.value.trim());
    this.#send.disabled = true;
    this.#send.textContent = "Sending…";
    await this.#try(async () => {
      await open("POST", `${this.#page.path}/audio?${query}`, { raw: file, headers: { "Content-Type": "application/octet-stream" } });
      announce("The sound track is being made.");
      this.#file.value = this.#language.value = this.#label.value = "";
    });
    this.#send.disabled = false;
    this.#send.textContent = "Add track";
  }

  async #change(t) {
    await this.#try(async () => {
      await request("PATCH", this.#path(t), { body: { default: true } });
      announce("Players begin with this track. The MP4 files follow in a moment.");
    });
  }

  async #remove(t) {
    if (!await confirmAction(`Delete the sound track “${t.label}”?`, "Players stop offering it. This cannot be undone.", "Delete")) return;
    await this.#try(() => request("DELETE", this.#path(t)));
  }

  #path(t) {
    return `${this.#page.path}/audio/${t.id}`;
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
