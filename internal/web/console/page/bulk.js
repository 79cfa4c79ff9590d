// What is done with many videos at once.

import { request } from "./api.js";
import { editMany } from "./bulkedit.js";
import { announce, button, confirmAction, el, problemBox, setText } from "./dom.js";
import { plural, titleOf } from "./format.js";
import { may } from "./key.js";
import { resolutions } from "./resolutions.js";

const atOnce = 3; // requests

// BulkBar shows how many videos are selected, and what can be done with them. It is hidden
// while there are none.
export class BulkBar {
  #cards;
  #hooks;
  #last = null; // the card that was ticked last, where a range begins
  #count = el("strong", { role: "status" });
  #which = el("select", { id: "bulk-resolution", "aria-label": "Resolution" }, resolutions.map((name) => el("option", { value: name }, name)));
  #buttons;
  #problem = el("div");

  // cards returns all cards in the order of the list. hooks.removed is called with the ID
  // of a video, hooks.changed with its state, hooks.edited after tags or expiry were changed. hooks.tags returns tags
  // to offer.
  constructor(cards, hooks) {
    this.#cards = cards;
    this.#hooks = hooks;
    this.#which.value = "720p";
    this.#buttons = el("span", { class: "actions" },
      button("Select all shown", () => this.#selectAll()),
      may("write") && may("read") && button("Change", () => this.#edit()),
      may("write") && el("span", { class: "joined" }, this.#which, button("Add resolution", () => this.#addResolution())),
      may("delete") && button("Delete selected", () => this.#delete(), { class: "danger" }),
      button("Clear", () => this.clear(), { class: "quiet" }));
    this.node = el("div", { class: "bulk", hidden: true, role: "region", "aria-label": "Selection" }, el("div", { class: "line" }, this.#count, this.#buttons), this.#problem);
  }

  get #selected() {
    return this.#cards().filter((card) => card.box.checked);
  }

  // picked is called after a box was ticked. Shift extends the selection from the last one.
  picked(card, event) {
    const cards = this.#cards();
    const [from, to] = [cards.indexOf(this.#last), cards.indexOf(card)].toSorted((a, b) => a - b);
    if (event.shiftKey && from >= 0) cards.slice(from, to + 1).forEach((other) => { other.box.checked = card.box.checked; });
    this.#last = card;
    this.show();
  }

  show() {
    const n = this.#selected.length;
    this.node.hidden = n === 0 && this.#problem.childElementCount === 0;
    this.node.parentNode?.classList.toggle("selecting", n > 0);
    for (const card of this.#cards()) card.node.classList.toggle("picked", card.box.checked);
    setText(this.#count, `${plural(n, "video")} selected`);
  }

  clear() {
    this.#problem.replaceChildren();
    for (const card of this.#cards()) card.box.checked = false;
    this.show();
  }

  #selectAll() {
    for (const card of this.#cards()) card.box.checked = true;
    this.show();
  }

  async #edit() {
    const outcome = await editMany(this.#selected.map((card) => card.video), this.#hooks.tags());
    if (!outcome) return;
    const { changed, isPublic } = outcome;
    changed.forEach((video) => this.#hooks.changed(video));
    if (changed.length > 0) this.#hooks.edited();
    if (isPublic === undefined) {
      announce(`${plural(changed.length, "video")} changed.`);
      return this.clear();
    }
    await this.#forEach("Changing", isPublic ? "made public" : "made private", async ({ id }) => this.#hooks.changed(await request("PATCH", `video/${id}`, { body: { isPublic } })));
  }

  async #delete() {
    const n = this.#selected.length;
    if (!await confirmAction(`Delete ${plural(n, "video")}?`, "Their resolutions, pictures and uploaded files are deleted. This cannot be undone.", "Delete", n === 1 ? "Keep it" : "Keep them")) return;
    await this.#forEach("Deleting", "deleted", async ({ id }) => {
      await request("DELETE", `video/${id}`).catch((error) => { if (error.status !== 404) throw error; });
      this.#hooks.removed(id);
    });
  }

  async #addResolution() {
    const name = this.#which.value;
    await this.#forEach(`Adding ${name} to`, `given ${name}`, async ({ id }) => this.#hooks.changed(await request("POST", `video/${id}/resolutions`, { body: { resolution: name } })));
  }

  // forEach does something with all selected videos, and deselects those that succeeded.
  async #forEach(doing, done, action) {
    const waiting = this.#selected;
    const [all, failed] = [waiting.length, []];
    let finished = 0;
    for (const control of this.#buttons.querySelectorAll("button, select")) control.disabled = true;
    this.#problem.replaceChildren();
    const work = async () => {
      for (let card = waiting.shift(); card; card = waiting.shift()) {
        setText(this.#count, `${doing} ${++finished} of ${all}`);
        try {
          await action(card.video);
          card.box.checked = false;
        } catch (error) {
          failed.push({ field: titleOf(card.video), message: error.message });
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    for (const control of this.#buttons.querySelectorAll("button, select")) control.disabled = false;
    if (failed.length > 0) {
      const error = Object.assign(new Error(`${plural(failed.length, "video")} could not be ${done}.`), { faults: failed });
      this.#problem.replaceChildren(problemBox(error, button("Dismiss", () => { this.#problem.replaceChildren(); this.show(); })));
    }
    announce(`${plural(all - failed.length, "video")} ${done}.`);
    this.show();
  }
}
