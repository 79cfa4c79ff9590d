// Polling.

import { pause } from "./api.js";

const interval = 2000; // milliseconds
const maxInterval = 30000;

// Poller calls poll every two seconds while poll returns true and the page is visible.
// After a failure it waits longer, at least for Retry-After, and reports the error.
export class Poller {
  #poll;
  #onError;
  #running = null;

  // onError is called with an error and the seconds until the next poll, or with
  // null after a success.
  constructor(poll, onError) {
    this.#poll = poll;
    this.#onError = onError;
  }

  // wake starts polling unless it is already running.
  wake() {
    if (this.#running) return;
    this.#running = new AbortController();
    this.#run(this.#running);
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
  }

  async #run(controller) {
    const signal = controller.signal;
    let wait = interval;
    try {
      for (let more = true; more;) {
        await pause(wait, signal);
        await visible(signal);
        try {
          more = await this.#poll(signal);
          wait = interval;
          this.#onError(null);
        } catch (error) {
          if (signal.aborted || !error.transient) throw error;
          wait = Math.max(Math.min(wait * 2, maxInterval), error.retryAfter * 1000);
          this.#onError(error, wait / 1000);
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#onError(error, 0);
    }
    if (this.#running === controller) this.#running = null;
  }
}

// visible waits until the page is visible.
function visible(signal) {
  return new Promise((resolve, reject) => {
    if (!document.hidden) return resolve();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
  });
}
