// The element <spool-transcript>: what is said, beside the player. It follows the player, can be searched, and leads to each
// place. The package comment in player.go describes its attributes.

import { clock } from "./clock.js";
import { el } from "./layout.js";
import { css } from "./transcriptstyle.js";
import { readCues } from "./vtt.js";

const tick = 250; // milliseconds between two looks at the position
const patience = 4000; // milliseconds in which somebody who has scrolled is left alone

// fold returns a text without case and accents, as the search of the server does it.
const fold = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

const fileOf = (url) => url.split("?")[0].split("/").at(-1); // signatures change, names do not

export class SpoolTranscript extends HTMLElement {
  static observedAttributes = ["texts"];

  #texts = []; // of {language, label, url}
  #shown = ""; // the file whose lines are shown
  #lines = []; // of {start, end, node, folded}
  #current = -1;
  #found = [];
  #at = -1; // in found
  #scrolledAt = 0;
  #timer = 0;
  #request = null;

  #button = el("button", { type: "button", class: "toggle", "aria-expanded": "false", "aria-controls": "body" }, "Transcript");
  #language = el("select", { "aria-label": "Language of the transcript" });
  #search = el("input", { type: "search", placeholder: "Search in what is said", "aria-label": "Search in what is said", autocomplete: "off", spellcheck: "false", maxlength: "200" });
  #count = el("span", { class: "count", role: "status" });
  #before = el("button", { type: "button", "aria-label": "The place before" }, "↑");
  #after = el("button", { type: "button", "aria-label": "The next place" }, "↓");
  #list = el("ol", { "aria-label": "Transcript" });
  #note = el("p", { class: "note", hidden: "" });
  #body = el("div", { id: "body", hidden: "" }, el("div", { class: "tools" }, this.#search, this.#count, this.#before, this.#after, this.#language), this.#note, this.#list);

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    root.append(this.#button, this.#body);
    this.#button.addEventListener("click", () => this.toggle());
    this.#language.addEventListener("change", () => this.#load());
    this.#search.addEventListener("input", () => this.#find());
    this.#search.addEventListener("keydown", (event) => this.#pressedInSearch(event));
    this.#before.addEventListener("click", () => this.#step(-1));
    this.#after.addEventListener("click", () => this.#step(1));
    this.#list.addEventListener("click", (event) => this.#jump(event.target.closest("button")));
    this.#list.addEventListener("keydown", (event) => this.#pressedInList(event));
    for (const type of ["wheel", "touchmove", "pointerdown"]) this.#list.addEventListener(type, () => { this.#scrolledAt = Date.now(); }, { passive: true });
  }

  // player is the player that it belongs to: one that was set, or the first of the page.
  set player(player) { this.#player = player; }
  get player() { return this.#player ?? document.querySelector("spool-player"); }
  #player = null;

  connectedCallback() { if (this.open) this.#follow(); }

  disconnectedCallback() { clearInterval(this.#timer); }

  attributeChangedCallback(name, before, now) {
    try {
      this.#texts = JSON.parse(now || "[]");
    } catch {
      this.#texts = [];
    }
    this.hidden = this.#texts.length === 0;
    const chosen = this.#language.value;
    this.#language.replaceChildren(...this.#texts.map(({ language, label }) => el("option", { value: language }, label)));
    if (this.#texts.some((t) => t.language === chosen)) this.#language.value = chosen;
    this.#language.hidden = this.#texts.length < 2;
    if (this.open) this.#load();
  }

  get open() { return this.hasAttribute("open"); }

  toggle(open = !this.open) {
    this.toggleAttribute("open", open);
    this.#button.setAttribute("aria-expanded", String(open));
    this.#body.hidden = !open;
    clearInterval(this.#timer);
    if (!open) return;
    this.#load();
    this.#follow();
  }

  // load shows the text in the chosen language, unless it is shown.
  async #load() {
    const text = this.#texts.find((t) => t.language === this.#language.value) ?? this.#texts[0];
    if (!text || fileOf(text.url) === this.#shown) return;
    this.#request?.abort();
    this.#request = new AbortController();
    this.#say("Loading …");
    try {
      const response = await fetch(text.url, { signal: this.#request.signal });
      if (!response.ok) throw new Error();
      this.#show(readCues(await response.text()), text);
      this.#shown = fileOf(text.url);
    } catch (error) {
      if (error.name !== "AbortError") this.#say("The transcript could not be loaded.");
    }
  }

  #say(text) {
    this.#note.textContent = text;
    this.#note.hidden = !text;
  }

  #show(cues, { language }) {
    this.#lines = cues.map(({ start, end, whole }, i) => ({
      start, end, folded: fold(whole), text: whole,
      node: el("button", { type: "button", tabindex: i === 0 ? "0" : "-1" }, el("span", { class: "time" }, clock(start)), el("span", { class: "words", lang: language, dir: "auto" }, whole)),
    }));
    this.#current = -1;
    this.#list.replaceChildren(...this.#lines.map(({ node }) => el("li", {}, node)));
    this.#say(cues.length === 0 ? "Nothing is said." : "");
    this.#find();
    this.#look();
  }

  #follow() {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#look(), tick);
    this.#look();
  }

  // look marks what is said now, and keeps it in sight.
  #look() {
    const now = this.player?.media?.currentTime ?? 0;
    const current = now > 0 ? this.#lines.findLastIndex((line) => line.start <= now + 0.05) : -1;
    if (current === this.#current) return;
    this.#lines[this.#current]?.node.removeAttribute("aria-current");
    this.#current = current;
    const line = this.#lines[current];
    if (!line) return;
    line.node.setAttribute("aria-current", "true");
    if (this.#search.value.trim() || Date.now() - this.#scrolledAt < patience || this.shadowRoot.activeElement?.closest("ol")) return;
    this.#reveal(line.node);
  }

  // reveal scrolls the list, and not the page.
  #reveal(node) {
    const list = this.#list.getBoundingClientRect(), box = node.getBoundingClientRect();
    if (box.top >= list.top + 40 && box.bottom <= list.bottom - 60) return;
    this.#list.scrollTop += box.top - list.top - list.height / 3;
  }

  #find() {
    const words = fold(this.#search.value).split(/\s+/).filter(Boolean);
    this.#found = [];
    for (const line of this.#lines) {
      const found = words.length > 0 && words.every((word) => line.folded.includes(word));
      if (found) this.#found.push(line);
      line.node.classList.toggle("found", found);
      line.node.classList.remove("chosen");
    }
    this.#at = -1;
    this.#before.disabled = this.#after.disabled = this.#found.length === 0;
    this.#count.textContent = words.length > 0 && this.#lines.length > 0 ? (this.#found.length > 0 ? `${this.#found.length} found` : "Not found") : "";
    if (this.#found.length > 0) this.#reveal(this.#found[0].node);
  }

  // step goes to the next place that was found, or to the one before.
  #step(by) {
    if (this.#found.length === 0) return;
    this.#found[this.#at]?.node.classList.remove("chosen");
    this.#at = (this.#at < 0 ? (by > 0 ? 0 : this.#found.length - 1) : this.#at + by + this.#found.length) % this.#found.length;
    const { node, start } = this.#found[this.#at];
    node.classList.add("chosen");
    this.#count.textContent = `${this.#at + 1} of ${this.#found.length}`;
    this.#reveal(node);
    this.player?.goTo(start);
  }

  #pressedInSearch(event) {
    if (event.key === "Enter") this.#step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && this.#search.value) this.#search.value = "", this.#find();
    else return;
    event.preventDefault();
  }

  #pressedInList(event) {
    const all = this.#lines.map(({ node }) => node), now = all.indexOf(event.target.closest("button"));
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || now < 0) return;
    event.preventDefault();
    this.#focus(all[Math.min(Math.max(to, 0), all.length - 1)]);
  }

  // focus makes a line the one that the tab key leads to.
  #focus(node) {
    for (const one of this.#list.querySelectorAll("[tabindex='0']")) one.tabIndex = -1;
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
    this.#reveal(node);
  }

  #jump(node) {
    const line = this.#lines.find((l) => l.node === node);
    if (!line) return;
    this.#focus(node);
    this.player?.goTo(line.start);
  }
}

if (!customElements.get("spool-transcript")) customElements.define("spool-transcript", SpoolTranscript);
