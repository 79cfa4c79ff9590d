// The files of a video: its resolutions and pictures.

import { request } from "./api.js";
import { announce, confirmAction, copyButton, el } from "./dom.js";
import { titleOf } from "./format.js";
import { may } from "./key.js";
import { Resolution, isHopeless } from "./resolution.js";
import { resolutions } from "./resolutions.js";

// Resolutions shows the resolutions of a video, and adds others.
export class Resolutions {
  #page;
  #rows = new Map(); // by name
  #list = el("ul", { class: "resolutions" });
  #more = el("select", { id: "more", "aria-label": "Another resolution" });
  #add = el("form", { class: "actions add", onsubmit: (event) => { event.preventDefault(); this.#addMore(this.#more.value); } },
    this.#more, el("button", { type: "submit", id: "add" }, "Add"));

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel", "aria-labelledby": "resolutions-title" }, el("h2", { id: "resolutions-title" }, "Resolutions"), this.#list, may("write") && this.#add);
  }

  open() {
    this.#page.refresh().catch(() => {}); // the old addresses may work still
  }

  show(video) {
    for (const [name, row] of this.#rows) {
      if (video.resolutions[name]) continue;
      row.node.remove();
      this.#rows.delete(name);
    }
    for (const [name, state] of Object.entries(video.resolutions)) {
      let row = this.#rows.get(name);
      if (!row) {
        row = new Resolution(name, { retry: () => this.#retry(name), remove: () => this.#remove(name) });
        this.#rows.set(name, row);
        this.#list.append(row.node);
      }
      row.update(state, video);
    }
    this.#offer(video, resolutions.filter((name) => !video.resolutions[name]));
  }

  // offer offers resolutions. It keeps the selection while the offer stays the same.
  #offer(video, names) {
    this.#add.hidden = names.length === 0 || (video.status === "fail" && isHopeless(video.failure));
    if ([...this.#more.options].map((option) => option.value).join() === names.join()) return;
    this.#more.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  }

  #pathOf(name) {
    return `video/resolution/${encodeURIComponent(this.#page.video.resolutions[name].id)}`;
  }

  #addMore(name) {
    return this.#page.change(`${this.#page.path}/resolutions`, { resolution: name }, `${name} is added.`);
  }

  #retry(name) {
    return this.#page.change(`${this.#pathOf(name)}/retry`, undefined, `${name} is tried again.`);
  }

  async #remove(name) {
    const question = `Delete ${name} of “${titleOf(this.#page.video)}”?`;
    if (!await confirmAction(question, "Its file and its addresses are gone at once. This cannot be undone.", "Delete")) return;
    await this.#page.attempt(async () => {
      await request("DELETE", this.#pathOf(name));
      announce(`${name} is deleted.`);
      await this.#page.load();
    });
  }
}

// Stills shows the pictures of a video.
export class Stills {
  #pictures = []; // {name, link}
  #list = el("ul", { class: "stills" });

  constructor() {
    this.node = el("section", { class: "panel", "aria-labelledby": "stills-title", hidden: true }, el("h2", { id: "stills-title" }, "Pictures"), this.#list);
  }

  show(video) {
    const thumbnails = Object.values(video.resolutions).find((r) => r.status === "ready")?.thumbnailImageUrls ?? [];
    const all = [["Poster", video.status === "ready" && video.posterUrl], ...thumbnails.map((url, i) => [`Thumbnail ${i + 1}`, url])].filter(([, url]) => url);
    this.node.hidden = all.length === 0;
    // The signatures of addresses change whenever the video is loaded. The pictures are the same.
    if (all.map(([name]) => name).join() !== this.#pictures.map(({ name }) => name).join()) this.#put(all);
    all.forEach(([, url], i) => { this.#pictures[i].link.href = url; });
  }

  #put(all) {
    this.#pictures = all.map(([name, url]) => ({ name, link: el("a", { target: "_blank", rel: "noopener" }, el("img", { src: url, alt: name, loading: "lazy" })) }));
    this.#list.replaceChildren(...this.#pictures.map(({ name, link }) => el("li", {}, link,
      el("div", { class: "line" }, el("span", { class: "fine" }, name), copyButton(`address of ${name}`, () => link.href)))));
  }
}
