// The uploads, at the edge of every page.

import { request } from "./api.js";
import { announce, button, el, icon, problemBox, setText } from "./dom.js";
import { bytes, elapsed, percent, plural } from "./format.js";
import { may, whoAmI } from "./key.js";
import { dropUpload, holdUpload, interruptedUploads, printOf, saveUpload } from "./saved.js";
import { Transfer, leftover } from "./transfer.js";

const atOnce = 2; // files

// Dock sends files and shows how far they are. changed is called when the library may
// have changed.
export class Dock {
  #changed;
  #queue = [];
  #running = 0;
  #items = new Set(); // that count for the overall progress
  #began = 0; // when the current series of uploads began
  #open = true;

  #title = el("strong", { role: "status" });
  #fine = el("span", { class: "fine" });
  #bar = el("progress", { max: 1, "aria-label": "All uploads" });
  #list = el("ul", { class: "transfers", "aria-label": "Uploads" });
  #toggle = button("Hide", () => { this.#open = !this.#open; this.#show(); }, { class: "quiet", "aria-expanded": "true" });

  #close = button(icon("close"), () => this.#dismissAll(), { class: "quiet round", "aria-label": "Dismiss finished uploads" });

  constructor(changed) {
    this.#changed = changed;
    this.node = el("section", { class: "dock", hidden: true, "aria-label": "Uploads" },
      el("div", { class: "line" }, this.#title, el("span", { class: "actions" }, this.#toggle, this.#close)), this.#bar, this.#fine, this.#list);
    addEventListener("beforeunload", (event) => { if (this.busy) event.preventDefault(); });
  }

  // busy reports whether files are being uploaded.
  get busy() {
    return this.#running > 0;
  }

  // suspendAll stops all uploads. They can be continued when the same key is entered again.
  suspendAll() {
    this.#queue = [];
    for (const item of this.#items) if (!item.over) item.transfer.suspend();
  }

  // showInterrupted offers to continue what a reload has interrupted.
  async showInterrupted() {
    const active = new Set([...this.#items].map((item) => item.print));
    for (const upload of await interruptedUploads(whoAmI().id)) {
      if (active.has(upload.print) || this.#list.querySelector(`[data-print="${CSS.escape(upload.print)}"]`)) continue;
      this.#list.append(new Interrupted(upload, this).node);
    }
    this.#show();
  }

  // add sends a file: of a new video or, with an id, one that replaces the file of that. saved is the interrupted upload
  // that it continues, or null.
  add(file, draft, saved = null, replaces = "") {
    if (!this.busy) this.#began = Date.now();
    const owner = whoAmI().id;
    const item = new Item(file, {
      changed: () => this.#changed(replaces),
      progress: () => this.#show(),
      again: () => this.#enqueue(item),
      cancel: () => this.#cancel(item),
      dismiss: () => { this.#items.delete(item); item.node.remove(); this.#show(); },
    });
    item.owner = owner;
    item.print = printOf(file);
    item.transfer = new Transfer(file, draft, item, saved, replaces);
    this.#list.querySelector(`[data-print="${CSS.escape(item.print)}"]`)?.remove();
    this.#items.add(item);
    this.#list.append(item.node);
    this.#open = true;
    this.#enqueue(item);
  }

  // drop removes an interrupted upload from the list.
  drop(interrupted) {
    interrupted.node.remove();
    this.#changed();
    this.#show();
  }

  #dismissAll() {
    for (const item of this.#items) if (item.over) item.node.remove();
    this.#items = new Set([...this.#items].filter((item) => !item.over));
    this.#show();
  }

  #cancel(item) {
    const before = this.#queue.length;
    this.#queue = this.#queue.filter((other) => other !== item);
    if (this.#queue.length < before) item.cancelled(null, "");
    else item.transfer.cancel();
  }

  #enqueue(item) {
    this.#queue.push(item);
    this.#pump();
    this.#show();
  }

  // fold makes room for another page when nothing is being uploaded any more.
  fold() {
    if (this.#items.size === 0 || [...this.#items].some((item) => !item.over)) return;
    this.#open = false;
    this.#show();
  }

  async #pump() {
    if (this.#running >= atOnce || this.#queue.length === 0) return;
    this.#running++;
    const item = this.#queue.shift();
    await holdUpload(item, () => item.transfer.run());
    this.#running--;
    this.#show();
    this.#pump();
  }

  #show() {
    const items = [...this.#items];
    const open = items.filter((item) => !item.over);
    const counted = items.filter((item) => !item.over || item.done); // what failed or was cancelled is neither sent nor to be sent
    const [sent, whole] = [counted.reduce((sum, item) => sum + item.bytes, 0), counted.reduce((sum, item) => sum + item.size, 0)];
    this.node.hidden = this.#list.childElementCount === 0;
    this.node.classList.toggle("closed", !this.#open);
    this.#list.hidden = !this.#open;
    setText(this.#toggle, this.#open ? "Hide" : "Show");
    this.#toggle.setAttribute("aria-expanded", String(this.#open));
    this.#close.hidden = items.length === 0 || open.length > 0;
    this.#bar.hidden = this.#fine.hidden = open.length === 0;
    this.#bar.value = whole > 0 ? sent / whole : 0;
    setText(this.#title, this.#words(items, open));
    const speed = sent / ((Date.now() - this.#began) / 1000);
    const left = speed > 0 && sent > 0 && sent < whole ? ` · about ${elapsed(Math.max(1, Math.round((whole - sent) / speed)))} left` : "";
    setText(this.#fine, `${bytes(sent) || "0 bytes"} of ${bytes(whole)}${left}`);
  }

  #words(items, open) {
    if (open.length > 0) return `Uploading ${plural(open.length, "file")}`;
    const done = items.filter((item) => item.done).length;
    const failed = items.filter((item) => item.failedNow).length;
    const cancelled = items.length - done - failed;
    if (items.length > 0) {
      const words = [done > 0 && `${plural(done, "upload")} finished`, failed > 0 && `${failed} failed`, cancelled > 0 && `${cancelled} cancelled`].filter(Boolean);
      return done > 0 ? words.join(", ") : words.join(", ").replace(/^\d+/, (n) => plural(n, "upload"));
    }
    return `${plural(this.#list.childElementCount, "upload")} interrupted`;
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
  bytes = 0; // that were sent
  over = false;
  done = false;
  failedNow = false;

  constructor(file, hooks) {
    this.#file = file;
    this.#hooks = hooks;
    this.size = file.size;
    this.#bar.setAttribute("aria-label", `Upload of ${file.name}`);
    this.node = el("li", { class: "transfer" },
      el("div", { class: "line" }, el("span", { class: "words" }, el("strong", { class: "name", dir: "auto", title: file.name }, file.name), this.#state), this.#actions),
      this.#bar, this.#problem);
    this.#offerCancel();
  }

  #offer(...buttons) {
    this.#actions.replaceChildren(...buttons.filter(Boolean));
  }

  // offerCancel keeps an existing button, because it may have the focus.
  #offerCancel() {
    if (!this.#actions.querySelector(".cancel")) this.#offer(button("Cancel", this.#hooks.cancel, { class: "quiet cancel", "aria-label": `Cancel ${this.#file.name}` }));
  }

  #dismiss() {
    return button("Dismiss", this.#hooks.dismiss, { class: "quiet", "aria-label": `Dismiss ${this.#file.name}` });
  }

  #end(text) {
    this.over = true;
    this.#bar.hidden = true;
    setText(this.#state, text);
    this.#hooks.progress();
  }

  // save remembers the upload, so that it can go on after a reload.
  save(state) {
    saveUpload({ print: this.print, owner: this.owner, name: this.#file.name, size: this.#file.size, sent: this.bytes, at: Date.now(), ...state });
  }

  forget() {
    dropUpload(this);
  }

  status(text) {
    this.over = this.failedNow = this.done = false;
    this.#problem.replaceChildren();
    this.#bar.hidden = false;
    setText(this.#state, text);
    this.#offerCancel();
    this.#hooks.progress();
  }

  created() {
    this.#hooks.changed();
  }

  sent(n) {
    const share = this.#file.size > 0 ? Math.min(1, n / this.#file.size) : 1;
    this.bytes = Math.min(n, this.size);
    this.#bar.value = share;
    setText(this.#state, `${percent(share)} of ${bytes(this.#file.size)}`);
    this.#hooks.progress();
  }

  completed(id) {
    this.done = true;
    this.bytes = this.size;
    this.#end("Uploaded.");
    announce(`${this.#file.name} is uploaded.`);
    this.#offer(may("read") && el("a", { href: `#/video/${id}` }, "Open"), this.#dismiss());
    this.#hooks.changed();
  }

  failed(error, again) {
    this.failedNow = true;
    this.#end(error.transient ? "Not uploaded." : "Not accepted.");
    this.#problem.replaceChildren(problemBox(error));
    this.node.parentElement?.prepend(this.node); // what went wrong is seen first
    this.#offer(again && button("Try again", () => { this.status("Waiting"); this.#hooks.again(); }), this.#dismiss());
    this.#hooks.changed();
  }

  cancelled(error) {
    this.#end("Cancelled.");
    announce(`The upload of ${this.#file.name} is cancelled.`);
    if (error) this.#problem.replaceChildren(problemBox(error));
    this.#offer(this.#dismiss());
    this.#hooks.changed();
  }
}

// Interrupted shows an upload whose page was closed. The browser has given up the file, so
// the user has to choose it again.
class Interrupted {
  #upload;
  #dock;
  #problem = el("div");

  constructor(upload, dock) {
    this.#upload = upload;
    this.#dock = dock;
    const id = `again-${upload.idempotencyKey}`;
    const input = el("input", { type: "file", id, class: "unseen again", onchange: () => this.#choose(input.files[0]) });
    this.node = el("li", { class: "transfer interrupted", "data-print": upload.print },
      el("div", { class: "line" }, el("strong", { class: "name", dir: "auto", title: upload.name }, upload.name),
        el("span", { class: "actions" }, input, el("label", { for: id, class: "choose" }, "Choose it again"),
          button("Discard", () => this.#discard(), { class: "quiet", "aria-label": `Discard ${upload.name}` }))),
      el("p", { class: "state" }, `Interrupted at ${percent(upload.sent / Math.max(1, upload.size))} of ${bytes(upload.size)}. Choose the file again, and it goes on from there.`), this.#problem);
  }

  #choose(file) {
    if (!file) return;
    if (printOf(file) !== this.#upload.print) {
      return this.#problem.replaceChildren(problemBox(new Error(`This is another file than ${this.#upload.name} of ${bytes(this.#upload.size)}, or it has been changed.`)));
    }
    this.#dock.add(file, this.#upload.draft, this.#upload);
  }

  async #discard() {
    try {
      if (this.#upload.id) await request("DELETE", leftover(this.#upload));
    } catch (error) {
      if (error.status !== 404 && error.status !== 403) return this.#problem.replaceChildren(problemBox(error));
    }
    dropUpload(this.#upload);
    this.#dock.drop(this);
  }
}
