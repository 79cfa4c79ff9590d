// Who is signed in, for people and keys with the scope admin.

import { request } from "./api.js";
import { announce, button, confirmAction, el, problemBox } from "./dom.js";
import { ago, dateTime } from "./format.js";

// browsers are recognised by what they call themselves. The first that fits is meant: others name it, too.
const browsers = [[/Edg\//, "Edge"], [/OPR\//, "Opera"], [/Firefox\//, "Firefox"], [/Chrome\//, "Chrome"], [/Safari\//, "Safari"]];
const systems = [[/Android/, "Android"], [/iPhone|iPad/, "iOS"], [/Windows/, "Windows"], [/Mac OS X/, "macOS"], [/Linux/, "Linux"]];

// browserOf names a browser as people do.
function browserOf(text) {
  const find = (list) => list.find(([pattern]) => pattern.test(text))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(" on ") || text.slice(0, 40) || "unknown browser";
}

// Sessions lists who is signed in, and ends sessions.
export class Sessions {
  #title = el("h2", { id: "sessions-title", tabindex: -1 }, "People who are signed in");
  #list = el("ul", { class: "keys" });
  #none = el("p", { class: "fine", hidden: true }, "No one is signed in. People with a key are not listed here.");
  #more = el("p", { class: "actions" });
  #problem = el("div");

  constructor() {
    this.node = el("section", { class: "panel", "aria-labelledby": "sessions-title" }, this.#title,
      el("p", { class: "fine" }, "A session ends by itself after twelve hours. One that you end stops working at once."), this.#list, this.#none, this.#more, this.#problem);
  }

  // load shows the sessions from the newest on.
  async load(cursor = "") {
    await this.#try(async () => {
      const { sessions, nextCursor } = await request("GET", `session?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      const rows = sessions.map((session) => this.#row(session));
      cursor ? this.#list.append(...rows) : this.#list.replaceChildren(...rows);
      this.#none.hidden = this.#list.children.length > 0;
      this.#more.replaceChildren(...(nextCursor ? [button("Show more sessions", () => this.load(nextCursor))] : []));
    }, button("Try again", () => this.load(cursor)));
  }

  #row(session) {
    const { id, person, tenant, createdAt, address, browser, current } = session;
    const name = person.name || person.id;
    return el("li", { class: "key" },
      el("div", { class: "line" }, el("strong", { class: "name", dir: "auto" }, name),
        current ? el("span", { class: "badge ready" }, "you, here") : button("End session", () => this.#end(id, name), { class: "quiet danger", "aria-label": `End session of ${name}` })),
      el("p", { class: "meta" }, `in ${tenant} · ${browserOf(browser)} · from ${address || "an unknown address"} · since `, el("time", { datetime: createdAt, title: dateTime(createdAt) }, ago(createdAt))),
      person.id !== name && el("p", { class: "fine" }, el("code", {}, person.id)));
  }

  async #end(id, name) {
    if (!await confirmAction(`End the session of ${name}?`, "They have to sign in again. To keep them out, take their rights away at the provider or in the settings.", "End session")) return;
    await this.#try(async () => {
      await request("DELETE", `session/${id}`);
      announce(`The session of ${name} has ended.`);
      await this.load();
      this.#title.focus(); // the button is gone
    });
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
