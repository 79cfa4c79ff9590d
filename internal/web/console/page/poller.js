// Polling.

import { backOnline, pause } from "./api.js";

export const interval = 2000; // milliseconds
const maxInterval = 30000;

// Poller calls poll while the page is visible. poll returns the milliseconds until the next
// call, or 0 to end. After a failure it waits longer, at least for Retry-After, and reports
// the error.
export class Poller {
  #poll;
  #onError;
  #running = null;
  #failed = false;

  // onError is called with an error and the seconds until the next poll, or with
  // null after a success.
  constructor(poll, onError) {
    this.#poll = poll;
    this.#onError = onError;
  }

  // wake starts polling unless it is already running.
  wake(wait = interval) {
    if (this.#running) return;
    this.#running = new AbortController();
    this.#run(this.#running, wait);
  }

  // pollNow polls at once, unless it waits after a failure.
  pollNow() {
    if (this.#failed) return;
    this.stop();
    this.wake(1);
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
    this.#failed = false;
  }

  async #run(controller, wait) {
    const signal = controller.signal;
    try {
      while (wait > 0) {
        await (this.#failed ? backOnline(signal, wait) : pause(wait, signal));
        await visible(signal);
        try {
          wait = await this.#poll(signal);
          this.#failed = false;
          this.#onError(null);
        } catch (error) {
          if (signal.aborted || !error.transient) throw error;
          this.#failed = true;
          wait = Math.max(Math.min(Math.max(wait, interval) * 2, maxInterval), error.retryAfter * 1000);
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
