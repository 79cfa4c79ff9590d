// The place of the player on the page of a video. While there is nothing to play, it says how far the video is, or why
// it failed and what to do next.

import { request } from "./api.js";
import { button, el, icon, setText } from "./dom.js";
import { isPlayed, isTall, percent, place, waits } from "./format.js";
import { canFetchAgain, isFetching } from "./importing.js";
import { may } from "./key.js";
import { isHopeless } from "./resolution.js";

// Stage shows the player or what is in its place.
export class Stage {
  #page;
  #title = el("h2");
  #words = el("p");
  #bar = el("progress", { max: 1, "aria-label": "Progress of the video" });
  #percent = el("span", { class: "fine" });
  #work = el("div", { class: "work" }, this.#bar, this.#percent);
  #actions = el("p", { class: "actions" });
  #offered = ""; // actions
  #box = el("div", { class: "situation", hidden: true }, icon("film"), this.#title, this.#words, this.#work, this.#actions);

  constructor(page) {
    this.#page = page;
    this.node = el("div", { class: "stage loading" }, page.player.node, this.#box);
  }

  // expect keeps as much room as show is going to need.
  expect(video) {
    this.node.classList.toggle("brief", !isPlayed(video) && video.status !== "processing");
    this.node.classList.toggle("tall", isTall(video));
  }

  show(video) {
    this.node.classList.remove("loading");
    this.#box.hidden = isPlayed(video);
    if (this.#box.hidden) return;
    const { title, words, progress, actions = [] } = situation(video);
    this.#box.classList.toggle("bad", video.status === "fail");
    this.#box.classList.toggle("soon", video.status === "processing"); // as large as the player
    setText(this.#title, title);
    setText(this.#words, words);
    this.#words.classList.toggle("failure", video.status === "fail");
    this.#work.hidden = progress === undefined;
    this.#bar.value = progress ?? 0;
    setText(this.#percent, percent(progress ?? 0));
    this.#offer(actions);
  }

  // offer shows actions by their names. Equal ones are kept: a button may have the focus.
  #offer(names) {
    if (names.join() === this.#offered) return;
    this.#offered = names.join();
    const page = this.#page;
    const all = {
      fetch: () => button("Fetch again", () => page.change(`${page.path}/import`, undefined, "The file is fetched again."), { id: "fetch-again", class: "main" }),
      retry: () => button("Try again", () => this.#retry(), { class: "main" }),
      upload: () => page.upload && button("Upload another file", page.upload),
    };
    this.#actions.replaceChildren(...names.map((name) => all[name]()).filter(Boolean));
  }

  // retry tries everything again that has failed.
  #retry() {
    const failed = Object.values(this.#page.video.resolutions).filter((r) => r.status === "fail" && !isHopeless(r.failure));
    return this.#page.act("It is tried again.", async () => {
      for (const { id } of failed) await request("POST", `video/resolution/${encodeURIComponent(id)}/retry`);
    });
  }
}

// situation says what there is instead of a film.
function situation(video) {
  const mayChange = may("write") && may("read");
  if (isFetching(video)) return { title: "Being fetched", words: "Spool fetches the file from its address. You may close this page.", progress: video.importProgress };
  if (video.status === "pending_upload") return { title: "No file has been uploaded for this video yet", words: "It is converted as soon as the file is here." };
  if (video.status === "processing") return waits(video) ? { title: "Waiting for its turn", words: place(video) || "It begins in a moment.", progress: 0 }
    : { title: "Being converted", words: "It can be watched soon. You may close this page.", progress: video.progress };
  const why = { title: "This video failed", words: video.failure?.message ?? "All its resolutions were deleted." };
  if (!video.failure) return { ...why, title: "Nothing to play" };
  if (canFetchAgain(video)) return { ...why, title: "The file was not fetched", actions: mayChange ? ["fetch", "upload"] : [] };
  return { ...why, actions: mayChange && !isHopeless(video.failure) ? ["retry", "upload"] : ["upload"] };
}
