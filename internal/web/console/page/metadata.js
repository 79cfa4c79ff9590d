// The metadata of a video: any JSON object. One whose values are all plain is edited as a
// list of names and values, others as JSON.

import { button, el } from "./dom.js";

const isPlain = (value) => value === null || typeof value !== "object";
const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// isSimple reports whether metadata can be edited as a list.
export function isSimple(metadata) {
  return metadata === null || (isPlain(metadata) ? false : !Array.isArray(metadata) && Object.values(metadata).every(isPlain));
}

// MetadataEditor edits metadata.
export class MetadataEditor {
  #rows = el("div", { class: "pairs" });
  #json = null;

  constructor(metadata) {
    if (!isSimple(metadata)) {
      this.#json = el("textarea", { rows: 8, spellcheck: "false", "aria-label": "Metadata as JSON" });
      this.#json.value = JSON.stringify(metadata, null, 2);
      this.node = el("div", { class: "metadata" }, this.#json);
      return;
    }
    for (const [name, value] of Object.entries(metadata ?? {})) this.#add(name, value);
    this.node = el("div", { class: "metadata" }, this.#rows, button("Add a field", () => this.#add("", "").focus(), { class: "quiet add-field" }));
  }

  #add(name, value) {
    const key = el("input", { type: "text", class: "key", "aria-label": "Name", placeholder: "name", autocomplete: "off" });
    const field = el("input", { type: "text", class: "value", "aria-label": "Value", placeholder: "value", autocomplete: "off" });
    [key.value, field.value] = [name, textOf(value)];
    const row = el("div", { class: "pair-row" }, key, field, button("Remove", () => row.remove(), { class: "quiet", "aria-label": "Remove this field" }));
    // A value that was not touched keeps its type: 42 stays a number.
    row.read = () => [key.value.trim(), field.value === textOf(value) ? value : field.value];
    this.#rows.append(row);
    return key;
  }

  // value returns the metadata, or null without any. It throws if it is not valid.
  get value() {
    if (this.#json) {
      const text = this.#json.value.trim();
      try {
        return text === "" ? null : JSON.parse(text);
      } catch (error) {
        throw new Error(`The metadata is not JSON: ${error.message}`);
      }
    }
    const pairs = [...this.#rows.children].map((row) => row.read()).filter(([name, value]) => name !== "" || value !== "");
    if (pairs.some(([name]) => name === "")) throw new Error("A field of the metadata has no name.");
    const names = pairs.map(([name]) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new Error(`The metadata has the field “${twice}” twice.`);
    return pairs.length > 0 ? Object.fromEntries(pairs) : null;
  }
}
