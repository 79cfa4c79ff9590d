// The file that was uploaded for a video.

import { request } from "./api.js";
import { button, el } from "./dom.js";
import { bytes } from "./format.js";

// Original offers the file that was uploaded. It is hidden until the file has arrived, and where the server does not
// keep it.
export class Original {
  #page;
  #asked = ""; // the status of the video at which the server was asked
  #download = button("Download", () => this.#save(), { id: "original" });
  #facts = el("p", { class: "fine hash" });

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel", "aria-labelledby": "original-title", hidden: true },
      el("div", { class: "line" }, el("h2", { id: "original-title" }, "Original"), this.#download), this.#facts);
  }

  async show({ status }) {
    if (status === this.#asked) return;
    this.#asked = status;
    const found = await this.#find().catch(() => null); // it is not there
    this.node.hidden = !found;
    if (found) this.#facts.textContent = [found.filename, bytes(found.sizeBytes), found.sha256 && `SHA-256 ${found.sha256}`].filter(Boolean).join(" · ");
  }

  #find() {
    return request("POST", `${this.#page.path}/original`);
  }

  // save has the browser save the file, which leaves the page as it is.
  #save() {
    return this.#page.attempt(async () => location.assign((await this.#find()).url));
  }
}
