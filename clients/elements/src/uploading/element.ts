// The element <spool-uploader>: files that people choose or drop go to Spool, a few at a time, by a route of the
// integrator's own server. The README describes its attributes.

import { SpoolError } from "../../../typescript/src/errors.js";
import type { SpoolUploader as Declared } from "../uploader.js";
import { el, Item } from "./item.js";
import { Route } from "./route.js";
import { css } from "./style.js";
import { Transfer, type Step } from "./transfer.js";
import { bytes, english, fill, type Words } from "./words.js";

const videos = "video/*,.mkv,.mxf,.ts,.mts,.m2ts,.vob,.flv";

export class SpoolUploader extends HTMLElement implements Pick<Declared, "add" | "pauseAll" | "resumeAll" | "busy" | "headers" | "words"> {
  static observedAttributes = ["accept", "single", "disabled"];

  headers: Record<string, string> = {};
  #words: Words = english;
  #route = new Route(() => this.getAttribute("endpoint") ?? "", () => this.headers);
  #items = new Map<Transfer, Item>();
  #steps = new WeakMap<Transfer, Step>(); // what was told of it last
  #input = el("input", { type: "file", class: "unseen", tabindex: "-1", "aria-hidden": "true" });
  #choose = el("button", { type: "button", class: "main", part: "button choose" });
  #hint = el("span", { part: "hint" });
  #zone = el("div", { class: "zone", part: "zone" }, this.#input, this.#choose, this.#hint);
  #list = el("ul", { part: "list" });
  #status = el("div", { class: "unseen", role: "status" });
  #leaving = (event: BeforeUnloadEvent) => { if (this.busy) event.preventDefault(); };

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    root.adoptedStyleSheets = [sheet];
    root.append(this.#zone, this.#list, this.#status);
    this.#choose.addEventListener("click", () => this.#input.click());
    this.#input.addEventListener("change", () => {
      this.add(this.#input.files ?? []);
      this.#input.value = ""; // the same file may be chosen again
    });
    for (const type of ["dragenter", "dragover", "dragleave", "drop"] as const) this.addEventListener(type, (event) => this.#dragged(event));
    this.#label();
  }

  connectedCallback(): void { addEventListener("beforeunload", this.#leaving); }

  disconnectedCallback(): void {
    removeEventListener("beforeunload", this.#leaving);
    queueMicrotask(() => { if (!this.isConnected) this.pauseAll(); }); // not one that only moves
  }

  attributeChangedCallback(): void { this.#label(); }

  get words(): Partial<Words> { return this.#words; }
  set words(words: Partial<Words>) {
    this.#words = { ...english, ...words };
    this.#label();
  }

  get busy(): boolean { return [...this.#items.keys()].some((transfer) => transfer.busy || transfer.step === "waiting"); }

  add(files: Iterable<File>): void {
    if (this.hasAttribute("disabled")) return;
    const all = [...files];
    for (const file of this.hasAttribute("single") ? all.slice(0, 1) : all) this.#addOne(file);
    this.#pump();
  }

  pauseAll(): void { for (const transfer of this.#items.keys()) transfer.pause(); }

  resumeAll(): void {
    for (const transfer of this.#items.keys()) if (transfer.step === "paused") transfer.again();
    this.#pump();
  }

  #addOne(file: File): void {
    const transfer = new Transfer(file, this.#route, (changed) => this.#changed(changed));
    const item = new Item(transfer, this.#words, (action) => {
      if (action === "pause") transfer.pause();
      else if (action === "cancel") transfer.cancel();
      else if (action === "remove") this.#remove(transfer);
      else transfer.again();
      this.#pump();
    });
    this.#items.set(transfer, item);
    this.#list.append(item.node);
    const refusal = this.#refusal(file);
    if (refusal) transfer.refuse(new SpoolError("not_accepted", refusal));
  }

  #refusal(file: File): string {
    const most = Number(this.getAttribute("max-bytes"));
    if (most > 0 && file.size > most) return fill(this.#words.refusedSize, { size: bytes(most) });
    return accepts(this.getAttribute("accept") ?? "", file) ? "" : this.#words.refusedType;
  }

  /** remove takes a file from the list. One that failed cannot go on, so its video goes as well. */
  #remove(transfer: Transfer): void {
    if (transfer.step === "failed") transfer.cancel();
    this.#items.get(transfer)?.node.remove();
    this.#items.delete(transfer);
    this.#choose.focus();
  }

  /** pump begins what waits, as far as there is room. */
  #pump(): void {
    const all = [...this.#items.keys()], most = Math.max(1, Number(this.getAttribute("at-once")) || 2);
    let running = all.filter((transfer) => transfer.busy).length;
    for (const transfer of all) {
      if (running >= most || transfer.step !== "waiting") continue;
      running++;
      transfer.run().finally(() => this.#pump());
    }
  }

  #changed(transfer: Transfer): void {
    const item = this.#items.get(transfer), { step, file, video, error, sent } = transfer;
    item?.show();
    const before = this.#steps.get(transfer);
    this.#steps.set(transfer, step);
    const tell = (name: string, more: object) => this.dispatchEvent(new CustomEvent(`spool-${name}`, { bubbles: true, composed: true, detail: { id: video?.id ?? null, file, ...more } }));
    if (step === "preparing" && video && before === step) tell("created", { video });
    if (step === "uploading") tell("progress", { sent, total: file.size });
    if (step === before) return;
    if (step === "done") tell("uploaded", { video });
    if (step === "failed") tell("error", { code: error?.code, message: error?.message });
    if (item && ["done", "failed", "cancelled"].includes(step)) this.#status.textContent = item.said;
  }

  #dragged(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files") || this.hasAttribute("disabled")) return;
    event.preventDefault(); // else the browser would open the file
    const inside = event.relatedTarget instanceof Node && (this.contains(event.relatedTarget) || this.shadowRoot!.contains(event.relatedTarget));
    this.#zone.classList.toggle("over", event.type === "dragover" || event.type === "dragenter" || (event.type === "dragleave" && inside));
    if (event.type === "drop") this.add(event.dataTransfer.files);
  }

  #label(): void {
    const single = this.hasAttribute("single"), words = this.#words;
    this.#choose.textContent = single ? words.chooseOne : words.choose;
    this.#hint.textContent = single ? words.dropOne : words.drop;
    this.#list.setAttribute("aria-label", words.list);
    this.#input.multiple = !single;
    this.#input.accept = this.getAttribute("accept") ?? videos;
    this.#choose.disabled = this.#input.disabled = this.hasAttribute("disabled");
  }
}

/** accepts reports whether a list as of the attribute accept names a file. Without a list, the server decides. */
function accepts(list: string, { name, type }: File): boolean {
  const all = list.split(",").map((one) => one.trim().toLowerCase()).filter(Boolean);
  return all.length === 0 || all.some((one) => (one.startsWith(".") ? name.toLowerCase().endsWith(one) : one.endsWith("/*") ? type.startsWith(one.slice(0, -1)) : type === one));
}

if (!customElements.get("spool-uploader")) customElements.define("spool-uploader", SpoolUploader);
