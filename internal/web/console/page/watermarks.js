// The watermarks of the tenant: the panel of the settings, and the choice in the upload form.

import { request } from "./api.js";
import { announce, button, confirmAction, el, problemBox } from "./dom.js";
import { stem } from "./format.js";
import { may } from "./key.js";

const positions = ["top-left", "top", "top-right", "left", "center", "right", "bottom-left", "bottom", "bottom-right"];

// Watermarks lists the watermarks, adds new ones and deletes them.
export class Watermarks {
  #list = el("ul", { class: "keys" });
  #problem = el("div");
  #file = el("input", { type: "file", id: "watermark-file", accept: "image/png,image/webp", class: "unseen" });

  constructor() {
    this.#file.addEventListener("change", () => this.#add(this.#file.files[0]));
    this.node = el("section", { class: "panel", "aria-labelledby": "watermarks-title" }, el("h2", { id: "watermarks-title", tabindex: -1 }, "Watermarks"),
      el("p", { class: "fine" }, "A picture that is laid over videos. Choose it when you upload. Videos that have it keep it when it is deleted here."),
      this.#list, this.#problem,
      may("write") && el("p", { class: "actions" }, this.#file, el("label", { for: "watermark-file", class: "choose" }, "Add a PNG or WebP")));
  }

  // load shows the watermarks.
  async load() {
    await this.#try(async () => {
      const { watermarks } = await request("GET", "watermark");
      this.#list.replaceChildren(...watermarks.map((mark) => this.#row(mark)));
    }, button("Try again", () => this.load()));
  }

  #row(mark) {
    return el("li", { class: "key" },
      el("div", { class: "line" }, el("strong", { class: "name", dir: "auto" }, mark.name), el("span", { class: "fine" }, `${mark.width} × ${mark.height}`),
        may("delete") && button("Delete", () => this.#remove(mark), { class: "quiet danger", "aria-label": `Delete the watermark ${mark.name}` })),
      el("p", { class: "fine" }, el("code", {}, mark.id)));
  }

  async #add(file) {
    if (!file) return;
    await this.#try(async () => {
      await request("POST", `watermark?name=${encodeURIComponent(stem(file.name).slice(0, 100))}`, { raw: file, headers: { "Content-Type": file.type || "image/png" } });
      announce("The watermark was added.");
      await this.load();
    });
    this.#file.value = ""; // the same file may be chosen again
  }

  async #remove(mark) {
    if (!await confirmAction(`Delete ${mark.name}?`, "New videos cannot get it any more. Videos that have it keep it.", "Delete")) return;
    await this.#try(async () => {
      await request("DELETE", `watermark/${mark.id}`);
      announce("The watermark was deleted.");
      await this.load();
      this.node.querySelector("h2").focus();
    });
  }

  async #try(work, ...actions) {
    this.#problem.replaceChildren();
    try {
      await work();
    } catch (error) {
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, ...actions));
    }
  }
}

// WatermarkChoice asks which watermark new videos get, and where. It is hidden while the tenant has none.
export class WatermarkChoice {
  #mark = el("select", { id: "watermark", onchange: () => this.#show() });
  #place = el("select", { id: "watermark-position" }, positions.map((name) => el("option", { value: name, selected: name === "bottom-right" }, name.replace("-", " "))));
  #placing = el("div", { class: "field", hidden: true }, el("label", { for: "watermark-position" }, "Where"), this.#place);

  constructor() {
    this.node = el("div", { class: "pair", hidden: true },
      el("div", { class: "field" }, el("label", { for: "watermark" }, "Watermark"), this.#mark), this.#placing);
  }

  // load fills the list. Without it, or where that fails, the server decides.
  async load() {
    if (!may("read")) return;
    const { watermarks } = await request("GET", "watermark").catch(() => ({ watermarks: [] }));
    const chosen = this.#mark.value;
    this.#mark.replaceChildren(el("option", { value: "" }, "The usual one, if there is one"), el("option", { value: "none" }, "None"),
      ...watermarks.map((mark) => el("option", { value: mark.id, selected: mark.id === chosen }, mark.name)));
    this.node.hidden = watermarks.length === 0;
    this.#show();
  }

  #show() {
    this.#placing.hidden = ["", "none"].includes(this.#mark.value);
  }

  // draft is this part of the create request.
  get draft() {
    if (this.node.hidden || this.#mark.value === "") return {};
    return { watermark: this.#mark.value === "none" ? null : { id: this.#mark.value, position: this.#place.value } };
  }
}
