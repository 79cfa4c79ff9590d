// Videos whose file the server fetches from a URL: the fields of the form, and what the page of
// such a video says about it.

import { button, el, setText } from "./dom.js";
import { percent, stem } from "./format.js";
import { may } from "./key.js";

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

// Importing shows how far the server has come with fetching a file. retry is called to have it
// fetched again.
export class Importing {
  #bar = el("progress", { max: 1, "aria-label": "Progress of fetching the file" });
  #percent = el("span", { class: "fine" });
  #words = el("p", {}, "Spool fetches the file from its address.");
  #work = el("div", { class: "work" }, this.#bar, this.#percent);
  #again;

  constructor(retry) {
    this.#again = el("p", { class: "actions" }, button("Fetch again", retry, { id: "fetch-again" }));
    this.node = el("div", { class: "panel fetching", hidden: true }, this.#words, this.#work, this.#again);
  }

  show(video) {
    const fetching = isFetching(video);
    const again = canFetchAgain(video) && may("write") && may("read");
    this.node.hidden = !fetching && !again;
    this.#work.hidden = !fetching;
    this.#again.hidden = !again;
    setText(this.#words, fetching ? "Spool fetches the file from its address." : "The file was not fetched. Spool can try again.");
    this.#bar.value = video.importProgress ?? 0;
    setText(this.#percent, percent(video.importProgress ?? 0));
  }
}
