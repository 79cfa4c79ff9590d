// Playing a video, and its thumbnails.

import { el, setText } from "./dom.js";

const goodFor = 3300_000; // milliseconds that addresses are used: signed ones live for an hour

// Player plays one resolution of a video at a time. It is not there before one
// is ready.
export class Player {
  #reread;
  #video = null; // with addresses
  #readAt = 0;
  #name = ""; // of the resolution that is chosen
  #mended = false;

  #film = el("video", { controls: true, playsinline: true, preload: "metadata" });
  #said = el("p", { class: "fine", role: "status" });
  #stills = el("div", { class: "stills" });

  // reread gets the video anew, with addresses that live for longer.
  constructor(reread) {
    this.#reread = reread;
    this.node = el("section", { class: "player", "aria-label": "Player", hidden: true }, this.#film, this.#said, this.#stills);
    this.#film.addEventListener("error", () => this.#mend());
    this.#film.addEventListener("playing", () => { this.#mended = false; this.#tell(); });
  }

  // show is called whenever the video was read. What is playing goes on.
  show(video) {
    this.#video = video;
    this.#readAt = Date.now();
    const ready = this.#ready();
    this.node.hidden = ready.length === 0;
    if (ready.length === 0) return this.stop();
    if (!ready.includes(this.#name)) this.#choose(best(ready, video));
  }

  // play begins to play a resolution, where the other one was.
  async play(name) {
    if (Date.now() - this.#readAt > goodFor) await this.#reread();
    const at = this.#film.currentTime;
    if (name !== this.#name) this.#choose(name, at);
    this.#film.scrollIntoView({ block: "nearest" });
    this.#film.play().catch(() => {}); // the element says itself why it cannot
  }

  stop() {
    this.#film.pause();
    this.#film.removeAttribute("src");
    this.#film.load(); // ends the download
    this.#name = "";
  }

  #ready() {
    return Object.entries(this.#video.resolutions).filter(([, r]) => r.status === "ready").map(([name]) => name);
  }

  #choose(name, at = 0) {
    const { videoUrl, thumbnailImageUrls } = this.#video.resolutions[name];
    this.#name = name;
    this.#film.poster = thumbnailImageUrls[0] ?? "";
    this.#film.src = videoUrl;
    this.#film.currentTime = at;
    this.#tell();
    this.#stills.replaceChildren(...thumbnailImageUrls.map((address, i) => {
      const still = el("img", { src: address, alt: `Thumbnail ${i + 1}`, loading: "lazy", onerror: () => still.remove() });
      return still;
    }));
  }

  #tell() {
    setText(this.#said, `Resolution: ${this.#name}`);
  }

  // mend goes on with fresh addresses when the old ones have expired, once.
  async #mend() {
    if (!this.#name) return;
    const { error, currentTime } = this.#film;
    if (this.#mended || Date.now() - this.#readAt < goodFor) {
      setText(this.#said, `${this.#name} could not be played: ${error?.message || "the browser does not say why"}.`);
      return;
    }
    this.#mended = true;
    await this.#reread();
    this.#choose(this.#name, currentTime);
    this.#film.play().catch(() => {});
  }
}

// best is the largest resolution that most screens can show whole.
function best(names, video) {
  const side = (name) => Math.min(video.resolutions[name].width, video.resolutions[name].height);
  const sorted = names.toSorted((a, b) => side(b) - side(a));
  return sorted.find((name) => side(name) <= 1080) ?? sorted.at(-1);
}
