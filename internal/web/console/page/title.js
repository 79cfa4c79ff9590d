// The title of a video, which can be edited in place.

import { button, el, problemBox, setText } from "./dom.js";
import { may } from "./key.js";

// Title shows a heading and a way to change it. save is called with the new title, and
// returns a promise.
export class Title {
  #save;
  #text = "";
  #heading = el("h1", { tabindex: -1, dir: "auto", onclick: () => this.#clicked() }, "Video");
  #rename = button("Rename", () => this.#edit(), { class: "quiet", hidden: true });
  #field = el("input", { type: "text", id: "new-title", dir: "auto", "aria-label": "Title", maxlength: 200, autocomplete: "off" });
  #problem = el("div");
  #form;

  constructor(save) {
    this.#save = save;
    this.#form = el("form", { class: "joined rename", hidden: true, onsubmit: (event) => { event.preventDefault(); this.#submit(); } },
      this.#field, el("button", { type: "submit", class: "main" }, "Save"), button("Cancel", () => this.#close(), { class: "quiet" }));
    this.#field.addEventListener("keydown", (event) => { if (event.key === "Escape") this.#close(); });
    this.node = el("div", { class: "titled" }, this.#heading, this.#rename, this.#form, this.#problem);
  }

  // show shows a title. One that is no video's cannot be changed.
  show(text, changeable = true) {
    this.#text = text;
    setText(this.#heading, text);
    this.#rename.hidden = !changeable || !may("write") || !may("read") || !this.#form.hidden;
    this.#heading.classList.toggle("editable", !this.#rename.hidden);
  }

  focus() {
    this.#heading.focus({ preventScroll: true });
  }

  // clicked edits the title, unless a part of it was selected.
  #clicked() {
    if (!this.#rename.hidden && getSelection().isCollapsed) this.#edit();
  }

  #edit() {
    this.#field.value = this.#text;
    this.#form.hidden = false;
    this.#rename.hidden = true;
    this.#heading.classList.add("unseen"); // a page has a heading for those who jump to it
    this.#field.focus();
    this.#field.select();
  }

  #close() {
    this.#form.hidden = true;
    this.#rename.hidden = false;
    this.#heading.classList.remove("unseen");
    this.#problem.replaceChildren();
    this.#rename.focus();
  }

  async #submit() {
    try {
      await this.#save(this.#field.value.trim());
      this.#close();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }
}
