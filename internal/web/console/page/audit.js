// The audit log: who changed what in the tenant, for keys and people with the scope admin.

import { request } from "./api.js";
import { button, el, problemBox } from "./dom.js";
import { ago, dateTime } from "./format.js";

const kinds = { key: "key", person: "person", system: "this machine" };

// choices are the actions that people look for, in words.
const choices = [
  ["", "All changes"], ["video.create", "Videos created"], ["video.complete", "Uploads completed"], ["video.edit", "Videos edited"],
  ["video.make_public", "Videos made public"], ["video.make_private", "Videos made private"], ["video.replace", "Files replaced"], ["video.delete", "Videos deleted"],
  ["share.create", "Links made"], ["share.delete", "Links deleted"], ["key.create", "Keys made"], ["key.revoke", "Keys revoked"],
  ["webhook.create", "Webhooks registered"], ["webhook.update", "Webhooks changed"], ["webhook.delete", "Webhooks deleted"], ["tenant.set_limits", "Limits set"],
];

// AuditPage shows the log, newest first.
export class AuditPage {
  #title = el("h1", { tabindex: -1 }, "Audit log");
  #action = el("select", { id: "audit-action", onchange: () => this.#load() }, choices.map(([value, words]) => el("option", { value }, words)));
  #actor = { id: "", name: "" };
  #chosen = el("p", { class: "actions" });
  #rows = el("tbody");
  #empty = el("p", { class: "fine", hidden: true }, "Nothing was changed yet, or nothing that fits.");
  #more = el("p", { class: "actions" });
  #problem = el("div");
  #turn = 0;

  constructor() {
    this.node = el("article", { class: "stack settings audit" }, this.#title,
      el("section", { class: "panel", "aria-label": "Changes" },
        el("p", { class: "fine" }, "Who changed what in this tenant. Entries are kept for 400 days."),
        el("div", { class: "field" }, el("label", { for: "audit-action" }, "Show"), this.#action), this.#chosen,
        el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Changes" }, el("table", {},
          el("thead", {}, el("tr", {}, ["When", "Who", "What", "Of", "From"].map((name) => el("th", { scope: "col" }, name)))), this.#rows)),
        this.#empty, this.#more, this.#problem));
  }

  start() {
    document.title = "Audit log – Spool";
    this.#title.focus({ preventScroll: true });
    this.#load();
  }

  stop() {
    this.#turn++;
  }

  // load shows the newest entries, or those after a cursor below the ones that are shown.
  async #load(cursor = "") {
    const turn = ++this.#turn;
    const query = new URLSearchParams(Object.entries({ limit: 50, cursor, action: this.#action.value, actor: this.#actor.id }).filter(([, value]) => value));
    this.#problem.replaceChildren();
    try {
      const { entries, nextCursor } = await request("GET", `audit?${query}`);
      if (turn !== this.#turn) return;
      const rows = entries.map((entry) => this.#row(entry));
      cursor ? this.#rows.append(...rows) : this.#rows.replaceChildren(...rows);
      this.#empty.hidden = this.#rows.rows.length > 0;
      this.#more.replaceChildren(...(nextCursor ? [button("Show older changes", () => this.#load(nextCursor))] : []));
      if (cursor) rows[0]?.querySelector("button")?.focus(); // the button that was clicked is gone
    } catch (error) {
      if (turn === this.#turn && error.status !== 401) this.#problem.replaceChildren(problemBox(error, button("Try again", () => this.#load(cursor))));
    }
  }

  #row({ at, actor, action, videoId, target, address }) {
    const name = actor.name || actor.id;
    return el("tr", {},
      el("td", {}, el("time", { datetime: at, title: dateTime(at) }, ago(at))),
      el("td", {}, button(name, () => this.#choose(actor.id, name), { class: "quiet", title: `${kinds[actor.kind] ?? actor.kind} ${actor.id}`, "aria-label": `Only changes by ${name}` })),
      el("td", {}, el("code", {}, action)),
      el("td", {}, videoId && el("a", { href: `#/video/${videoId}`, title: videoId }, `video ${videoId.slice(-12)}`), videoId && target && " · ", target && el("span", { title: target, dir: "auto" }, target.length > 14 ? `…${target.slice(-12)}` : target)),
      el("td", {}, address || "–"));
  }

  // choose shows only what an actor did; without an ID, what all did.
  #choose(id, name) {
    this.#actor = { id, name };
    this.#chosen.replaceChildren(...(id ? [el("span", {}, "Only changes by ", el("strong", { dir: "auto" }, name)), button("Show all", () => this.#choose("", ""))] : []));
    this.#load();
  }
}
