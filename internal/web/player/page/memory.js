// Where one left a video, kept in this browser for the last hundred of them.

const storageKey = "spool:positions";
const most = 100;
const pause = 5; // seconds between two writes
const shortest = 2; // seconds after which it is worth remembering

export class Memory {
  #id;
  #written = 0;

  constructor(id) { this.#id = id; }

  position() {
    return this.#id ? Number(read()[this.#id]) || 0 : 0;
  }

  passed(at, duration) {
    if (Math.abs(at - this.#written) >= pause) this.keep(at, duration);
  }

  keep(at, duration) {
    if (!this.#id || !Number.isFinite(duration)) return;
    if (at < shortest || at > duration * 0.95) return this.forget();
    this.#written = at;
    const all = read();
    delete all[this.#id]; // the latest comes last
    all[this.#id] = Math.round(at * 10) / 10;
    write(Object.fromEntries(Object.entries(all).slice(-most)));
  }

  forget() {
    if (!this.#id) return;
    const all = read();
    delete all[this.#id];
    write(all);
  }
}

// A browser that forbids storage, as some do in frames of other sites, plays from the beginning.
function read() {
  try {
    const all = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
    return all && typeof all === "object" ? all : {};
  } catch {
    return {};
  }
}

function write(all) {
  try {
    localStorage.setItem(storageKey, JSON.stringify(all));
  } catch { /* see read */ }
}
