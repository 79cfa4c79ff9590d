// Tabs: one of several rooms is shown, and the address says which.

import { el } from "./dom.js";

// Tabs shows the panels of a page in rooms. A tab whose panels are all hidden is left out. The selected one is in
// the address, so that it can be linked; choosing another one is no step for the back button.
export class Tabs {
  #items; // in their order: {name, link, room, panels}
  #wanted = ""; // by the address; it may not be there yet
  #selected = null;

  // address leads to the first tab; with /name at its end it leads to another one. tabs are {name, title, panels}.
  constructor(label, address, tabs) {
    this.#items = tabs.map(({ name, title, panels }, i) => {
      const link = el("a", {
        role: "tab", id: `tab-${name}`, href: i === 0 ? address : `${address}/${name}`, "aria-controls": `room-${name}`,
        "aria-selected": "false", tabindex: -1, hidden: true, onclick: (event) => this.#clicked(event, name),
      }, title);
      const room = el("div", { role: "tabpanel", class: "room", id: `room-${name}`, "aria-labelledby": link.id, tabindex: 0, hidden: true }, panels.map((panel) => panel.node));
      return { name, link, room, panels };
    });
    this.node = el("div", { class: "tabs" },
      el("div", { role: "tablist", class: "tablist", "aria-label": label, onkeydown: (event) => this.#pressed(event) }, this.#items.map(({ link }) => link)),
      this.#items.map(({ room }) => room));
  }

  // show gives all panels what they show, and offers the tabs that have something.
  show(...what) {
    for (const { link, panels } of this.#items) {
      for (const panel of panels) panel.show(...what);
      link.hidden = panels.every((panel) => panel.node.hidden);
    }
    this.select(this.#wanted);
  }

  // select shows the room with a name. While it is not offered, it shows the first one.
  select(name) {
    this.#wanted = name;
    const offered = this.#offered();
    const item = offered.find((other) => other.name === name) ?? offered[0];
    if (!item || item === this.#selected) return;
    this.#selected = item;
    for (const { link, room } of this.#items) {
      const chosen = link === item.link;
      link.setAttribute("aria-selected", chosen);
      link.tabIndex = chosen ? 0 : -1;
      room.hidden = !chosen;
    }
    for (const panel of item.panels) panel.open?.();
  }

  #offered() {
    return this.#items.filter(({ link }) => !link.hidden);
  }

  #choose(name) {
    this.select(name);
    history.replaceState(null, "", this.#selected.link.getAttribute("href"));
    this.#selected.link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #clicked(event, name) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // it is opened elsewhere
    event.preventDefault();
    this.#choose(name);
  }

  #pressed(event) {
    const offered = this.#offered();
    const at = offered.indexOf(this.#selected);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
    if (event.key === " ") event.target.click(); // a link takes Enter alone
    else if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    else this.#choose(offered.at(next % offered.length).name);
    event.preventDefault();
    this.#selected.link.focus();
  }
}
