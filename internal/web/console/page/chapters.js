// The chapters of a video: a list of times and titles, which can also be pasted as text.

import { request } from "./api.js";
import { clock, parseClock } from "./clock.js";
import { announce, button, confirmAction, el, problemBox, setText } from "./dom.js";
import { may } from "./key.js";
import { Timeline } from "./timeline.js";

const most = 200; // chapters

// Chapters edits the chapters of a video. Changes are kept on the page until they are saved.
export class Chapters {
  #page;
  #saved = "null"; // the chapters of the server, as JSON
  #length = Infinity; // of the video, in seconds
  #rows = []; // of {start, title, node}
  #changed = false;
  #line;
  #list = el("ul", { class: "chapters" });
  #none = el("p", { class: "fine" });
  #note = el("p", { class: "fine", role: "status" });
  #problem = el("div");
  #text = el("textarea", { id: "chapter-text", rows: 6, spellcheck: "false", placeholder: "0:00 Introduction\n0:42 The second act" });
  #paste;
  #add = button("Add at the playhead", () => this.#addAtPlayhead(), { id: "add-chapter" });
  #save = button("Save", () => this.#send({ body: { chapters: this.#all() } }), { class: "main", id: "save-chapters" });
  #discard = button("Discard changes", () => this.#reset(), { class: "quiet" });
  #remove = button("Delete all", () => this.#removeAll(), { class: "quiet danger" });

  // page has the path of the video in the API, its player, and load, which loads the video again.
  constructor(page) {
    this.#page = page;
    this.#line = new Timeline(page.player, { onMark: may("write") ? (i, at) => this.#drag(i, at) : null });
    this.#paste = el("details", { ontoggle: () => { if (this.#paste.open) this.#text.value = this.#written(); } }, el("summary", {}, "Paste as text"),
      el("div", { class: "field" }, el("label", { for: "chapter-text" }, "A time and a title in each line, or WebVTT. It replaces the list."), this.#text),
      el("p", { class: "actions" }, button("Use this text", () => this.#sendText(), { id: "use-chapter-text" })));
    this.node = el("section", { class: "panel", "aria-labelledby": "chapters-title", hidden: true }, el("h2", { id: "chapters-title" }, "Chapters"),
      this.#line.node, this.#list, this.#none, this.#problem, this.#note,
      may("write") && el("p", { class: "actions" }, this.#add, this.#save, this.#discard, this.#remove), may("write") && this.#paste);
  }

  show(video, report) {
    this.#length = video.durationSeconds ?? Infinity;
    this.#line.show(video, report);
    this.node.hidden = !video.chapters || (video.status === "fail" && video.chapters.length === 0);
    const now = JSON.stringify(video.chapters ?? []);
    if (now === this.#saved) return;
    this.#saved = now;
    if (!this.#changed) this.#reset();
  }

  #reset() {
    this.#problem.replaceChildren();
    this.#rows = JSON.parse(this.#saved).map(({ startSeconds, title }) => this.#row(startSeconds, title));
    this.#draw(false);
  }

  // draw shows the rows.
  #draw(changed) {
    this.#changed = changed;
    const known = this.#rows.map((row) => row.node);
    if (known.length !== this.#list.childElementCount || known.some((node, i) => node !== this.#list.children[i])) this.#list.replaceChildren(...known);
    this.#line.marks = this.#rows;
    this.#none.hidden = known.length > 0;
    setText(this.#none, may("write") ? "None yet. Play the video to where a chapter begins, and add it." : "None.");
    setText(this.#note, changed ? "Changes are not saved yet." : "");
    this.#save.hidden = this.#discard.hidden = !changed;
    this.#remove.hidden = changed || this.#saved === "[]";
    this.#add.disabled = known.length >= most;
  }

  #row(start, title) {
    const row = { start, title };
    const time = el("input", { type: "text", class: "time", value: clock(start), inputmode: "numeric", autocomplete: "off", "aria-label": "Begins at", readonly: !may("write"), onchange: () => this.#move(row, time) });
    const name = el("input", { type: "text", value: title, maxlength: 200, autocomplete: "off", "aria-label": "Title", readonly: !may("write"), oninput: () => { row.title = name.value.trim(); this.#draw(true); } });
    row.node = el("li", {}, time, name,
      button("▶", () => this.#page.player.seek(row.start), { class: "quiet", title: "Go there", "aria-label": "Go to this chapter" }),
      may("write") && button("×", () => this.#drop(row), { class: "quiet danger", title: "Remove", "aria-label": "Remove this chapter" }));
    row.time = time;
    row.name = name;
    return row;
  }

  // drag moves a chapter between its neighbours.
  #drag(i, at) {
    const row = this.#rows[i], [before, after] = [this.#rows[i - 1], this.#rows[i + 1]];
    row.start = Math.round(Math.min(Math.max(at, before ? before.start + 0.001 : 0), (after?.start ?? this.#length) - 0.001) * 1000) / 1000;
    row.time.value = clock(row.start);
    this.#draw(true);
  }

  #move(row, input) {
    const seconds = parseClock(input.value);
    input.setCustomValidity(Number.isNaN(seconds) ? "A time such as 1:02:03" : "");
    if (!input.reportValidity()) return;
    row.start = seconds;
    input.value = clock(seconds);
    this.#sort();
  }

  #sort() {
    this.#rows.sort((a, b) => a.start - b.start);
    this.#draw(true);
  }

  #addAtPlayhead() {
    const row = this.#row(Math.round((this.#page.player.media?.currentTime ?? 0) * 1000) / 1000, "");
    this.#rows.push(row);
    this.#sort();
    row.name.focus();
  }

  #drop(row) {
    const at = this.#rows.indexOf(row);
    this.#rows.splice(at, 1);
    this.#draw(true);
    (this.#rows[Math.min(at, this.#rows.length - 1)]?.name ?? this.#add).focus();
  }

  #all() {
    return this.#rows.map(({ start, title }) => ({ startSeconds: start, title }));
  }

  #written() {
    return this.#rows.map(({ start, title }) => `${clock(start)} ${title}\n`).join("");
  }

  #sendText() {
    const type = this.#text.value.trimStart().startsWith("WEBVTT") ? "text/vtt" : "text/plain";
    return this.#send({ raw: this.#text.value, headers: { "Content-Type": type } });
  }

  #send(options) {
    return this.#try("The chapters are saved.", async () => {
      await request("PUT", `${this.#page.path}/chapters`, options);
      this.#paste.open = false;
    });
  }

  async #removeAll() {
    if (!await confirmAction("Delete all chapters?", "Players stop showing them. This cannot be undone.", "Delete")) return;
    await this.#try("The chapters are deleted.", () => request("DELETE", `${this.#page.path}/chapters`));
  }

  async #try(words, action) {
    this.#problem.replaceChildren();
    try {
      await action();
      this.#changed = false;
      this.#saved = "null"; // what the server has now is shown
      await this.#page.load();
      announce(words);
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }
}
