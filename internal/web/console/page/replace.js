// Another file for a video, under the same addresses.

import { request } from "./api.js";
import { announce, button, el, problemBox } from "./dom.js";
import { percent } from "./format.js";
import { may } from "./key.js";

// Replace lets the user choose a file, which the dock uploads, and shows how far it has come.
export class Replace {
  #page;
  #state = el("p", { class: "fine", role: "status" });
  #problem = el("div");
  #input = el("input", { type: "file", id: "new-file", class: "unseen again", onchange: () => this.#choose(this.#input.files[0]) });
  #choice = el("span", {}, this.#input, el("label", { for: "new-file", class: "choose" }, "Replace file…"));
  #giveUp = button("Give it up", () => this.#stop(), { class: "quiet" });

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel", "aria-labelledby": "replace-title", hidden: true }, el("h2", { id: "replace-title" }, "The file"),
      el("p", { class: "fine" }, "A new file gets the same addresses. The old one is shown until the new one is ready."),
      this.#state, this.#problem, el("p", { class: "actions" }, this.#choice, this.#giveUp));
  }

  show(video) {
    const { replacement } = video;
    this.node.hidden = !may("write") || !this.#page.replaceFile || video.status !== "ready";
    this.#choice.hidden = Boolean(replacement) && replacement.status !== "fail";
    this.#giveUp.hidden = !replacement;
    this.#state.textContent = !replacement ? "" : {
      pending_upload: "The new file is on its way.",
      processing: `The new file is being encoded: ${percent(replacement.progress)}.`,
      ready: "The new file is ready.",
      fail: `The new file was not taken: ${replacement.failure?.message ?? "it failed."}`,
    }[replacement.status];
  }

  #choose(file) {
    this.#input.value = "";
    if (file) this.#page.replaceFile(file);
  }

  async #stop() {
    this.#problem.replaceChildren();
    try {
      await request("DELETE", `${this.#page.path}/replace`);
      announce("The new file is given up.");
      await this.#page.load();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }
}
