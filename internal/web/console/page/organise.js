// Tags and expiry: their fields, and their panel on the page of a video.

import { button, el, facts, problemBox } from "./dom.js";
import { dateTime } from "./format.js";
import { may } from "./key.js";

// splitTags reads tags that somebody has typed.
export const splitTags = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

// ticks are boxes for tags, in a fieldset.
export function ticks(legend, tags, checked = false) {
  const boxes = tags.map((tag) => el("input", { type: "checkbox", value: tag, checked }));
  const node = boxes.length > 0 && el("fieldset", {}, el("legend", {}, legend), el("div", { class: "chips" }, boxes.map((box) => el("label", { class: "chip" }, box, el("span", { dir: "auto" }, box.value)))));
  return { node, chosen: () => boxes.filter((box) => box.checked).map((box) => box.value) };
}

// tagField is a field for tags that are typed.
export function tagField(id, label) {
  const input = el("input", { type: "text", id, dir: "auto", autocomplete: "off", placeholder: "course, 2026" });
  return { input, node: el("div", { class: "field" }, el("label", { for: id }, label), input), tags: () => splitTags(input.value) };
}

// local writes a time as the fields of browsers do.
const local = (time) => new Date(new Date(time) - new Date(time).getTimezoneOffset() * 60000).toISOString().slice(0, 16);

export const never = "Never delete by itself";

// ExpiryField asks when videos are deleted. same is what the choice is called that changes nothing.
export class ExpiryField {
  #choice;
  #at;
  #before = "";

  constructor(id, same, expiresAt) {
    const choices = [["", same], ...(same === never ? [] : [["never", never]]), ["at", "Delete at a time"]];
    this.#choice = el("select", { id: `${id}-expiry`, onchange: () => this.#show() }, choices.map(([value, text]) => el("option", { value }, text)));
    this.#at = el("input", { type: "datetime-local", id: `${id}-at`, "aria-label": "Time of the deletion" });
    if (expiresAt) this.#at.value = this.#before = local(expiresAt);
    if (expiresAt) this.#choice.value = "at";
    this.node = el("div", { class: "field" }, el("label", { for: `${id}-expiry` }, "Expiry"), el("div", { class: "joined" }, this.#choice, this.#at));
    this.#show();
  }

  #show() {
    this.#at.hidden = this.#at.disabled = this.#choice.value !== "at";
    this.#at.required = !this.#at.hidden;
  }

  // change is what a request says of it. What stays as it is keeps its seconds, which the field does not show.
  get change() {
    if (this.#choice.value !== "at") return this.#choice.value === "never" ? { expiresAt: null } : {};
    if (!this.#at.value) throw new Error("Choose the time of the deletion.");
    return this.#at.value === this.#before ? {} : { expiresAt: new Date(this.#at.value).toISOString() };
  }
}

// Organising shows the tags of a video and when it is deleted, and changes both.
export class Organising {
  #page;
  #video;
  #shown = null; // as JSON
  #body = el("div");
  #edit = button("Edit", () => this.#startEditing(), { class: "quiet", "aria-label": "Edit tags and expiry" });

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel half", "aria-labelledby": "organising-title" },
      el("div", { class: "line" }, el("h2", { id: "organising-title" }, "Tags and expiry"), may("write") && may("read") && this.#edit), this.#body);
  }

  show(video) {
    const text = JSON.stringify([video.tags, video.expiresAt]);
    if (text === this.#shown) return; // do not disturb an editor
    this.#shown = text;
    this.#video = video;
    this.#view();
  }

  #view() {
    const { tags = [], expiresAt } = this.#video;
    this.#edit.hidden = false;
    this.#body.replaceChildren(facts([
      ["Tags", tags.length === 0 ? "none" : el("ul", { class: "tags" }, tags.map((tag) => el("li", {}, el("a", { href: `#/?${new URLSearchParams({ tag })}`, dir: "auto" }, tag))))],
      ["Deleted by itself", expiresAt ? dateTime(expiresAt) : "never"],
    ]));
  }

  #startEditing() {
    const { tags = [], expiresAt } = this.#video;
    const present = ticks("Tags", tags, true), more = tagField("new-tags", "Add tags, separated by commas"), expiry = new ExpiryField("video", expiresAt ? "Leave as it is" : never, expiresAt);
    const problem = el("div");
    this.#edit.hidden = true;
    const submit = async (event) => {
      event.preventDefault();
      try {
        await this.#page.edit({ tags: [...present.chosen(), ...more.tags()], ...expiry.change });
        this.#view();
        this.#edit.focus();
      } catch (error) {
        problem.replaceChildren(problemBox(error));
      }
    };
    this.#body.replaceChildren(el("form", { onsubmit: submit }, present.node, more.node, expiry.node, problem,
      el("p", { class: "actions" }, el("button", { type: "submit", class: "main" }, "Save"), button("Cancel", () => { this.#view(); this.#edit.focus(); }))));
    more.input.focus();
  }
}
