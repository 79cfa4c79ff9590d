// The list of keys. The dialog of media-chrome lists its own keys only, and is transparent.

import { el } from "./layout.js";

const keys = [
  [["Space", "K"], "Play or pause"],
  [["←", "J"], "10 seconds back"],
  [["→", "L"], "10 seconds on"],
  [[",", "."], "A frame back, a frame on, while it is paused"],
  [["0", "…", "9"], "Go to a tenth of the video: 5 is the middle"],
  [["B", "N"], "To the chapter before, to the next chapter"],
  [["<", ">"], "Slower, faster"],
  [["↑", "↓"], "Louder, quieter"],
  [["M"], "Sound on or off"],
  [["C"], "Captions on or off"],
  [["F"], "Full screen on or off"],
  [["P"], "Picture in picture on or off"],
  [["?"], "This list"],
];

// KeyList is a dialog. It is above everything, also when the player fills the screen.
export class KeyList {
  #close = el("button", { type: "button" }, "Close");
  node = el("dialog", { class: "keys", "aria-labelledby": "keys-title" },
    el("div", { class: "head" }, el("h2", { id: "keys-title" }, "Keys of the player"), this.#close),
    el("dl", {}, ...keys.flatMap(([names, what]) => [
      el("dt", {}, ...names.map((name) => (name === "…" ? name : el("kbd", {}, name)))), el("dd", {}, what)])));

  constructor() {
    this.#close.addEventListener("click", () => this.node.close());
    this.node.addEventListener("click", (event) => { if (event.target === this.node) this.node.close(); }); // beside it
    this.node.addEventListener("keydown", (event) => { if (event.key === "?") this.node.close(); });
  }

  open() {
    if (!this.node.open) this.node.showModal();
  }
}
