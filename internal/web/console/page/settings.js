// The settings: this key, what its tenant uses, the other keys, the webhooks, and all tenants.

import { request } from "./api.js";
import { button, el, problemBox } from "./dom.js";
import { dateTime } from "./format.js";
import { isOperator, isRemembered, may, reloadOthers, whoAmI } from "./key.js";
import { Keys } from "./keys.js";
import { Sessions } from "./sessions.js";
import { Tenants, usageTiles } from "./tenants.js";
import { Watermarks } from "./watermarks.js";
import { Webhooks } from "./webhooks.js";

const scopes = {
  read: "see and watch videos",
  write: "upload and change videos",
  delete: "delete videos",
  admin: "manage keys and webhooks",
};

// SettingsPage shows what the key may see.
export class SettingsPage {
  #usage = el("div", {}, el("p", { class: "fine" }, "Loading…"));
  #problem = el("div");
  #title = el("h1", { tabindex: -1 }, "Settings");
  #parts = [may("read") && new Watermarks(), may("admin") && new Keys(), may("admin") && new Sessions(), may("admin") && new Webhooks(), isOperator() && new Tenants()].filter(Boolean);

  // forget forgets the key.
  constructor(forget) {
    const me = whoAmI();
    this.node = el("article", { class: "stack settings" }, this.#title,
      el("section", { class: "panel", "aria-labelledby": "key-title" }, el("h2", { id: "key-title" }, me.session ? "You" : "This key"),
        me.session ? this.#person(me) : el("dl", { class: "facts" },
          el("div", {}, el("dt", {}, "Tenant"), el("dd", {}, me.tenant)),
          el("div", {}, el("dt", {}, "Key"), el("dd", {}, el("code", {}, me.id))),
          el("div", {}, el("dt", {}, "Kept"), el("dd", {}, isRemembered() ? "on this computer, until you forget it" : "until the last tab of this page is closed"))),
        this.#problem,
        el("h3", {}, me.session ? "What you may do" : "What it may do"),
        el("ul", { class: "scopes" }, Object.entries(scopes).filter(([name]) => name !== "admin" || may("admin")).map(([name, words]) =>
          el("li", { class: may(name) ? "yes" : "no" }, el("span", { "aria-hidden": "true" }, may(name) ? "✓" : "–"), el("span", {}, el("strong", {}, name), ` ${may(name) ? words : `may not ${words}`}`)))),
        el("p", { class: "actions" }, button(me.session ? "Sign out" : "Forget this key", forget), el("a", { href: "docs" }, "API docs"), isOperator() && el("a", { href: "#/system" }, "Workers and queue"), may("admin") && el("a", { href: "#/audit" }, "Audit log")),
        !may("admin") && el("p", { class: "fine" }, "The operator makes and revokes keys with ", el("code", {}, "spool keys"), ".")),
      may("read") && el("section", { class: "panel", "aria-labelledby": "usage-title" }, el("h2", { id: "usage-title" }, "Usage"), this.#usage),
      this.#parts.map((part) => part.node));
  }

  // #person shows who is signed in, and lets them choose a tenant.
  #person({ id, tenant, session }) {
    const choice = el("select", { id: "tenant", "aria-label": "Tenant", onchange: () => this.#choose(session.id, choice.value) },
      session.tenants.map((name) => el("option", { value: name, selected: name === tenant }, name)));
    return el("dl", { class: "facts" },
      el("div", {}, el("dt", {}, "Name"), el("dd", { dir: "auto" }, session.name)),
      el("div", {}, el("dt", {}, "Account"), el("dd", {}, el("code", {}, id))),
      el("div", {}, el("dt", {}, "Tenant"), el("dd", {}, session.tenants.length > 1 ? choice : tenant)),
      el("div", {}, el("dt", {}, "Signed in until"), el("dd", {}, el("time", { datetime: session.expiresAt }, dateTime(session.expiresAt)))));
  }

  // #choose has the session work in another tenant. Everything is loaded again.
  async #choose(session, tenant) {
    try {
      await request("PATCH", `session/${session}`, { body: { tenant } });
      reloadOthers();
      location.reload();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }

  start() {
    document.title = "Settings – Spool";
    this.#title.focus({ preventScroll: true });
    if (may("read")) this.#loadUsage();
    for (const part of this.#parts) part.load();
  }

  stop() {}

  async #loadUsage() {
    try {
      this.#usage.replaceChildren(usageTiles(await request("GET", "usage")));
    } catch (error) {
      if (error.status !== 401) this.#usage.replaceChildren(problemBox(error, button("Try again", () => this.#loadUsage())));
    }
  }
}
