// The API keys of the tenant, for keys with the scope admin.

import { request } from "./api.js";
import { announce, button, confirmAction, copyText, el, problemBox, setText } from "./dom.js";
import { ago, dateTime } from "./format.js";
import { whoAmI } from "./key.js";

const day = 24 * 60 * 60; // seconds
const lives = [["", "never"], [30 * day, "in 30 days"], [90 * day, "in 90 days"], [365 * day, "in a year"]];
const settingName = "api_key setting"; // of the key that the settings of the server name

// Keys shows the keys of the tenant, makes new ones and revokes them.
export class Keys {
  #title = el("h2", { id: "keys-title", tabindex: -1 }, "Keys of this tenant");
  #list = el("ul", { class: "keys" });
  #more = el("p", { class: "actions" });
  #problem = el("div");
  #secret = el("div");
  #name = el("input", { type: "text", id: "new-key-name", required: true, maxlength: 100, placeholder: "Who uses it, such as: website", autocomplete: "off" });
  #life = el("select", { id: "new-key-life" }, lives.map(([seconds, words]) => el("option", { value: seconds }, words)));
  #boxes = whoAmI().scopes.map((scope) => el("input", { type: "checkbox", value: scope, checked: scope === "read" }));
  #submit = el("button", { type: "submit", class: "main" }, "Make key");
  #details;

  constructor() {
    this.#details = this.#form();
    this.node = el("section", { class: "panel", "aria-labelledby": "keys-title" }, this.#title,
      el("p", { class: "fine" }, "Give every program a key of its own, with no more than it needs. A key that is revoked stops working at once."),
      this.#secret, this.#list, this.#more, this.#problem, this.#details);
  }

  #form() {
    const field = (label, input) => el("div", { class: "field" }, el("label", { for: input.id }, label), input);
    return el("details", {}, el("summary", {}, "Make a key"),
      el("form", { onsubmit: (event) => { event.preventDefault(); this.#make(); } },
        el("div", { class: "pair" }, field("Name", this.#name), field("Expires", this.#life)),
        el("fieldset", {}, el("legend", {}, "What it may do"), el("div", { class: "chips" },
          this.#boxes.map((box) => el("label", { class: "chip" }, box, el("span", {}, box.value))))),
        el("p", { class: "actions" }, this.#submit)));
  }

  // load shows the keys from the newest on.
  async load() {
    await this.#try(() => this.#show(), button("Try again", () => this.load()));
  }

  async #show(cursor = "") {
    const { keys, nextCursor } = await request("GET", `key?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    const rows = keys.map((key) => this.#row(key));
    cursor ? this.#list.append(...rows) : this.#list.replaceChildren(...rows);
    this.#more.replaceChildren(...(nextCursor ? [button("Show more keys", () => this.#try(() => this.#show(nextCursor)))] : []));
    if (cursor) rows[0]?.querySelector("button")?.focus(); // the one that was clicked is gone
  }

  #row(key) {
    const ended = key.expiresAt && new Date(key.expiresAt) <= new Date();
    const name = key.name || "without a name";
    return el("li", { class: "key" },
      el("div", { class: "line" }, el("strong", { class: "name", dir: "auto" }, name),
        ended && el("span", { class: "badge fail" }, "expired"),
        key.current ? el("span", { class: "badge ready" }, "in use here")
          : button("Revoke", () => this.#revoke(key, name), { class: "quiet danger", "aria-label": `Revoke the key ${name}` })),
      el("p", { class: "meta" }, key.scopes.join(", ") || "may do nothing", " · made ", el("time", { datetime: key.createdAt, title: dateTime(key.createdAt) }, ago(key.createdAt)),
        key.expiresAt ? [` · expire${ended ? "d" : "s"} `, el("time", { datetime: key.expiresAt, title: dateTime(key.expiresAt) }, new Date(key.expiresAt).toLocaleDateString())] : " · never expires"),
      el("p", { class: "fine" }, el("code", {}, key.id), key.madeBy && [", made by ", el("code", {}, key.madeBy)]));
  }

  async #make() {
    const scopes = this.#boxes.filter((box) => box.checked).map((box) => box.value);
    this.#submit.disabled = true; // a second key would hide the secret of the first
    await this.#try(async () => {
      if (scopes.length === 0) throw new Error("Tick at least one thing that the key may do.");
      const expiresIn = Number(this.#life.value);
      const made = await request("POST", "key", { body: { name: this.#name.value.trim(), scopes, ...(expiresIn > 0 && { expiresIn }) } });
      this.#showSecret(made.name, made.secret);
      this.#name.value = "";
      this.#details.open = false;
      await this.#show();
    });
    this.#submit.disabled = false;
  }

  async #revoke(key, name) {
    const also = key.name === settingName ? " It is named in the settings of the server, so it will work again after the next start: change the setting, too." : "";
    if (!await confirmAction(`Revoke the key ${name}?`, `Programs that use it are refused at once. This cannot be undone.${also}`, "Revoke")) return;
    await this.#try(async () => {
      await request("DELETE", `key/${encodeURIComponent(key.id)}`);
      announce(`The key ${name} is revoked.`);
      await this.#show();
      this.#title.focus(); // the button is gone
    });
  }

  // showSecret shows a key, this once.
  #showSecret(name, secret) {
    const copy = button("Copy", () => copyText(secret).then(() => setText(copy, "Copied"), (error) => announce(error.message)));
    this.#secret.replaceChildren(el("div", { class: "note", role: "status" },
      el("p", {}, `The key ${name}. It is shown this once:`), el("p", { class: "actions" }, el("code", { class: "secret" }, secret), copy)));
    copy.focus();
  }

  async #try(action, ...offered) {
    this.#problem.replaceChildren();
    try {
      await action();
    } catch (error) {
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, ...offered));
    }
  }
}
