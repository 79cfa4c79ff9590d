// The player of a video, and its thumbnails.

import { el, setText } from "./dom.js";

const urlLifetime = 3300_000; // milliseconds that URLs are used: signed ones are valid for an hour

// Player plays one resolution of a video at a time. It is hidden until one is ready.
export class Player {
  #refresh;
  #video = null; // with URLs
  #refreshedAt = 0;
  #name = ""; // of the resolution that is chosen
  #retried = false;

  #media = el("video", { controls: true, playsinline: true, preload: "metadata" });
  #status = el("p", { class: "fine", role: "status" });
  #thumbnails = el("div", { class: "stills" });

  // refresh loads the video again, with new signed URLs.
  constructor(refresh) {
    this.#refresh = refresh;
    this.node = el("section", { class: "player", "aria-label": "Player", hidden: true }, this.#media, this.#status, this.#thumbnails);
    this.#media.addEventListener("error", () => this.#refreshAndResume());
    this.#media.addEventListener("playing", () => { this.#retried = false; this.#showStatus(); });
  }

  // show is called whenever the video was loaded. Playback continues.
  show(video) {
    this.#video = video;
    this.#refreshedAt = Date.now();
    const ready = this.#ready();
    this.node.hidden = ready.length === 0;
    if (ready.length === 0) return this.stop();
    if (!ready.includes(this.#name)) this.#choose(best(ready, video));
  }

  // play switches to a resolution, at the position of the current one.
  async play(name) {
    if (Date.now() - this.#refreshedAt > urlLifetime) await this.#refresh();
    const at = this.#media.currentTime;
    if (name !== this.#name) this.#choose(name, at);
    this.#media.scrollIntoView({ block: "nearest" });
    this.#media.play().catch(() => {}); // the element fires an error event
  }

  stop() {
    this.#media.pause();
    this.#media.removeAttribute("src");
    this.#media.load(); // stops the download
    this.#name = "";
  }

  #ready() {
    return Object.entries(this.#video.resolutions).filter(([, r]) => r.status === "ready").map(([name]) => name);
  }

  #choose(name, at = 0) {
    const { videoUrl, thumbnailImageUrls } = this.#video.resolutions[name];
    this.#name = name;
    this.#media.poster = thumbnailImageUrls[0] ?? "";
    this.#media.src = videoUrl;
    this.#media.currentTime = at;
    this.#showStatus();
    this.#thumbnails.replaceChildren(...thumbnailImageUrls.map((url, i) => {
      const thumbnail = el("img", { src: url, alt: `Thumbnail ${i + 1}`, loading: "lazy", onerror: () => thumbnail.remove() });
      return thumbnail;
    }));
  }

  #showStatus() {
    setText(this.#status, `Resolution: ${this.#name}`);
  }

  // refreshAndResume continues with new URLs when the old ones have expired, once.
  async #refreshAndResume() {
    if (!this.#name) return;
    const { error, currentTime } = this.#media;
    if (this.#retried || Date.now() - this.#refreshedAt < urlLifetime) {
      setText(this.#status, `${this.#name} could not be played: ${error?.message || "the browser does not say why"}.`);
      return;
    }
    this.#retried = true;
    await this.#refresh();
    this.#choose(this.#name, currentTime);
    this.#media.play().catch(() => {});
  }
}

// best returns the largest resolution that most screens can show.
function best(names, video) {
  const side = (name) => Math.min(video.resolutions[name].width, video.resolutions[name].height);
  const sorted = names.toSorted((a, b) => side(b) - side(a));
  return sorted.find((name) => side(name) <= 1080) ?? sorted.at(-1);
}
