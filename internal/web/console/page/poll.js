// Looking again at what changes by itself.

import { pause } from "./api.js";

const rhythm = 2000; // milliseconds
const slowest = 30000;

// Poller calls look every two seconds, for as long as look says that there is
// something to wait for, and only while somebody can see the page. When look
// fails it waits longer, at least as long as the server asked for, and tells.
export class Poller {
  #look;
  #tell;
  #running = null;

  // tell is called with an error and the seconds until the next look, or with
  // null when all is well again.
  constructor(look, tell) {
    this.#look = look;
    this.#tell = tell;
  }

  // wake begins to look, unless it does already.
  wake() {
    if (this.#running) return;
    this.#running = new AbortController();
    this.#run(this.#running);
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
  }

  async #run(turn) {
    const signal = turn.signal;
    let wait = rhythm;
    try {
      for (let more = true; more;) {
        await pause(wait, signal);
        await visible(signal);
        try {
          more = await this.#look(signal);
          wait = rhythm;
          this.#tell(null);
        } catch (error) {
          if (signal.aborted || !error.passing) throw error;
          wait = Math.max(Math.min(wait * 2, slowest), error.retryAfter * 1000);
          this.#tell(error, wait / 1000);
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#tell(error, 0);
    }
    if (this.#running === turn) this.#running = null;
  }
}

// visible waits until the page can be seen.
function visible(signal) {
  return new Promise((resolve, reject) => {
    if (!document.hidden) return resolve();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
  });
}
