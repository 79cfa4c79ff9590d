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
  #sites = el("select", { id: "sites-mode", onchange: () => this.#showMode() },
    el("option", { value: "all" }, "on all sites"), el("option", { value: "some" }, "on these sites only"));
  #list = el("textarea", { id: "sites", rows: 4, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": "sites-note" });
  #noOrigin = el("input", { type: "checkbox", id: "sites-none" });
  #some = el("div", { class: "access" },
    el("div", { class: "field" }, el("label", { for: "sites" }, "Sites, one on each line"), this.#list,
      el("p", { class: "fine", id: "sites-note" }, "Such as example.com, *.example.com or app.example.com:8443. No site: only pages of this server.")),
    el("label", { class: "check" }, this.#noOrigin, " Apps and downloads, too: whatever names no site"));
  #form = el("form", { class: "access", onsubmit: (event) => { event.preventDefault(); this.#save(); } },
    el("div", { class: "field" }, el("label", { for: "sites-mode" }, "It can be played"), this.#sites), this.#some,
    el("p", { class: "actions" }, el("button", { type: "submit" }, "Save sites")));
  #shown = ""; // the rule that the form began with, as JSON

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel access", "aria-labelledby": "access-title" }, el("h2", { id: "access-title" }, "Who may watch"),
      this.#says, may("write") && el("p", { class: "actions" }, this.#change), may("write") && may("read") && this.#form, this.#problem);
  }

  show(video) {
    this.#video = video;
    setText(this.#says, visibilities[video.isPublic ? "public" : "private"].says);
    setText(this.#change, visibilities[video.isPublic ? "private" : "public"].button);
    const rule = JSON.stringify([video.allowedOrigins, video.allowNoOrigin]);
    if (rule === this.#shown) return; // do not disturb an editor
    this.#shown = rule;
    this.#sites.value = video.allowedOrigins ? "some" : "all";
    this.#list.value = (video.allowedOrigins ?? []).join("\n");
    this.#noOrigin.checked = Boolean(video.allowNoOrigin);
    this.#showMode();
  }

  #showMode() {
    this.#some.hidden = this.#sites.value === "all";
  }

  async #save() {
    const allowedOrigins = this.#sites.value === "all" ? null : this.#list.value.split(/[\s,]+/).filter(Boolean);
    this.#problem.replaceChildren();
    try {
      await this.#page.edit({ allowedOrigins, allowNoOrigin: this.#noOrigin.checked });
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
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
