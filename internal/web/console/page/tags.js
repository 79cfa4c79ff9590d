// The tags of all videos, beside the list: folders that a video may be in several of.

import { request } from "./api.js";
import { button, el, setText } from "./dom.js";

const pageSize = 100;
const freshFor = 20000; // milliseconds in which polls do not ask again

// TagList shows the tags with how many videos have each. choose is called with the tags that are to be shown.
export class TagList {
  #chosen = [];
  #tags = [];
  #cursor = "";
  #asked = 0;
  #choose;
  #items = el("ul", { class: "tag-list" });
  #more = button("More tags", () => this.#load(this.#cursor), { class: "quiet", hidden: true });

  constructor(choose) {
    this.#choose = choose;
    this.node = el("nav", { class: "side", "aria-label": "Tags", hidden: true }, el("h2", { class: "fine" }, "Tags"), this.#items, this.#more);
  }

  // names are the tags that are known.
  get names() {
    return this.#tags.map(({ tag }) => tag);
  }

  show(chosen) {
    this.#chosen = chosen;
    this.#render();
  }

  // refresh asks again, unless it has just done so and need not be sure.
  refresh(surely) {
    if (!surely && Date.now() - this.#asked < freshFor) return;
    this.#load("");
  }

  async #load(cursor) {
    this.#asked = Date.now();
    try {
      const page = await request("GET", `tag?${new URLSearchParams({ limit: pageSize, ...(cursor && { cursor }) })}`);
      this.#tags = cursor ? [...this.#tags, ...page.tags] : page.tags;
      this.#cursor = page.nextCursor ?? "";
      this.#render();
    } catch {
      // The list says what is wrong with the server.
    }
  }

  #render() {
    const gone = this.#chosen.filter((tag) => !this.names.includes(tag)).map((tag) => ({ tag, videos: 0 }));
    this.node.hidden = this.#tags.length + gone.length === 0;
    this.#more.hidden = !this.#cursor;
    const focused = this.#items.querySelector(":focus")?.dataset.tag;
    this.#items.replaceChildren(...[...this.#tags, ...gone].map(({ tag, videos }) => {
      const on = this.#chosen.includes(tag);
      const name = el("span", { class: "tag-name", dir: "auto" }), count = el("span", { class: "fine" }, videos.toLocaleString());
      setText(name, tag);
      return el("li", {}, button([name, count], () => this.#choose(on ? this.#chosen.filter((one) => one !== tag) : [...this.#chosen, tag]), { "aria-pressed": String(on), "data-tag": tag, title: tag }));
    }));
    if (focused !== undefined) [...this.#items.querySelectorAll("button")].find((one) => one.dataset.tag === focused)?.focus();
  }
}
