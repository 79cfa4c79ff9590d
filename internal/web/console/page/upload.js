// The upload form: a dialog that is opened by a button, or by dropping files anywhere.

import { newIdempotencyKey, requestWithRetries } from "./api.js";
import { announce, button, el, icon, problemBox, setText } from "./dom.js";
import { bytes, percent, plural, stem } from "./format.js";
import { AddressFields } from "./importing.js";
import { whoAmI } from "./key.js";
import { MetadataEditor } from "./metadata.js";
import { ExpiryField, never, tagField } from "./organise.js";
import { TrimFields } from "./parts.js";
import { resolutions } from "./resolutions.js";
import { findUpload } from "./saved.js";
import { refusal } from "./sniff.js";
import { WatermarkChoice } from "./watermarks.js";

// UploadForm asks what to do with files, and hands them to the dock; those at a URL are the
// matter of the server. fetched is called when it has begun with one.
export class UploadForm {
  #dock;
  #fetched;
  #attempt = { body: "", key: "" }; // the last request for a file at a URL
  #asking = null; // the AbortController of that request, while it lasts
  #chosen = []; // {file, title, saved}

  #files = el("input", { type: "file", id: "files", multiple: true, accept: "video/*,audio/*,.mkv,.mxf,.ts,.mts,.m2ts,.vob,.flv", class: "unseen", autofocus: true });
  #fromFiles = el("input", { type: "radio", name: "source", value: "files", checked: true, onchange: () => this.#showSource() });
  #fromUrl = el("input", { type: "radio", name: "source", value: "url", onchange: () => this.#showSource() });
  #address = new AddressFields();
  #list = el("ul", { class: "files", id: "chosen", "aria-label": "Chosen files" });
  #left = el("div", { id: "left-out" }); // says which files were left out
  #boxes = resolutions.map((name) => el("input", { type: "checkbox", value: name, checked: whoAmI().defaultResolutions.includes(name) }));
  #profile = el("select", { id: "profile", onchange: () => this.#tickSizes() }, el("option", { value: "" }, "None"), (whoAmI().profiles ?? []).map(({ name }) => el("option", { value: name }, name)));
  #private = el("input", { type: "radio", name: "visibility", value: "private", checked: true });
  #public = el("input", { type: "radio", name: "visibility", value: "public" });
  #thumbnails = el("input", { type: "text", id: "thumbnails", inputmode: "decimal", placeholder: "0, 12.5", autocomplete: "off" });
  #av1 = el("input", { type: "checkbox", id: "av1", onchange: () => this.#offerHDR() });
  #hevc = el("input", { type: "checkbox", id: "hevc", onchange: () => this.#offerHDR() });
  #hdr = el("input", { type: "checkbox", id: "hdr", disabled: true });
  #sound = el("input", { type: "checkbox", id: "sound" });
  #copySource = el("select", { id: "copy-source" },
    el("option", { value: "" }, "As the server is set"), el("option", { value: "auto" }, "Copied where it plays everywhere"), el("option", { value: "never" }, "Encoded again"));
  #loudness = el("select", { id: "loudness" }, [["", "As this server does it"], ["keep", "As in the file"], ["normalize", "All videos equally loud"]].map(([value, text]) => el("option", { value }, text)));
  #trim = new TrimFields();
  #watermark = new WatermarkChoice();
  #tags = tagField("upload-tags", "Tags, separated by commas");
  #expiry = new ExpiryField("upload", never);
  #metadata = new MetadataEditor(null);
  #metadataBox = el("div", {}, this.#metadata.node);
  #problem = el("div");
  #submit = el("button", { type: "submit", class: "main", id: "upload" }, "Upload");
  #zone;

  constructor(dock, fetched) {
    this.#dock = dock;
    this.#fetched = fetched;
    this.#zone = el("div", { class: "drop" }, this.#files, icon("upload"),
      el("p", {}, el("label", { for: "files", class: "choose" }, "Choose files"), el("span", { class: "hint" }, " or drop them anywhere")));
    this.dialog = el("dialog", { class: "sheet", "aria-labelledby": "upload-title", onclose: () => this.#asking?.abort() },
      el("div", { class: "line head" }, el("h2", { id: "upload-title" }, "Add videos"), button(icon("close"), () => this.dialog.close(), { class: "quiet round", "aria-label": "Close" })),
      this.#form());
    this.#files.addEventListener("change", () => {
      this.add(this.#files.files);
      this.#files.value = ""; // the same file may be chosen again
    });
    this.#showChosen();
  }

  #form() {
    const chips = this.#boxes.map((box) => el("label", { class: "chip" }, box, el("span", {}, box.value)));
    return el("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.#fromUrl.checked ? this.#fetch() : this.#send(); } },
      el("fieldset", {}, el("legend", { class: "unseen" }, "Where the video is"), el("div", { class: "chips" },
        el("label", { class: "chip" }, this.#fromFiles, el("span", {}, "Files")),
        el("label", { class: "chip" }, this.#fromUrl, el("span", {}, "From a URL")))),
      this.#zone, this.#left, this.#list, this.#address.node,
      el("fieldset", {}, el("legend", {}, "Resolutions"), el("div", { class: "chips" }, chips),
        el("p", { class: "fine" }, "A video that is smaller than a resolution keeps its own size.")),
      el("div", { class: "field", hidden: !whoAmI().profiles }, el("label", { for: "profile" }, "Profile"), this.#profile),
      el("fieldset", {}, el("legend", {}, "Who may watch"), el("div", { class: "chips" },
        el("label", { class: "chip" }, this.#private, el("span", {}, "Private")),
        el("label", { class: "chip" }, this.#public, el("span", {}, "Public")))),
      el("details", {}, el("summary", {}, "More options"),
        el("div", { class: "field" }, el("label", { for: "thumbnails" }, "Thumbnails at seconds"), this.#thumbnails),
        this.#trim.node, this.#tags.node, this.#expiry.node,
        el("div", { class: "field" }, el("label", { for: "loudness" }, "Loudness of the sound"), this.#loudness),
        el("label", { class: "check" }, this.#sound, el("span", {}, "Sound files, too: the cover or the waveform is the picture")),
        el("div", { class: "field" }, el("label", { for: "copy-source" }, "The picture at its own size"), this.#copySource),
        el("label", { class: "check" }, this.#av1, el("span", {}, "Also in AV1: smaller files, made later when the server has time")),
        el("label", { class: "check" }, this.#hevc, el("span", {}, "Also in HEVC: smaller files for Apple devices, made later, too")),
        this.#watermark.node,
        el("label", { class: "check" }, this.#hdr, el("span", {}, "Keep HDR in AV1 and HEVC, for screens that can show it")),
        el("div", { class: "field", role: "group", "aria-labelledby": "metadata-label" }, el("span", { class: "label", id: "metadata-label" }, "Metadata"), this.#metadataBox)),
      this.#problem,
      el("p", { class: "actions" }, this.#submit));
  }

  // tickSizes ticks the resolutions of the chosen profile, or the usual ones.
  #tickSizes() {
    const { defaultResolutions, profiles } = whoAmI();
    const sizes = profiles.find(({ name }) => name === this.#profile.value)?.resolutions ?? [];
    const ticked = sizes.length > 0 ? sizes : defaultResolutions;
    for (const box of this.#boxes) box.checked = ticked.includes(box.value);
  }

  // moreCodecs are those that are made beside H.264.
  get #moreCodecs() { return [this.#av1, this.#hevc].filter((box) => box.checked).map((box) => box.id); }

  #offerHDR() { this.#hdr.disabled = this.#moreCodecs.length === 0; }

  open() {
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    if (!this.dialog.open) this.dialog.showModal();
    this.#watermark.load();
  }

  // remove removes the form and aborts its request.
  remove() {
    this.#asking?.abort();
    this.dialog.remove();
  }

  // add adds files to those that were chosen. What cannot be a video is left out.
  async add(files) {
    const judged = await Promise.all([...files].map(async (file) => ({ file, why: await refusal(file, whoAmI()?.maxFileBytes ?? 0, this.#sound.checked) })));
    this.#showLeftOut(judged.filter(({ why }) => why));
    for (const { file } of judged.filter(({ why }) => !why)) {
      if (this.#chosen.some((other) => other.file.name === file.name && other.file.size === file.size && other.file.lastModified === file.lastModified)) continue;
      this.#chosen.push({ file, title: el("input", { type: "text", dir: "auto", maxlength: 200, placeholder: stem(file.name) }), saved: findUpload(whoAmI().id, file) });
    }
    this.#problem.replaceChildren();
    this.#fromFiles.checked = true;
    this.#showSource();
  }

  // showLeftOut names the first files that were left out, and counts the others.
  #showLeftOut(refused) {
    const most = 5;
    this.#left.replaceChildren(...(refused.length === 0 ? [] : [el("div", { class: "problem", role: "alert" },
      el("p", {}, refused.length === 1 ? "One file was left out:" : `${refused.length} files were left out:`),
      el("ul", {}, refused.slice(0, most).map(({ file, why }) => el("li", {}, el("strong", { class: "name", dir: "auto" }, file.name), ` ${why}.`)),
        refused.length > most && el("li", {}, `and ${refused.length - most} more.`)))]));
  }

  highlight(on) {
    this.#zone.classList.toggle("over", on);
  }

  #showSource() {
    const url = this.#fromUrl.checked;
    this.#zone.hidden = url;
    this.#address.node.hidden = !url;
    this.#problem.replaceChildren();
    this.#showChosen();
    if (url) this.#address.focus();
  }

  #showChosen() {
    const whole = this.#chosen.reduce((sum, { file }) => sum + file.size, 0);
    this.#list.hidden = this.#chosen.length === 0 || this.#fromUrl.checked;
    this.#left.hidden = this.#fromUrl.checked;
    this.#zone.classList.toggle("small", this.#chosen.length > 0);
    this.#list.replaceChildren(...this.#chosen.map((item) => this.#fileRow(item)));
    setText(this.#submit, this.#fromUrl.checked ? "Fetch" : this.#chosen.length > 1 ? `Upload ${plural(this.#chosen.length, "file")} · ${bytes(whole)}` : "Upload");
  }

  #fileRow(item) {
    const { file, saved } = item;
    const remove = () => {
      this.#chosen = this.#chosen.filter((other) => other !== item);
      this.#showChosen();
    };
    return el("li", {},
      el("div", { class: "line" }, el("span", { class: "name", dir: "auto", title: file.name }, file.name), el("span", { class: "fine" }, bytes(file.size)),
        button(icon("close"), remove, { class: "quiet round", "aria-label": `Remove ${file.name}` })),
      saved ? el("p", { class: "fine continues" }, `Continues the upload that was interrupted at ${percent(saved.sent / Math.max(1, file.size))}.`) : el("label", { class: "titling" }, el("span", { class: "fine" }, "Title", el("span", { class: "unseen" }, ` of ${file.name}`)), item.title));
  }

  // draft reads the form. The server validates its fields; what a person is likely to
  // overlook is said here.
  #draft() {
    const names = this.#boxes.filter((box) => box.checked).map((box) => box.value);
    if (names.length === 0) throw new Error("Choose at least one resolution.");
    const text = this.#thumbnails.value.trim();
    const seconds = text === "" ? [] : text.split(/[\s,;]+/).filter(Boolean).map(Number);
    if (seconds.some(Number.isNaN)) throw new Error("Thumbnails are taken at seconds: write numbers such as 0, 12.5.");
    const metadata = this.#metadata.value, tags = this.#tags.tags();
    return {
      resolutions: names,
      isPublic: this.#public.checked,
      ...(this.#profile.value && { profile: this.#profile.value }),
      ...(seconds.length > 0 && { thumbnailTimestampsSeconds: seconds }),
      ...(metadata && { customMetadata: metadata }),
      ...(this.#moreCodecs.length > 0 && { codecs: ["h264", ...this.#moreCodecs] }),
      ...(!this.#hdr.disabled && this.#hdr.checked && { hdr: "keep" }),
      ...(this.#sound.checked && { acceptAudio: true }),
      ...(this.#copySource.value && { copySource: this.#copySource.value }),
      ...(this.#loudness.value && { loudness: this.#loudness.value }),
      ...this.#trim.draft,
      ...this.#watermark.draft,
      ...(tags.length > 0 && { tags }), ...this.#expiry.change,
    };
  }

  // send keeps the chosen files if something is missing.
  #send() {
    this.#problem.replaceChildren();
    try {
      if (this.#chosen.length === 0) throw new Error("Choose a file first.");
      const draft = this.#chosen.every((item) => item.saved) ? null : this.#draft();
      for (const { file, title, saved } of this.#chosen) {
        const own = title.value.trim();
        this.#dock.add(file, saved?.draft ?? { filename: file.name, ...(own && { title: own }), ...draft }, saved);
      }
    } catch (error) {
      return this.#problem.append(problemBox(error));
    }
    this.#chosen = [];
    this.#finish();
  }

  // fetch has the server fetch a file. The form stays open until the server has agreed.
  async #fetch() {
    this.#problem.replaceChildren();
    this.#submit.disabled = true;
    const { signal } = this.#asking = new AbortController();
    try {
      const draft = { ...this.#address.draft, ...this.#draft() };
      await this.#request(draft, signal);
      announce(`Spool fetches ${draft.title ?? "the file"}.`);
      this.#address.clear();
      this.#finish();
      this.#fetched();
    } catch (error) {
      if (signal.aborted) this.#problem.replaceChildren();
      else if (error.status !== 401) this.#problem.replaceChildren(problemBox(error));
    } finally {
      this.#asking = null;
      this.#submit.disabled = false;
    }
  }

  // request creates a video. Pressed again after a response was lost, it creates no second one.
  #request(draft, signal) {
    const body = JSON.stringify(draft);
    if (this.#attempt.body !== body) this.#attempt = { body, key: newIdempotencyKey() };
    const headers = { "Idempotency-Key": this.#attempt.key };
    return requestWithRetries("POST", "video", { body: draft, headers }, signal, (text) => this.#problem.replaceChildren(el("p", { class: "fine", role: "status" }, text)));
  }

  // finish closes the form, ready for the next files.
  #finish() {
    this.#attempt = { body: "", key: "" };
    this.#problem.replaceChildren();
    this.#left.replaceChildren();
    this.#metadata = new MetadataEditor(null); // what was written is about the last files
    this.#tags.input.value = "";
    this.#metadataBox.replaceChildren(this.#metadata.node);
    this.#showChosen();
    this.dialog.close();
  }
}
