// The metadata of a video on its page: read, and edited by those who may.

import { button, el, problemBox } from "./dom.js";
import { may } from "./key.js";
import { MetadataEditor, isSimple } from "./metadata.js";

// Metadata shows the metadata of a video.
export class Metadata {
  #page;
  #metadata;
  #shown = null; // as JSON
  #body = el("div");
  #edit = button("Edit", () => this.#startEditing(), { class: "quiet" });

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel half", "aria-labelledby": "metadata-title", hidden: true },
      el("div", { class: "line" }, el("h2", { id: "metadata-title" }, "Metadata"), may("write") && may("read") && this.#edit), this.#body);
  }

  show(video) {
    const text = JSON.stringify(video.customMetadata);
    if (text === this.#shown) return; // do not disturb an editor
    this.#shown = text;
    this.#metadata = video.customMetadata;
    this.node.hidden = !this.#metadata && !may("write");
    this.#view();
  }

  #view() {
    this.#edit.hidden = false;
    const metadata = this.#metadata;
    if (!metadata) this.#body.replaceChildren(el("p", { class: "fine" }, "None."));
    else if (isSimple(metadata)) {
      this.#body.replaceChildren(el("dl", { class: "facts wide" }, Object.entries(metadata).map(([name, value]) =>
        el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "string" ? value : JSON.stringify(value))))));
    } else this.#body.replaceChildren(el("pre", { tabindex: 0, role: "region", "aria-label": "Metadata as JSON" }, JSON.stringify(metadata, null, 2)));
  }

  #startEditing() {
    const editor = new MetadataEditor(this.#metadata);
    const problem = el("div");
    this.#edit.hidden = true;
    const submit = async (event) => {
      event.preventDefault();
      try {
        await this.#page.edit({ customMetadata: editor.value });
        this.#view();
        this.#edit.focus();
      } catch (error) {
        problem.replaceChildren(problemBox(error));
      }
    };
    this.#body.replaceChildren(el("form", { onsubmit: submit }, editor.node, problem,
      el("p", { class: "actions" }, el("button", { type: "submit", class: "main" }, "Save"), button("Cancel", () => { this.#view(); this.#edit.focus(); }))));
    editor.node.querySelector("input, textarea, button")?.focus();
  }
}
