// The menu of sound tracks, which is there if a video has several.

import { el } from "./layout.js";

export class Sounds {
  onchoose = () => {};
  #item;
  #menu;
  #title;

  constructor({ soundItem, soundMenu }) {
    this.#item = soundItem;
    this.#menu = soundMenu;
    this.#title = soundMenu.querySelector("[slot=title]");
    soundMenu.addEventListener("change", () => this.onchoose(Number(soundMenu.value)));
  }

  // show lists tracks by their names. With one there is nothing to choose.
  show(names, chosen) {
    this.#item.hidden = names.length < 2;
    const items = names.map((name, i) => el("media-chrome-menu-item", { type: "radio", value: String(i) }, name));
    this.#menu.replaceChildren(this.#title, ...items);
    items.forEach((item, i) => { item.checked = i === chosen; });
  }
}
