// How the page of a video stays up to date.

import { request } from "./api.js";
import { events } from "./events.js";
import { isFetching } from "./importing.js";
import { Poller, interval } from "./poller.js";

const variantInterval = 5000; // milliseconds between polls while other codecs are being made

const open = ["pending_upload", "processing"];

// isPending reports whether the video, or the file that will replace its own, is still being made.
const isPending = ({ status, replacement }) => open.includes(status) || Boolean(replacement) && replacement.status !== "fail";

// awaitsVariants reports whether a ready resolution is still being made in another codec. No event tells of that.
const awaitsVariants = (video) => Object.values(video.resolutions).some((r) => r.status === "ready" && r.variants?.some((v) => v.status === "processing"));

// Follower follows the event stream of a video, and polls when the stream breaks. After the first successful poll it
// subscribes again, unless no event ever arrived: then a proxy buffers streams, and polling continues.
export class Follower {
  #page;
  #poller; // used while there is no event stream
  #stream = null; // AbortController of the event stream
  #streamsWork = true; // whether event streams reach this page

  // page has the path of the video, its last state as video, load(), apply(state) and showDeleted().
  constructor(page, showOutdated) {
    this.#page = page;
    this.#poller = new Poller(() => this.#poll(), showOutdated);
  }

  // follow begins, or goes on after the video was changed.
  follow() {
    this.stop();
    if (!isPending(this.#page.video)) this.#followVariants();
    else if (this.#streamsWork && !document.hidden) this.#subscribe();
    else this.#poller.wake(); // if the page is hidden, it waits until it is visible
  }

  stop() {
    this.#stream?.abort();
    this.#poller.stop();
  }

  #followVariants() {
    if (awaitsVariants(this.#page.video)) this.#poller.wake(variantInterval);
  }

  // subscribe shows the events of the stream. When the stream breaks, the poller finds out why and subscribes again.
  async #subscribe() {
    const controller = this.#stream = new AbortController();
    let received = false;
    try {
      for await (const { event, data } of events(`${this.#page.path}/events`, controller.signal)) {
        received = true;
        if (event === "deleted") return this.#page.showDeleted();
        await this.#page.apply(JSON.parse(data));
      }
    } catch {
      this.#streamsWork = received || document.hidden; // nothing is lost: the next poll sees everything
    }
    if (controller.signal.aborted) return;
    if (isPending(this.#page.video)) this.#poller.wake();
    else this.#followVariants();
  }

  async #poll() {
    try {
      return await this.#look();
    } catch (error) {
      if (error.status !== 404) throw error;
      this.#page.showDeleted(); // it was there when the page was opened
      return 0;
    }
  }

  // look loads the video once more and returns after how many milliseconds to do so again; 0 is never.
  async #look() {
    if (isPending(this.#page.video)) await this.#page.load();
    else await this.#page.apply(await request("GET", this.#page.path));
    const { video } = this.#page;
    if (!isPending(video)) return awaitsVariants(video) ? variantInterval : 0;
    if (!this.#streamsWork) return video.status === "processing" || isFetching(video) ? interval : 0;
    this.#subscribe();
    return 0;
  }
}
