// Who may watch a video.

import { request } from "./api.js";
import { announce, button, confirmAction, el, problemBox, setText } from "./dom.js";
import { titleOf } from "./format.js";
import { may } from "./key.js";

const visibilities = {
  public: {
    says: "Everybody who has its address.", button: "Make public", done: "public",
    asks: "Everybody who has its address can watch it then. Signed addresses that were given out stop working.",
  },
  private: {
    says: "Only people with a signed link, which expires.", button: "Make private", done: "private",
    asks: "Its public addresses stop working at once, also in pages that embed it. Browsers and a CDN may keep parts of it for up to an hour.",
  },
};

// Access shows who may watch a video, and changes it.
export class Access {
  #page;
  #video;
  #says = el("p");
  #change = button("Make private", () => this.#toggle(), { id: "change-visibility" });
  #problem = el("div");

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel", "aria-labelledby": "access-title" }, el("h2", { id: "access-title" }, "Who may watch"),
      this.#says, this.#problem, may("write") && el("p", { class: "actions" }, this.#change));
  }

  show(video) {
    this.#video = video;
    setText(this.#says, visibilities[video.isPublic ? "public" : "private"].says);
    setText(this.#change, visibilities[video.isPublic ? "private" : "public"].button);
  }

  async #toggle() {
    const isPublic = !this.#video.isPublic;
    const to = visibilities[isPublic ? "public" : "private"];
    if (!await confirmAction(`${to.button}: “${titleOf(this.#video)}”?`, to.asks, to.button, "Leave it")) return;
    this.#problem.replaceChildren();
    this.#change.disabled = true;
    try {
      await request("PATCH", this.#page.path, { body: { isPublic } });
      announce(`${titleOf(this.#video)} is ${to.done}.`);
      await this.#page.load();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
    this.#change.disabled = false;
    this.#change.focus();
  }
}
