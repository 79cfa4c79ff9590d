// The addresses of a video, to copy.

import { request } from "./api.js";
import { announce, button, copyText, el, problemBox, setText } from "./dom.js";
import { codecNames, dateTime, largest } from "./format.js";

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

// Share shows the addresses of a video. The addresses of a private video are signed for a time
// that the user chooses.
export class Share {
  #id;
  #title = "";
  #video = null;
  #life = el("select", { id: "life" }, lives.map(([seconds, text]) => el("option", { value: seconds }, text)));
  #lifeRow = el("div", { class: "field inline" }, el("label", { for: "life" }, "Links work for"), this.#life);
  #rows = el("div", { class: "addresses" });
  #problem = el("div");
  #until = el("p", { class: "fine" });

  constructor(id) {
    this.#id = id;
    this.#life.addEventListener("change", () => this.#sign());
    this.node = el("section", { class: "panel", "aria-labelledby": "share-title", hidden: true }, el("h2", { id: "share-title" }, "Share"),
      this.#lifeRow, this.#rows, this.#until, this.#problem);
  }

  // show is called when the video was loaded, with URLs.
  show(video, title) {
    const before = this.#video;
    [this.#video, this.#title] = [video, title];
    const ready = Object.values(video.resolutions).some((r) => r.status === "ready");
    this.node.hidden = !ready && !video.playable;
    this.#lifeRow.hidden = this.#until.hidden = video.isPublic;
    if (this.node.hidden) return;
    if (video.isPublic) return this.#showRows(video);
    const names = (v) => v && Object.entries(v.resolutions).map(([name, r]) => name + r.status + (r.variants ?? []).map((x) => x.status)).join();
    if (names(before) !== names(video) || this.#rows.childElementCount === 0) this.#sign();
  }

  async #sign() {
    const seconds = Number(this.#life.value);
    this.#problem.replaceChildren();
    try {
      const video = await request("GET", `video/${this.#id}?expiresIn=${seconds}`);
      this.#showRows(video);
      setText(this.#until, `Until ${dateTime(Date.now() + seconds * 1000)}, unless the server allows less. Until then, anyone who has such a link can watch.`);
    } catch (error) {
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, button("Try again", () => this.#sign())));
    }
  }

  #showRows(video) {
    const files = Object.entries(video.resolutions).filter(([, r]) => r.status === "ready").flatMap(([name, r]) => [[`MP4, ${name}`, r.videoUrl],
      ...(r.variants ?? []).filter((v) => v.codec !== "h264" && v.status === "ready").map((v) => [`MP4, ${name}, ${codecNames[v.codec] ?? v.codec}`, v.videoUrl])]);
    const all = [
      ["Watch page", video.watchUrl],
      ["Link", !video.isPublic && video.embedUrl], // it has no page for everybody
      ["Embed code", video.embedUrl && embedCode(video.embedUrl, this.#title, video)],
      ["HLS", video.hlsUrl], ["DASH", video.dashUrl], ...files,
    ].filter(([, text]) => text);
    // Rows that stay the same are kept: one may have the focus.
    const key = JSON.stringify(all);
    if (this.#rows.dataset.shown === key) return;
    this.#rows.dataset.shown = key;
    this.#rows.replaceChildren(...all.map(([label, text]) => addressRow(label, text)));
  }
}

function addressRow(label, text) {
  const id = `address-${label.replaceAll(/\W+/g, "-").toLowerCase()}`;
  const field = el("input", { type: "text", id, readonly: true, onfocus: () => field.select() });
  field.value = text;
  const copy = button("Copy", async () => {
    try {
      await copyText(text);
      setText(copy, "Copied");
      announce(`${label} is copied.`);
      setTimeout(() => setText(copy, "Copy"), 2000);
    } catch (error) {
      announce(error.message);
      field.focus();
    }
  }, { "aria-label": `Copy: ${label}` });
  return el("div", { class: "address" }, el("label", { for: id }, label), el("div", { class: "joined" }, field, copy));
}
