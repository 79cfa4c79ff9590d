// The upload form, and the list of uploads.

import { announce, button, el, problemBox, setText } from "./dom.js";
import { bytes, percent, plural } from "./format.js";
import { resolutions } from "./resolutions.js";
import { Transfer } from "./transfer.js";

const defaultResolutions = ["1080p", "480p"];

// Uploads is the upload section of the page. changed and gone are called with the ID of a
// video.
export class Uploads {
  #changed;
  #gone;
  #queue = []; // files are sent one at a time
  #busy = false;

  #files = el("input", { type: "file", id: "files", multiple: true, accept: "video/*,.mkv,.mxf,.ts,.mts,.m2ts,.vob,.flv", class: "unseen" });
  #chosen = el("p", { class: "chosen", id: "chosen" });
  #boxes = resolutions.map((name) => el("input", { type: "checkbox", value: name, checked: defaultResolutions.includes(name) }));
  #private = el("input", { type: "radio", name: "visibility", value: "private", checked: true });
  #public = el("input", { type: "radio", name: "visibility", value: "public" });
  #thumbnails = el("input", { type: "text", id: "thumbnails", inputmode: "decimal", placeholder: "0, 12.5", autocomplete: "off" });
  #problem = el("div");
  #transfers = el("ul", { class: "transfers", "aria-label": "Uploads" });

  constructor(changed, gone) {
    this.#changed = changed;
    this.#gone = gone;
    this.node = el("section", { class: "panel", "aria-labelledby": "upload-title" },
      el("h2", { id: "upload-title" }, "Upload"), this.#form(), this.#transfers);
    this.#files.addEventListener("change", () => this.#showChosen());
    this.#showChosen();
    addEventListener("beforeunload", (event) => { if (this.#busy) event.preventDefault(); });
  }

  // busy reports whether files are being uploaded.
  get busy() {
    return this.#busy;
  }

  #form() {
    const chips = this.#boxes.map((box) => el("label", { class: "chip" }, box, el("span", {}, box.value)));
    return el("form", { onsubmit: (event) => { event.preventDefault(); this.#submit(); } },
      this.#dropZone(),
      el("fieldset", {}, el("legend", {}, "Resolutions"), el("div", { class: "chips" }, chips)),
      el("div", { class: "pair" },
        el("fieldset", {}, el("legend", {}, "Who may watch"), el("div", { class: "chips" },
          el("label", { class: "chip" }, this.#private, el("span", {}, "Private")),
          el("label", { class: "chip" }, this.#public, el("span", {}, "Public")))),
        el("div", { class: "field" }, el("label", { for: "thumbnails" }, "Thumbnails at seconds (optional)"), this.#thumbnails)),
      this.#problem,
      el("p", { class: "actions" }, el("button", { type: "submit", class: "main", id: "upload" }, "Upload")));
  }

  #dropZone() {
    const zone = el("div", { class: "drop" }, this.#files,
      el("label", { for: "files", class: "choose" }, "Choose files"), el("span", { class: "hint" }, " or drop them here"), this.#chosen);
    const over = (on) => (event) => { event.preventDefault(); zone.classList.toggle("over", on); };
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length === 0) return;
      this.#files.files = event.dataTransfer.files;
      this.#showChosen();
    });
    return zone;
  }

  #showChosen() {
    const files = [...this.#files.files];
    const whole = files.reduce((sum, file) => sum + file.size, 0);
    const names = files.length > 3 ? plural(files.length, "file") : files.map((file) => file.name).join(", ");
    this.#chosen.hidden = files.length === 0;
    setText(this.#chosen, files.length > 0 ? `${names}${whole ? ` · ${bytes(whole)}` : ""}` : "");
  }

  // draft reads the form. The server validates its fields; only what could not be sent as
  // JSON at all is rejected here.
  #draft() {
    const text = this.#thumbnails.value.trim();
    const seconds = text === "" ? [] : text.split(/[\s,;]+/).filter(Boolean).map(Number);
    if (seconds.some(Number.isNaN)) throw new Error("Thumbnails are taken at seconds: write numbers such as 0, 12.5.");
    return {
      resolutions: this.#boxes.filter((box) => box.checked).map((box) => box.value),
      isPublic: this.#public.checked,
      ...(seconds.length > 0 && { thumbnailTimestampsSeconds: seconds }),
    };
  }

  #submit() {
    this.#problem.replaceChildren();
    try {
      if (this.#files.files.length === 0) throw new Error("Choose a file first.");
      const draft = this.#draft();
      for (const file of this.#files.files) this.#add(file, draft);
      this.#files.value = "";
      this.#showChosen();
    } catch (error) {
      this.#problem.append(problemBox(error));
    }
  }

  #add(file, draft) {
    const item = new Item(file, {
      changed: this.#changed,
      gone: this.#gone,
      again: () => this.#enqueue(transfer),
      cancel: () => this.#cancel(transfer, item),
    });
    const transfer = new Transfer(file, draft, item);
    this.#transfers.append(item.node);
    this.#enqueue(transfer);
  }

  #cancel(transfer, item) {
    const before = this.#queue.length;
    this.#queue = this.#queue.filter((other) => other !== transfer);
    if (this.#queue.length < before) item.cancelled(null, "");
    else transfer.cancel();
  }

  async #enqueue(transfer) {
    this.#queue.push(transfer);
    if (this.#busy) return;
    this.#busy = true;
    while (this.#queue.length > 0) await this.#queue.shift().run();
    this.#busy = false;
  }
}

// Item shows one transfer. It is the observer of the Transfer.
class Item {
  #file;
  #hooks;
  #bar = el("progress", { max: 1, value: 0 });
  #state = el("span", { class: "state" }, "Waiting");
  #problem = el("div");
  #actions = el("span", { class: "actions" });

  constructor(file, hooks) {
    this.#file = file;
    this.#hooks = hooks;
    this.#bar.setAttribute("aria-label", `Upload of ${file.name}`);
    this.node = el("li", { class: "transfer" },
      el("div", { class: "line" }, el("strong", { class: "name" }, file.name), this.#actions),
      this.#bar, this.#state, this.#problem);
    this.#offerCancel();
  }

  #offer(...buttons) {
    this.#actions.replaceChildren(...buttons.filter(Boolean));
  }

  // offerCancel keeps an existing button, because it may have the focus.
  #offerCancel() {
    if (!this.#actions.querySelector(".cancel")) this.#offer(button("Cancel", this.#hooks.cancel, { class: "quiet cancel" }));
  }

  #dismiss() {
    return button("Dismiss", () => this.node.remove(), { class: "quiet" });
  }

  status(text) {
    this.#problem.replaceChildren();
    this.#bar.hidden = false;
    setText(this.#state, text);
    this.#offerCancel();
  }

  created(id) {
    this.#hooks.changed(id);
  }

  sent(n) {
    const share = this.#file.size > 0 ? Math.min(1, n / this.#file.size) : 1;
    this.#bar.value = share;
    setText(this.#state, `${percent(share)} of ${bytes(this.#file.size)}`);
  }

  completed(id) {
    this.#bar.hidden = true;
    setText(this.#state, "Uploaded.");
    announce(`${this.#file.name} is uploaded.`);
    this.#offer(el("a", { href: `#/video/${id}` }, "Open"), this.#dismiss());
    this.#hooks.changed(id);
  }

  failed(error, again, id) {
    this.#bar.hidden = true;
    setText(this.#state, error.transient ? "Not uploaded." : "Not accepted.");
    this.#problem.replaceChildren(problemBox(error));
    this.#offer(again && button("Try again", () => { this.status("Waiting"); this.#hooks.again(); }), this.#dismiss());
    if (id) this.#hooks.changed(id);
  }

  cancelled(error, id) {
    this.#bar.hidden = true;
    setText(this.#state, "Cancelled.");
    announce(`The upload of ${this.#file.name} is cancelled.`);
    if (error) this.#problem.replaceChildren(problemBox(error));
    this.#offer(this.#dismiss());
    if (id && !error) this.#hooks.gone(id);
  }
}
