// The page of one video: its title, the player, and the tabs below it (panels.js).

import { request } from "./api.js";
import { badge } from "./card.js";
import { announce, button, confirmAction, copyButton, el, icon, problemBox, setText } from "./dom.js";
import { Follower } from "./follow.js";
import { ago, dateTime, duration, place, statuses, statusOf, titleOf } from "./format.js";
import { isFetching } from "./importing.js";
import { tabsOf } from "./panels.js";
import { Player } from "./player.js";
import { Stage } from "./stage.js";
import { Tabs } from "./tabs.js";
import { Title } from "./title.js";

const urlLife = 3600; // seconds that addresses of private videos are valid

// parts says what the statuses of a video are: addresses and report are loaded again when one has changed.
const parts = (video) => [video.status, video.isPublic, video.replacement?.status, ...Object.entries(video.resolutions).map(([name, r]) => [name, r.status, ...(r.variants ?? []).map((v) => v.status)].join(" "))].join();

const isAddress = (name) => /urls?$/i.test(name);
const together = ["captions", "chapters"]; // what a state without addresses leaves out, too

// withAddresses returns a state with the addresses of an earlier read of the same video.
function withAddresses(state, read) {
  if (Array.isArray(state)) return state.map((one, i) => withAddresses(one, read?.[i]));
  if (state === null || typeof state !== "object" || !read) return state;
  const kept = Object.entries(read).filter(([name]) => isAddress(name) || together.includes(name));
  const inside = Object.entries(state).map(([name, value]) => [name, name === "customMetadata" ? value : withAddresses(value, read[name])]);
  return Object.fromEntries([...kept, ...inside]);
}

// VideoPage shows one video and follows it. Its panels use what is public here. deleted is called after the user has
// deleted the video; upload, unless it is null, lets the user choose a file for another video; replaceFile sends one for this.
export class VideoPage {
  id;
  path; // of the video in the API
  video = null; // the last state, with addresses
  gone = false; // deleted on this page
  player = new Player(() => this.load());
  upload;
  replaceFile;

  #deleted;
  #follower;
  #report = null;
  #loadedAt = 0; // when the addresses were loaded, in milliseconds
  #title = new Title((title) => this.edit({ title }));
  #badge = el("span", { class: "badge" });
  #access = el("span", { class: "badge" });
  #meta = el("span");
  #notes = el("div");
  #problem = el("div");
  #head;
  #stage;
  #tabs;
  #body;

  // back is the address of the list that the user came from, and known what it shows of the video, if it does.
  constructor(id, { tab, start, known, showOutdated, deleted, back, upload, replaceFile }) {
    this.id = id;
    this.path = `video/${encodeURIComponent(id)}`;
    this.upload = upload;
    this.replaceFile = replaceFile;
    this.#deleted = deleted;
    this.player.begin(start);
    this.#follower = new Follower(this, showOutdated);
    this.#stage = new Stage(this);
    this.#tabs = new Tabs("About this video", `#/${this.path}`, tabsOf(this));
    this.#tabs.select(tab);
    this.#head = el("p", { class: "meta identity" }, this.#badge, this.#access, this.#meta, el("span", { class: "id" }, el("code", {}, id), copyButton("ID of the video", () => id, "Copy ID")));
    this.#body = el("div", { class: "stack" }, this.#stage.node, this.#notes, this.#tabs.node);
    this.node = el("article", { class: "stack watching" },
      el("p", { class: "back" }, el("a", { href: back }, "← All videos")),
      el("div", { class: "title" }, this.#title.node, this.#head), this.#problem, this.#body);
    if (known) this.#expect(known);
  }

  // select shows another tab, and another position if there is one.
  select(tab, start) {
    this.#tabs.select(tab);
    this.player.begin(start);
  }

  async start() {
    this.#problem.replaceChildren();
    try {
      await this.load();
      this.#body.hidden = this.#head.hidden = false;
      this.#follower.follow();
    } catch (error) {
      this.#body.hidden = this.#head.hidden = true;
      if (error.status === 404) this.#title.show("There is no such video", false);
      if (error.status !== 401) this.#problem.replaceChildren(problemBox(error, ![403, 404].includes(error.status) && button("Try again", () => this.start())));
    }
    this.#title.focus();
  }

  // follow shows what has become of the video elsewhere, and goes on to follow it.
  async follow() {
    if (!this.video) return;
    await this.load().catch(() => {}); // what is shown stays
    this.#follower.follow();
  }

  stop() {
    this.#follower.stop();
    this.player.stop();
  }

  // load loads the video with its addresses and shows it.
  async load() {
    const before = this.video;
    this.#loadedAt = Date.now();
    // What is in the file decides which tabs there are: at first, they wait for it.
    const [video] = await Promise.all([request("GET", `${this.path}?expiresIn=${urlLife}`), before === null && this.loadReport().catch(() => {})]);
    this.video = video;
    if (before && before.status !== video.status) announce(`${titleOf(video)} is ${statuses[video.status]}.`);
    if (before && parts(before) !== parts(video)) this.loadReport().catch(() => {}); // the old one is shown until the next change
    if (before?.replacement && !video.replacement) this.player.stop(); // its file may be another one
    this.player.show(video);
    this.#show();
    return video;
  }

  // loadReport loads the report and shows it.
  async loadReport() {
    this.#report = await request("GET", `${this.path}/report`);
    if (this.video) this.#tabs.show(this.video, this.#report);
  }

  // refresh loads addresses anew that expire soon.
  async refresh() {
    if (this.video && this.#isOld()) await this.load();
  }

  #isOld() {
    return Date.now() - this.#loadedAt > urlLife * 500; // half their life
  }

  // apply shows the state of an event. It has no addresses: those that were loaded last are kept, unless a status has
  // changed or they are about to expire.
  async apply(state) {
    const known = this.video.resolutions;
    if (this.#isOld() || parts(state) !== parts(this.video)) return this.load();
    const { playable } = this.video;
    this.video = withAddresses(state, this.video);
    if (state.playable && !playable) this.player.show(this.video);
    this.#show();
  }

  // showDeleted says that somebody else has deleted the video.
  showDeleted() {
    if (this.gone) return;
    this.stop();
    this.#body.hidden = this.#head.hidden = true;
    this.#title.show(titleOf(this.video), false);
    this.#problem.replaceChildren(problemBox(new Error("This video has been deleted.")));
  }

  // expect shows what the list knows, so that little moves when the rest is there.
  #expect(video) {
    this.#title.show(titleOf(video), false);
    this.#showHead(video);
    this.#stage.expect(video);
  }

  #show() {
    const { video } = this;
    document.title = `${titleOf(video)} – Spool`;
    this.#title.show(titleOf(video));
    this.#showHead(video);
    this.#notes.replaceChildren(...(video.warnings ?? []).map((w) => el("p", { class: "failure warning" }, w.message)));
    this.#stage.show(video);
    this.#tabs.show(video, this.#report);
  }

  #showHead(video) {
    badge(this.#badge, video.status, isFetching(video) ? "being fetched" : [statusOf(video), place(video)].filter(Boolean).join(" "));
    this.#access.replaceChildren(icon(video.isPublic ? "globe" : "lock"), video.isPublic ? "public" : "private");
    setText(this.#meta, [duration(video.durationSeconds), `created ${ago(video.createdAt)}`].filter(Boolean).join(" · "));
    this.#meta.title = dateTime(video.createdAt);
  }

  // edit changes what the user says about the video.
  async edit(change) {
    await request("PATCH", this.path, { body: change });
    announce("Saved.");
    await this.load();
  }

  // change posts a change of the video, as act does.
  change(path, body, words) {
    return this.act(words, () => request("POST", path, { body }));
  }

  // act changes the video, says words and follows the progress.
  act(words, action) {
    return this.attempt(async () => {
      await action();
      announce(words);
      await this.load();
      this.#follower.follow();
    });
  }

  async remove() {
    const explanation = "All its resolutions, its thumbnails and the uploaded file are deleted. This cannot be undone.";
    if (!await confirmAction(`Delete “${titleOf(this.video)}”?`, explanation, "Delete")) return;
    await this.attempt(async () => {
      await request("DELETE", this.path);
      announce(`${titleOf(this.video)} is deleted.`);
      this.gone = true;
      this.#deleted();
    });
  }

  // attempt does something, and shows why it failed.
  async attempt(action) {
    this.#problem.replaceChildren();
    try {
      await action();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
      this.#problem.scrollIntoView({ block: "center" });
    }
  }
}
