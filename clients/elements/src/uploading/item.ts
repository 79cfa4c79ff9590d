// One file in the list of an uploader.

import type { Step, Transfer } from "./transfer.js";
import { bytes, fill, type Words } from "./words.js";

/** el makes an element. Everything foreign enters as text. */
export function el<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Record<string, string> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

type Action = "pause" | "resume" | "retry" | "cancel" | "remove";

const offered: Record<Step, Action[]> = {
  waiting: ["pause", "cancel"], preparing: ["pause", "cancel"], uploading: ["pause", "cancel"], paused: ["resume", "cancel"],
  finishing: [], done: ["remove"], failed: ["retry", "remove"], cancelled: ["remove"],
};

export class Item {
  readonly node = el("li", { part: "item" });
  readonly #state = el("span", { class: "state", part: "state" });
  readonly #fill = el("div");
  readonly #bar = el("div", { class: "bar", part: "progress", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }, this.#fill);
  readonly #buttons = new Map<Action, HTMLButtonElement>();

  constructor(readonly transfer: Transfer, readonly words: Words, act: (action: Action) => void) {
    const { name } = transfer.file, actions = el("span", { class: "actions" });
    for (const action of ["retry", "resume", "pause", "cancel", "remove"] as Action[]) {
      const button = el("button", { type: "button", part: `button ${action}`, "aria-label": `${words[action]}: ${name}`, hidden: "" }, words[action]);
      button.addEventListener("click", () => this.#press(action, act));
      this.#buttons.set(action, button);
      actions.append(button);
    }
    this.#bar.setAttribute("aria-label", fill(words.progressOf, { name }));
    this.node.append(el("div", { class: "line" }, el("span", { class: "what" }, el("span", { class: "name", dir: "auto", title: name }, name), this.#state), actions), this.#bar);
    this.show();
  }

  /** press keeps the focus in the item when the button goes that has it. */
  #press(action: Action, act: (action: Action) => void): void {
    act(action);
    if (action !== "remove") [...this.#buttons.values()].find((button) => !button.hidden)?.focus();
  }

  show(): void {
    const { step, error, sent, file, mayHelp } = this.transfer, share = file.size > 0 ? Math.min(1, sent / file.size) : 1;
    const percent = Math.floor(share * 100);
    this.node.className = step;
    const text = fill(this.words[step], { percent, size: bytes(file.size), reason: error?.message ?? "" });
    if (this.#state.textContent !== text) this.#state.textContent = text;
    this.#fill.style.transform = `scaleX(${share})`;
    this.#bar.setAttribute("aria-valuenow", String(percent));
    this.#bar.hidden = this.transfer.over;
    for (const [action, button] of this.#buttons) button.hidden = !offered[step].includes(action) || (action === "retry" && !mayHelp);
  }

  /** What a screen reader says of it now. */
  get said(): string { return fill(this.words.said, { name: this.transfer.file.name, what: this.#state.textContent ?? "" }); }
}
