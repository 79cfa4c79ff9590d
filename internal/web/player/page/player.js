// The element <spool-player>. The package comment in player.go describes its attributes.

import "./media-chrome.js";
import { Chapters } from "./chapters.js";
import { KeyList } from "./keys.js";
import { Layout } from "./layout.js";
import { Memory } from "./memory.js";
import { Sounds } from "./sound.js";
import { Reading, addressOf, attributesOf, names, whyNotPlayable } from "./read.js";
import { Source } from "./source.js";
import { addStoryboard } from "./storyboard.js";
import { clock } from "./clock.js";

export { readCues } from "./vtt.js";
export { SpoolTranscript } from "./transcript.js";

const noteTime = 6000; // milliseconds that the note about resuming is shown

export class SpoolPlayer extends HTMLElement {
  static observedAttributes = ["hls", "mp4", "poster", "storyboard", "chapters", "video-title", "making", "ready", "caption-files", "duration", "loop", "page-keys", "nocontrols", "silent", "show-title", ...names];

  #layout = new Layout();
  #keys = new KeyList();
  #chapters = new Chapters(this.#layout);
  #sounds = new Sounds(this.#layout);
  #source = null;
  #memory = null;
  #wanted = false; // somebody pressed play before anything was loaded
  #live = false; // the stream that is played still grows
  #resumedAt = 0; // seconds; 0: from the beginning
  #id = null; // of the video that is open
  #at = 0; // seconds; where a reload goes on
  #wishedAt = 0; // milliseconds; when somebody wanted to play what does not play yet
  #plays = null; // tells the server what is watched: a promise
  #reading = null; // of the video that src or video names
  #expired = ""; // what is said if another read does not help
  #stopStoryboard = () => {};
  #pageKeys = (event) => this.#pressedInPage(event);

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    root.adoptedStyleSheets = this.#layout.sheets;
    this.#listen(this.media);
    this.#layout.controller.addEventListener("keydown", (event) => this.#pressed(event));
    this.#layout.again.addEventListener("click", () => this.reload(true));
    this.#layout.restart.addEventListener("click", () => this.#startOver());
    this.addEventListener("click", () => this.#takeFocus());
    this.addEventListener("pointerenter", () => this.#warmUp());
  }

  get media() { return this.#layout.video; }

  connectedCallback() {
    if (!this.shadowRoot.hasChildNodes()) this.shadowRoot.append(...this.#layout.nodes, this.#keys.node); // they take their settings when they are connected
    if (!this.hasAttribute("tabindex")) this.#layout.controller.tabIndex = 0;
    this.media.muted = this.hasAttribute("muted");
    this.media.loop = this.hasAttribute("loop");
    document.addEventListener("keydown", this.#pageKeys);
    this.#read();
    this.#open();
    if (this.hasAttribute("chromecast")) this.#offerCast();
  }

  disconnectedCallback() {
    document.removeEventListener("keydown", this.#pageKeys);
    this.#reading?.close();
    this.#reading = null;
    this.#close();
    this.#endPlays();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    if (name === "poster") this.#layout.showPoster(now);
    if (name === "video-title") this.#layout.showTitle(now);
    if (name === "duration") this.#layout.expectLength(now);
    if (name === "loop") this.media.loop = now !== null;
    if (name === "nocontrols") this.#layout.controller.classList.toggle("bare", now !== null);
    if (name === "silent") this.#layout.showVolume(now === null);
    if (name === "show-title") this.#layout.showHeading(now !== null);
    if (!this.#source) return; // not connected yet
    if (names.includes(name)) queueMicrotask(() => this.#read()); // others may change as well
    if (name === "storyboard") this.#loadStoryboard();
    if (name === "chapters") this.#chapters.load(now);
    if (name === "making" || name === "duration") this.#showMaking();
    if (name === "ready" || name === "caption-files" || (name === "making" && now === null)) this.#source.refresh();
    if (name === "hls" && this.#source.renew(now)) return; // the same stream, with another signature
    if (name === "hls" || (name === "mp4" && !this.hasAttribute("hls") && !this.#reading)) this.reload();
  }

  // read takes all that is shown from the video that src or video names, and follows it until it is finished.
  #read() {
    const url = this.isConnected ? addressOf(this) : null;
    if (url === (this.#reading?.url ?? null)) return;
    if (this.#reading) this.removeAttribute("hls"); // of another video
    this.#reading?.close();
    this.#reading = url && new Reading(url, {
      show: (read) => this.#show(read),
      refuse: (message) => { if (this.#expired || !this.hasAttribute("hls")) this.#fail(message, false); },
    });
  }

  #show(read) {
    const before = this.getAttribute("hls"), expired = this.#expired;
    this.#expired = "";
    for (const [name, value] of Object.entries(attributesOf(read))) {
      if (value === null) this.removeAttribute(name);
      else if (this.getAttribute(name) !== String(value)) this.setAttribute(name, value);
    }
    if (!read.playable) this.#layout.showProblem(whyNotPlayable(read), false);
    else if (expired && this.getAttribute("hls") === before) this.#fail(expired, false);
  }

  async #offerCast() {
    const { addCast } = await import("./cast.js");
    await addCast(this.#layout.last, this.media, this.getAttribute("chromecast"), () => ({
      url: this.getAttribute("hls"), title: this.getAttribute("video-title"), poster: this.getAttribute("poster"),
    }));
  }

  // reload begins anew, at the same position if it is the same video.
  reload(play = this.#wanted || !this.media.paused) {
    this.#at = this.#id === this.getAttribute("video-id") ? this.media.currentTime : 0;
    this.#close();
    this.#wanted = play;
    this.#open();
    if (play) this.#play();
  }

  // goTo plays from a position on, also before anything was loaded.
  goTo(seconds) {
    if (this.media.readyState > 0) {
      this.media.currentTime = seconds;
      return this.#play();
    }
    this.setAttribute("start", seconds);
    this.reload(true);
  }

  #open() {
    this.#layout.hideProblem();
    if (this.#id !== this.getAttribute("video-id")) this.#endPlays();
    this.#id = this.getAttribute("video-id");
    this.#memory = new Memory(this.#id);
    this.#source = new Source(this.media, {
      expected: () => this.#reading !== null && !this.hasAttribute("hls"),
      hls: this.getAttribute("hls"),
      mp4: () => this.getAttribute("mp4"),
      start: this.#startAt(),
      captions: this.getAttribute("captions"),
      sounds: this.#sounds,
      onProblem: (message, mayHelp, expired) => this.#fail(message, mayHelp, expired),
      onSound: (has) => this.#layout.showVolume(has), // the stream knows better than the page
      onLive: (live) => { this.#live = live; this.#showMaking(); },
    });
    this.#loadStoryboard();
    this.#chapters.load(this.getAttribute("chapters"));
    this.#showMaking();
    if (this.hasAttribute("autoplay")) this.#play();
    else if (this.hasAttribute("eager")) this.#source.load(false);
  }

  #close() {
    this.#remember();
    this.#stopStoryboard();
    this.#source?.close();
    this.#source = null;
    this.#live = false;
  }

  // startAt is where it begins: where the page says, else where one left.
  #startAt() {
    if (this.#at > 0) return this.#at;
    const start = Number.parseFloat(this.getAttribute("start") ?? "");
    if (start >= 0) return start;
    this.#resumedAt = this.#memory.position();
    return this.#resumedAt;
  }

  // takeFocus lets keys work after a click on the picture, or on the large button, which goes away.
  #takeFocus() {
    const focused = this.shadowRoot.activeElement;
    if (!focused || focused.classList.contains("big")) this.#layout.controller.focus({ preventScroll: true });
  }

  // warmUp loads what is needed to begin, when somebody is about to press play.
  #warmUp() {
    if (this.#source && this.media.paused) this.#source.load(false);
  }

  async #play() {
    this.#wanted = true;
    this.#wishedAt ||= performance.now();
    this.#source.load(true);
    try {
      await this.media.play();
    } catch (error) {
      if (error.name !== "NotAllowedError" || this.media.muted) return; // AbortError: something else was asked for meanwhile
      this.media.muted = true; // browsers play without a click only what makes no sound
      this.media.play().catch(() => {});
    }
  }

  #listen(media) {
    media.addEventListener("play", () => { this.#wanted = true; this.#wishedAt ||= performance.now(); this.#source?.load(true); if (this.shadowRoot.activeElement) this.#takeFocus(); });
    media.addEventListener("pause", () => { this.#wanted = false; this.#remember(); });
    media.addEventListener("loadedmetadata", () => { if (this.#wanted) media.play().catch(() => {}); });
    media.addEventListener("playing", () => this.#began());
    media.addEventListener("timeupdate", () => this.#passed());
    media.addEventListener("seeking", () => this.#showMaking());
    media.addEventListener("waiting", () => this.#showMaking());
    media.addEventListener("durationchange", () => this.#showMaking());
    media.addEventListener("ended", () => this.#memory?.forget());
    addEventListener("pagehide", () => this.#remember());
  }

  #began() {
    this.#layout.hideProblem();
    this.#tell();
    this.#showMaking();
    if (this.#resumedAt > 0) {
      this.#layout.showResumed(`Resumed at ${clock(this.#resumedAt)}`, noteTime);
      this.#resumedAt = 0;
    }
  }

  // tell begins to tell the server what is watched, after the first picture, which does not wait for it.
  #tell() {
    const plays = this.getAttribute("plays");
    if (!plays || this.#plays) return this.#plays;
    const startup = this.#wishedAt && !this.media.paused ? (performance.now() - this.#wishedAt) / 1000 : 0;
    this.#plays = import("./plays.js").then(({ Plays }) => new Plays(this.media, {
      startup, length: () => this.#length(), url: () => withToken(this.getAttribute("plays") ?? plays, this.getAttribute("hls")),
    })).catch(() => null); // then nothing is told
    return this.#plays;
  }

  #endPlays() {
    this.#plays?.then((plays) => plays?.end());
    this.#plays = null;
    this.#wishedAt = 0;
  }

  #passed() {
    this.#memory?.passed(this.media.currentTime, this.#length());
  }

  #remember() {
    if (this.media.currentTime > 0 && !this.media.ended) this.#memory?.keep(this.media.currentTime, this.#length());
  }

  #length() {
    const whole = Number.parseFloat(this.getAttribute("duration") ?? "");
    return this.#live && whole > 0 ? whole : this.media.duration;
  }

  #startOver() {
    this.#layout.hideResumed();
    this.media.currentTime = 0;
    this.#play();
  }

  // showMaking says that there will be more than there is.
  #showMaking() {
    const media = this.media;
    const making = this.#live || (this.hasAttribute("making") && !this.#source?.complete);
    if (!making) return this.#layout.hideNote();
    const whole = Number.parseFloat(this.getAttribute("duration") ?? ""), there = media.duration;
    const atEnd = there > 0 && Number.isFinite(there) && there - media.currentTime < 1 && media.readyState < 3;
    if (atEnd) return this.#layout.showNote("Waiting for the next part: this video is still being made");
    const amount = there > 0 && whole > there + 1 ? ` · ${clock(there)} of ${clock(whole)} so far` : "";
    this.#layout.showNote("Still being made" + amount);
  }

  #fail(message, mayHelp, expired = false) {
    this.#expired = expired && this.#reading?.again() ? message : "";
    if (this.#expired) return; // other addresses come, and it goes on where it is
    this.#wanted = false;
    this.#layout.showProblem(message, mayHelp);
    this.#tell()?.then((plays) => plays?.fail());
    this.dispatchEvent(new CustomEvent("spool-error", { bubbles: true, composed: true, detail: { message } }));
  }

  #loadStoryboard() {
    this.#stopStoryboard();
    this.#stopStoryboard = addStoryboard(this.media, this.getAttribute("storyboard"));
  }

  // step shows the next frame, or with -1 the one before, of a video that is paused. The middle of a frame is its
  // own, however its time is rounded.
  #step(by) {
    const rate = this.#source?.frameRate ?? 0, { media } = this;
    if (!rate || !media.paused || media.readyState === 0) return;
    media.currentTime = Math.max(0, (Math.floor(media.currentTime * rate + 0.001) + by + 0.5) / rate);
  }

  // pressed knows the keys that media-chrome does not: those for chapters and frames, and digits, which go to a tenth of the video.
  #pressed(event) {
    if (event.key === "?") return this.#keys.open();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const frame = { ".": 1, ",": -1 }[event.key];
    if (frame) return this.#step(frame);
    const by = { n: 1, b: -1 }[event.key];
    if (by && this.#chapters.step(by)) return event.preventDefault();
    if (!/^[0-9]$/.test(event.key)) return;
    const { duration } = this.media;
    if (!(duration > 0) || !Number.isFinite(duration)) return;
    this.media.currentTime = duration * Number(event.key) / 10;
    event.preventDefault();
  }

  // pressedInPage lets keys work although the focus is on nothing in particular.
  #pressedInPage(event) {
    if (!this.hasAttribute("page-keys") || event.defaultPrevented || event.target !== document.body) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = new KeyboardEvent("keydown", { key: event.key, code: event.code, shiftKey: event.shiftKey, bubbles: true });
    if (!/^([0-9kmfcpjlnb<>?,.]| |Arrow(Left|Right|Up|Down))$/.test(event.key)) return;
    event.preventDefault(); // space would scroll
    this.#layout.controller.dispatchEvent(key);
    this.#layout.controller.dispatchEvent(new KeyboardEvent("keyup", { key: event.key, code: event.code, shiftKey: event.shiftKey, bubbles: true }));
  }
}

// withToken adds to the address for reports what proves that one may watch: the signed part of the address of the stream.
function withToken(address, hls) {
  const url = new URL(address, document.baseURI), token = /\/v\/([^/]+)\/[0-9a-f-]{36}\//.exec(hls ?? "")?.[1];
  if (token) url.searchParams.set("token", token);
  return url;
}

if (!customElements.get("spool-player")) customElements.define("spool-player", SpoolPlayer);
