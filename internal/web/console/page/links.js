// Links for people: pages on which they watch a video without a key.

import { request } from "./api.js";
import { announce, button, confirmAction, copyButton, copyText, el, problemBox } from "./dom.js";
import { dateTime } from "./format.js";
import { may } from "./key.js";

const hour = 3600_000; // milliseconds
const lives = [[0, "Never"], [hour, "In an hour"], [24 * hour, "In a day"], [7 * 24 * hour, "In a week"], [30 * 24 * hour, "In 30 days"], [365 * 24 * hour, "In a year"]];

// Links lists the links of a video, and makes others.
export class Links {
  #path;
  #list = el("ul", { class: "links", hidden: true });
  #problem = el("div");

  constructor(page) {
    this.#path = `${page.path}/share`;
    this.node = el("section", { class: "panel", "aria-labelledby": "links-title" }, el("h2", { id: "links-title" }, "Links for people"),
      el("p", { class: "fine" }, "Anyone who has such a link can watch in a browser, without a key, until it expires or is deleted."),
      may("read") && may("write") && form((share) => this.#create(share)), this.#problem, this.#list);
  }

  show() {} // links do not change with the video

  open() {
    return this.#try(() => {});
  }

  async #load() {
    const { shares } = await request("GET", this.#path);
    this.#list.hidden = shares.length === 0;
    this.#list.replaceChildren(...shares.map((share) => row(share, () => this.#remove(share))));
  }

  // create reports whether the link was made.
  async #create(share) {
    return this.#try(async () => {
      const { url } = await request("POST", this.#path, { body: share });
      announce("The link is made.");
      await copyText(url).then(() => announce("The link is made and copied."), () => {}); // it can be copied below
    });
  }

  async #remove(share) {
    if (!await confirmAction(`Delete the link ${nameOf(share)}?`, "Its page is gone at once. Those who are watching stop within a minute.", "Delete")) return;
    await this.#try(async () => {
      await request("DELETE", `${this.#path}/${share.id}`);
      announce("The link is deleted.");
    });
  }

  async #try(action) {
    this.#problem.replaceChildren();
    try {
      await action();
      await this.#load();
      return true;
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
      return false;
    }
  }
}

// form asks for what a link needs. It is empty again when create has made one.
function form(create) {
  const label = el("input", { type: "text", id: "link-label", autocomplete: "off", maxlength: 200, "aria-describedby": "link-label-note" });
  const life = el("select", { id: "link-life" }, lives.map(([ms, text]) => el("option", { value: ms }, text)));
  const password = el("input", { type: "text", id: "link-password", autocomplete: "off", maxlength: 200, autocapitalize: "off", spellcheck: "false" });
  const download = el("input", { type: "checkbox", id: "link-download" });
  const field = (text, input, ...more) => el("div", { class: "field" }, el("label", { for: input.id }, text), input, ...more);
  const details = el("details", { id: "create-link" }, el("summary", {}, "Create link"),
    el("form", { onsubmit: async (event) => {
      event.preventDefault();
      const ms = Number(life.value), expiresAt = ms > 0 ? new Date(Date.now() + ms).toISOString() : null;
      if (!await create({ label: label.value.trim(), expiresAt, password: password.value, download: download.checked })) return;
      event.target.reset();
      details.open = false;
    } },
    field("Label (optional)", label, el("p", { class: "fine", id: "link-label-note" }, "For you: visitors do not see it.")),
    el("div", { class: "pair" }, field("Expires", life), field("Password (optional)", password)),
    el("label", { for: "link-download" }, download, " Visitors may download the video"),
    el("p", { class: "actions" }, el("button", { type: "submit", class: "primary" }, "Create and copy"))));
  return details;
}

function nameOf(share) {
  return share.label ? `“${share.label}”` : `of ${dateTime(share.createdAt)}`;
}

function row(share, remove) {
  const field = el("input", { type: "text", readonly: true, "aria-label": `Link ${nameOf(share)}`, onfocus: () => field.select() });
  field.value = share.url;
  const over = share.expiresAt && Date.parse(share.expiresAt) <= Date.now();
  const facts = [share.expiresAt && `${over ? "expired" : "expires"} ${dateTime(share.expiresAt)}`, share.hasPassword && "password", share.download && "download"].filter(Boolean);
  return el("li", {},
    el("div", { class: "line" }, el("strong", {}, share.label || `Made ${dateTime(share.createdAt)}`),
      may("write") && button("Delete", remove, { class: "quiet danger", "aria-label": `Delete the link ${nameOf(share)}` })),
    el("div", { class: "joined" }, field, copyButton(`link ${nameOf(share)}`, () => share.url)),
    facts.length > 0 && el("p", { class: "fine" }, facts.join(" · ")));
}
