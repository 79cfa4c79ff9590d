// The elements of the player and what they say. Everything foreign enters as text.

import { liftCaptions } from "./lift.js";
import { css } from "./style.js";

// el makes an element.
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const skip = "10"; // seconds of the buttons, and of the keys that media-chrome knows

export class Layout {
  video = el("video", { slot: "media", playsinline: "", preload: "none", crossorigin: "anonymous" });
  again = el("button", { type: "button" }, "Try again");
  restart = el("button", { type: "button" }, "Start over");
  chapterButton = el("media-chrome-menu-button", { class: "chapter", invoketarget: "chapters", notooltip: "", hidden: "" });
  chapterMenu = el("media-chrome-menu", { id: "chapters", "aria-label": "Chapters", hidden: "" });
  soundMenu = el("media-chrome-menu", { slot: "submenu", hidden: "" }, el("div", { slot: "title" }, "Sound"));
  soundItem = el("media-settings-menu-item", { hidden: "" }, "Sound", this.soundMenu);
  #poster = el("media-poster-image", { slot: "poster" });
  #title = el("div", { class: "title", hidden: "" });
  #note = el("span", { class: "note", hidden: "" });
  #live = el("div", { class: "live", role: "status" }, this.#note);
  #resumed = el("div", { class: "resumed", hidden: "" }, el("span"), this.restart);
  #problemText = el("p");
  #problem = el("div", { class: "problem", role: "alert", hidden: "" }, this.#problemText, this.again);
  #timer = 0;

  constructor() {
    this.controller = el("media-controller", { role: "region", "aria-label": "Video player", autohide: "2.5", hotkeys: "noshift+/" },
      this.video, this.#poster,
      el("div", { slot: "centered-chrome", class: "centre", noautohide: "" },
        el("media-loading-indicator", { noautohide: "", loadingdelay: "400" }, icon("0 0 100 100", waitingShape)), el("media-play-button", { class: "big", notooltip: "" })),
      el("div", { slot: "top-chrome", class: "top" }, this.#title, this.#live, this.#resumed),
      settingsMenu(this.soundItem), this.chapterMenu,
      el("div", { class: "controls" }, timeLine(), controlBar(this.chapterButton)));
    // media-chrome keeps volume and language in a storage that some browsers refuse in frames of other sites.
    if (!hasStorage()) for (const name of ["novolumepref", "nomutedpref", "nosubtitleslangpref"]) this.controller.setAttribute(name, "");
    this.nodes = [this.controller, this.#problem];
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    this.sheets = [sheet];
    backButton(this.chapterMenu);
    liftCaptions(this.controller, this.video);
    this.#poster.image.alt = "";
    this.#poster.image.addEventListener("error", () => this.showPoster(null));
  }

  showPoster(url) {
    if (url) this.#poster.setAttribute("src", url);
    else this.#poster.removeAttribute("src");
  }

  // showHeading shows the title above the picture, as long as the controls are there.
  showHeading(on) { this.#title.hidden = !on; }

  // showVolume shows the control of the volume, unless there is nothing to hear.
  showVolume(on) { this.controller.classList.toggle("silent", !on); }

  // last is the control that others may come before.
  get last() { return this.controller.querySelector("media-pip-button"); }

  // expectLength shows how long the video is before any of it is loaded.
  expectLength(seconds) {
    if (seconds > 0) this.controller.setAttribute("defaultduration", seconds);
  }

  showTitle(title) {
    this.controller.setAttribute("aria-label", title ? `Video player: ${title}` : "Video player");
    this.#title.textContent = title ?? "";
    if (title && "mediaSession" in navigator) navigator.mediaSession.metadata = new MediaMetadata({ title });
  }

  showNote(text) {
    this.#note.hidden = false;
    if (this.#note.textContent !== text) this.#note.textContent = text;
  }

  hideNote() { this.#note.hidden = true; }

  showResumed(text, milliseconds) {
    this.#resumed.firstChild.textContent = text;
    this.#resumed.hidden = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hideResumed(), milliseconds);
  }

  hideResumed() { this.#resumed.hidden = true; }

  // showProblem offers to try again only where that may help.
  showProblem(text, mayHelp) {
    this.#problemText.textContent = text;
    this.again.hidden = !mayHelp;
    this.#problem.hidden = false;
  }

  hideProblem() { this.#problem.hidden = true; }
}

function hasStorage() {
  try {
    return window.localStorage !== null;
  } catch {
    return false;
  }
}

function timeLine() {
  return el("media-control-bar", { class: "line" },
    el("media-time-range", {}, ...["thumbnail", "chapter-display", "time-display"].map((name) => el(`media-preview-${name}`, { slot: "preview" }))));
}

function controlBar(chapterButton) {
  return el("media-control-bar", { class: "bar" },
    el("media-play-button"), el("media-seek-backward-button", { seekoffset: skip }), el("media-seek-forward-button", { seekoffset: skip }),
    el("media-mute-button"), el("media-volume-range"),
    timeDisplay(), chapterButton, el("span", { class: "gap" }),
    captionsButton(), el("media-settings-menu-button", {}, icon("0 0 24 24", gearShape)), ...airplay(),
    el("media-pip-button"), el("media-fullscreen-button"));
}

// timeDisplay shows whole seconds, and leaves out what is less. Browsers cut the sum of a stream's segments to
// microseconds: six seconds may be 5.999999, and are not five.
function timeDisplay() {
  const node = el("media-time-display", { showduration: "", notoggle: "" });
  for (const time of ["mediaDuration", "mediaCurrentTime"]) {
    const { get, set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(node), time);
    Object.defineProperty(node, time, { get: () => get.call(node) + 0.001, set });
  }
  return node;
}

// captionsButton is a switch for screen readers: media-chrome makes it a button each time it is
// connected, and a button cannot be checked.
function captionsButton() {
  const node = el("media-captions-button");
  const mend = () => { if (node.getAttribute("role") === "button") node.setAttribute("role", "switch"); };
  new MutationObserver(mend).observe(node, { attributes: true, attributeFilter: ["role"] });
  return node;
}

// airplay is for Safari only; others have nothing to cast to.
function airplay() {
  return "WebKitPlaybackTargetAvailabilityEvent" in window ? [el("media-airplay-button")] : [];
}

const gearShape = "M19.4 13a7.6 7.6 0 0 0 0-2l2-1.6a.5.5 0 0 0 .1-.6l-1.9-3.3a.5.5 0 0 0-.6-.2l-2.4 1a7.4 7.4 0 0 0-1.7-1l-.4-2.5a.5.5 0 0 0-.5-.4h-3.8a.5.5 0 0 0-.5.4l-.4 2.5a7.4 7.4 0 0 0-1.7 1l-2.4-1a.5.5 0 0 0-.6.2L2.7 8.8a.5.5 0 0 0 .1.6l2 1.6a7.6 7.6 0 0 0 0 2l-2 1.6a.5.5 0 0 0-.1.6l1.9 3.3a.5.5 0 0 0 .6.2l2.4-1a7.4 7.4 0 0 0 1.7 1l.4 2.5a.5.5 0 0 0 .5.4h3.8a.5.5 0 0 0 .5-.4l.4-2.5a7.4 7.4 0 0 0 1.7-1l2.4 1a.5.5 0 0 0 .6-.2l1.9-3.3a.5.5 0 0 0-.1-.6zM12.1 15.4a3.4 3.4 0 1 1 0-6.8 3.4 3.4 0 0 1 0 6.8z";

// waitingShape replaces the loading icon of media-chrome. That icon turns for ever, also while it is hidden, and
// the browser would draw the page 60 times a second.
const waitingShape = "M73 50a23 23 0 0 0-46 0h3.9a19.1 19.1 0 0 1 38.2 0z";

// button makes a control of our own.
export function button(label, shown, pressed) {
  const node = el("media-chrome-button", { "aria-label": label }, shown, el("span", { slot: "tooltip-content" }, label));
  node.handleClick = pressed; // for the keyboard, too
  return node;
}

export function icon(viewBox, shape) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ slot: "icon", viewBox, "aria-hidden": "true" })) svg.setAttribute(key, value);
  path.setAttribute("d", shape);
  svg.append(path);
  return svg;
}

// backButton mends the button of a menu that leads back: a menu must not contain a mere button.
function backButton(menu) {
  const button = menu.shadowRoot.querySelector("button[part~=back]");
  button.setAttribute("role", "menuitem");
  return button;
}

function settingsMenu(soundItem) {
  const back = (text) => el("div", { slot: "title" }, text);
  const menu = el("media-settings-menu", { hidden: "", anchor: "auto" },
    el("media-settings-menu-item", {}, "Quality", el("media-rendition-menu", { slot: "submenu", hidden: "" }, back("Quality"))),
    el("media-settings-menu-item", {}, "Speed", el("media-playback-rate-menu", { slot: "submenu", hidden: "", rates: "0.5 0.75 1 1.25 1.5 2" }, back("Speed"))),
    soundItem,
    el("media-settings-menu-item", {}, "Captions", el("media-captions-menu", { slot: "submenu", hidden: "" }, back("Captions"))));
  for (const one of [menu, ...menu.querySelectorAll("[slot=submenu]")]) {
    const button = backButton(one);
    button.setAttribute("aria-label", `${one.querySelector(":scope > [slot=title]")?.textContent ?? ""}: back to all settings`);
  }
  return menu;
}
