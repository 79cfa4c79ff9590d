// Where a video can be watched: the link for people, code for other pages, and addresses for programs.

import { request } from "./api.js";
import { button, copyButton, el, problemBox, setText } from "./dom.js";
import { codecNames, dateTime, isPlayed, largest, titleOf } from "./format.js";

const hour = 3600; // seconds
const lives = [[hour, "1 hour"], [24 * hour, "1 day"], [7 * 24 * hour, "1 week"], [30 * 24 * hour, "30 days"], [365 * 24 * hour, "1 year"]];

// ratio returns the shape of a picture. Sizes are rounded to even numbers, so a usual shape may not be
// exact: 426 × 240 is 16:9.
function ratio({ width, height }) {
  const usual = [[16, 9], [9, 16], [4, 3], [3, 4], [1, 1], [21, 9]];
  return usual.find(([w, h]) => Math.abs((width / height) / (w / h) - 1) < 0.01) ?? [width, height];
}

// embedCode returns markup for other people's pages, the same as the watch page does. It is only shown as
// text here.
function embedCode(url, title, video) {
  const [width, height] = ratio(largest(video) ?? { width: 16, height: 9 });
  const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&#34;").replaceAll("'", "&#39;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("+", "&#43;");
  const attributes = Object.entries({
    src: url, title, style: `width: 100%; aspect-ratio: ${width} / ${height}; border: 0`,
    allow: "autoplay; picture-in-picture", allowfullscreen: null, loading: "lazy",
  }).map(([name, value]) => (value === null ? name : `${name}="${quoted(value)}"`));
  return `<iframe ${attributes.join(" ")}></iframe>`;
}

// Rows are addresses with a button each. Equal ones are kept: one may have the focus.
class Rows {
  #shown = "";
  node = el("div", { class: "addresses" });

  // show shows pairs of a label and an address; those without an address are left out.
  show(pairs) {
    const all = pairs.filter(([, text]) => text);
    this.node.hidden = all.length === 0;
    if (JSON.stringify(all) === this.#shown) return;
    this.#shown = JSON.stringify(all);
    this.node.replaceChildren(...all.map(([label, text]) => addressRow(label, text)));
  }
}

function addressRow(label, text) {
  const id = `address-${label.replaceAll(/\W+/g, "-").toLowerCase()}`;
  const field = el("input", { type: "text", id, readonly: true, onfocus: () => field.select() });
  field.value = text;
  return el("div", { class: "address" }, el("label", { for: id }, label), el("div", { class: "joined" }, field, copyButton(label, () => text)));
}

// WatchLink shows the page of a public video.
export class WatchLink {
  #rows = new Rows();
  #open = el("a", { target: "_blank", rel: "noopener" }, "Open the page");

  constructor() {
    this.node = el("section", { class: "panel link", "aria-labelledby": "link-title", hidden: true }, el("h2", { id: "link-title" }, "Link"),
      el("p", { class: "fine" }, "Anyone who has this link can watch, without a key. ", this.#open), this.#rows.node);
  }

  show(video) {
    this.node.hidden = !video.watchUrl || !isPlayed(video);
    this.#open.href = video.watchUrl ?? "";
    this.#rows.show([["Watch page", video.watchUrl]]);
  }
}

// Addresses shows how a video gets into other pages and programs. The addresses of a private video are signed for a time
// that the user chooses.
export class Addresses {
  #page;
  #video = null;
  #opened = false;
  #life = el("select", { id: "life" }, lives.map(([seconds, text]) => el("option", { value: seconds }, text)));
  #until = el("span", { class: "fine" });
  #signed = el("div", { class: "field inline" }, el("label", { for: "life" }, "Links work for"), this.#life, this.#until);
  #embed = new Rows();
  #more = new Rows();
  #problem = el("div");

  constructor(page) {
    this.#page = page;
    this.#life.addEventListener("change", () => this.#sign());
    this.node = el("section", { class: "panel", "aria-labelledby": "embed-title", hidden: true }, el("h2", { id: "embed-title" }, "Show it on a page"),
      this.#signed, this.#problem, this.#embed.node, el("details", {}, el("summary", {}, "Addresses for developers"), this.#more.node));
  }

  show(video) {
    const before = this.#video;
    this.#video = video;
    this.node.hidden = !isPlayed(video);
    this.#signed.hidden = video.isPublic;
    if (this.node.hidden) return;
    if (video.isPublic) return this.#showRows(video);
    const names = (v) => v && Object.entries(v.resolutions).map(([name, r]) => name + r.status + (r.variants ?? []).map((x) => x.status)).join();
    if (this.#opened && names(before) !== names(video)) this.#sign();
  }

  // open signs addresses that live from now on.
  open() {
    this.#opened = true;
    if (!this.node.hidden && !this.#video.isPublic) this.#sign();
  }

  async #sign() {
    const seconds = Number(this.#life.value);
    this.#problem.replaceChildren();
    try {
      this.#showRows(await request("GET", `${this.#page.path}?expiresIn=${seconds}`));
      setText(this.#until, `Until ${dateTime(Date.now() + seconds * 1000)}, unless the server allows less. Anyone who has such a link can watch until then.`);
    } catch (error) {
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, button("Try again", () => this.#sign())));
    }
  }

  #showRows(video) {
    const files = Object.entries(video.resolutions).filter(([, r]) => r.status === "ready").flatMap(([name, r]) => [[`MP4, ${name}`, r.videoUrl],
      ...(r.variants ?? []).filter((v) => v.codec !== "h264" && v.status === "ready").map((v) => [`MP4, ${name}, ${codecNames[v.codec] ?? v.codec}`, v.videoUrl])]);
    this.#embed.show([
      ["Link", !video.isPublic && video.embedUrl], // it has no page for everybody
      ["Embed code", video.embedUrl && embedCode(video.embedUrl, titleOf(video), video)],
    ]);
    this.#more.show([["HLS", video.hlsUrl], ["DASH", video.dashUrl], ...files,
      ...(video.status === "ready" ? [["Poster", video.posterUrl], ["Storyboard", video.storyboardUrl], ["Preview", video.previewUrl]] : [])]);
  }
}
