// The player of a video.

import { el, setText } from "./dom.js";
import { isPlayed, isTall, largest, titleOf } from "./format.js";

const urlLifetime = 3300_000; // milliseconds that URLs are used: signed ones are valid for an hour

// whenLoaded is resolved when the player's module has been loaded, and rejected if that
// fails. The module is loaded when the first video is opened.
let whenLoaded = null;
export const loadPlayer = () => (whenLoaded ??= import("../player/player.js"));

// Player plays a video with the player of the watch page. It is hidden until there is
// something to play.
export class Player {
  #refresh;
  #video = null; // with URLs
  #refreshedAt = 0;
  #element = null;
  #chapters = ""; // that it shows
  #followers = []; // of the position
  #status = el("p", { class: "fine", role: "status" });
  #frame = el("div", { class: "frame" });
  #transcript = el("spool-transcript", { hidden: true });
  #start = 0; // seconds; where it is to begin

  // refresh loads the video again, with new signed URLs.
  constructor(refresh) {
    this.#refresh = refresh;
    this.node = el("section", { class: "player", "aria-label": "Player", hidden: true }, el("div", { class: "beside" }, this.#frame, this.#transcript), this.#status);
  }

  // show is called whenever the video was loaded. Playback continues.
  async show(video) {
    this.#video = video;
    this.#refreshedAt = Date.now();
    this.node.hidden = !isPlayed(video);
    if (this.node.hidden) return this.stop();
    if (this.#element) return this.#update();
    this.#frame.classList.toggle("tall", isTall(video));
    const [tag] = await Promise.allSettled([loadPlayer()]);
    if (this.#element || this.#video === null) return;
    this.#create(tag.status === "fulfilled");
  }

  #create(adaptive) {
    this.#element = adaptive ? el("spool-player", { "page-keys": true }) : el("video", { controls: true, playsinline: true, preload: "metadata" });
    this.#element.addEventListener(adaptive ? "spool-error" : "error", (event) => this.#recover(event.detail?.message));
    this.#setSource();
    if (this.#start > 0) this.#element.setAttribute("start", this.#start);
    this.#frame.replaceChildren(this.#element);
    if (this.#start > 0 && navigator.userActivation?.hasBeenActive) this.#element.goTo?.(this.#start); // a click led here
    for (const type of ["timeupdate", "seeking"]) this.media.addEventListener(type, ({ target }) => this.#followers.forEach((f) => f(target)));
  }

  #setSource() {
    const { hlsUrl, posterUrl, storyboardUrl, id } = this.#video;
    const best = largest(this.#video);
    if (this.#element.localName === "video") {
      this.#element.poster = posterUrl ?? "";
      this.#element.src = best?.videoUrl ?? "";
      return;
    }
    // It is made last. While a resolution is added to the same video, it stays.
    const storyboard = (this.#video.status === "ready" || this.#element.getAttribute("video-id") === id && this.#element.hasAttribute("storyboard")) && storyboardUrl;
    const attributes = { hls: hlsUrl, mp4: best?.videoUrl, poster: posterUrl, storyboard, "video-id": id, "video-title": titleOf(this.#video), duration: this.#video.durationSeconds };
    for (const [name, value] of Object.entries(attributes)) value ? this.#element.setAttribute(name, value) : this.#element.removeAttribute(name);
    this.#update();
  }

  // update says whether more is being made, and what is there, without interrupting.
  #update() {
    const { status, storyboardUrl, captions = [], durationSeconds, audioTracks } = this.#video;
    this.#showChapters();
    // The signatures in the URLs change whenever the video is loaded; a file's name, when its captions do.
    const texts = captions.filter((c) => c.url).map(({ language, label, url }) => ({ language, label, url }));
    this.#transcript.player = this.#element;
    this.#transcript.setAttribute("texts", JSON.stringify(texts));
    this.#element.setAttribute("caption-files", captions.map((c) => c.url?.split("/").at(-1)).join(" "));
    if (status === "ready" && storyboardUrl && !this.#element.hasAttribute("storyboard")) this.#element.setAttribute("storyboard", storyboardUrl);
    this.#element.setAttribute("ready", Object.values(this.#video.resolutions).filter((r) => r.status === "ready").length);
    this.#element.toggleAttribute("silent", durationSeconds > 0 && audioTracks?.length === 0);
    this.#element.toggleAttribute("making", status === "processing" && !largest(this.#video));
  }

  // showChapters shows them again when they have changed: their address may be the same.
  #showChapters() {
    const now = JSON.stringify(this.#video.chapters);
    if (this.#element.localName === "video" || now === this.#chapters) return;
    this.#chapters = now;
    this.#element.removeAttribute("chapters");
    if (this.#video.chaptersUrl) this.#element.setAttribute("chapters", this.#video.chaptersUrl);
  }

  // media is the video element; null while there is nothing to play.
  get media() { return this.#element?.media ?? this.#element; }

  // follow has f called with the media element whenever its position has changed.
  follow(f) { this.#followers.push(f); }

  seek(seconds) {
    if (this.media) this.media.currentTime = seconds;
  }

  // begin has it begin at a position, now or when there is a player.
  begin(seconds) {
    if (!(seconds > 0)) return;
    this.#start = seconds;
    this.#element?.goTo?.(seconds);
  }

  stop() {
    this.#chapters = "";
    this.#video = null;
    this.#element?.remove();
    this.#element = null;
  }

  // recover continues with new URLs when the old ones have expired.
  async #recover(message) {
    if (!this.#element || !this.#video) return;
    if (Date.now() - this.#refreshedAt < urlLifetime) {
      const reason = message ?? this.#element.error?.message;
      if (this.#element.localName === "video") setText(this.#status, `It could not be played: ${reason || "the browser does not say why"}.`);
      return; // the player itself says it
    }
    const at = this.#element.currentTime;
    await this.#refresh();
    this.#setSource();
    if (this.#element.reload) return this.#element.reload(true); // where it was
    this.#element.currentTime = at;
    this.#element.play().catch(() => {}); // the element fires an error event
  }
}
