// Videos whose file the server fetches from a URL: the fields of the form, and how far they are.

import { el } from "./dom.js";
import { stem } from "./format.js";

// isFetching reports whether the server is to fetch the file of a video, or does so now.
export function isFetching(video) {
  return video.status === "pending_upload" && video.importProgress !== undefined;
}

// canFetchAgain reports whether fetching has failed. What fails after the file was accepted is
// no matter of its address.
export function canFetchAgain(video) {
  if (video.status !== "fail" || video.importProgress === undefined) return false;
  return video.importProgress < 1 || /^(import_|upload_empty)/.test(video.failure?.code ?? "");
}

// titleIn returns the title that the server gives to the file at an address.
function titleIn(address) {
  if (!URL.canParse(address)) return "";
  const last = new URL(address).pathname.split("/").filter(Boolean).at(-1) ?? "";
  try {
    return stem(decodeURIComponent(last));
  } catch {
    return stem(last); // not every address is well encoded
  }
}

// AddressFields asks for an address and a title.
export class AddressFields {
  #address = el("input", { type: "url", id: "source-url", autocomplete: "off", spellcheck: "false" });
  #title = el("input", { type: "text", dir: "auto", id: "source-title", maxlength: 200, autocomplete: "off" });

  constructor() {
    this.#address.addEventListener("input", () => { this.#title.placeholder = titleIn(this.#address.value.trim()); });
    this.node = el("div", { class: "stack", hidden: true },
      el("div", { class: "field" }, el("label", { for: "source-url" }, "Address of the video file"), this.#address,
        el("p", { class: "fine" }, "A link to the file itself, not to a page that shows it. Spool fetches it by itself, so you may close this page.")),
      el("div", { class: "field" }, el("label", { for: "source-title" }, "Title (optional)"), this.#title));
  }

  focus() {
    this.#address.focus();
  }

  clear() {
    this.#address.value = this.#title.value = this.#title.placeholder = "";
  }

  // draft is this part of the create request. It throws if there is no address.
  get draft() {
    const address = this.#address.value.trim();
    if (address === "") throw new Error("Write the address of a video file first.");
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) throw new Error("This is not the whole address of a file. Begin with https and the name of the server.");
    const title = this.#title.value.trim();
    return { sourceUrl: address, ...(title && { title }) };
  }
}
