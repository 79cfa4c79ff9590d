// What is watched, as the server is told: see docs/audience.md. Nothing is kept in the browser.

const every = 20_000; // milliseconds between two reports
const shortestStall = 200; // milliseconds; shorter ones are not seen
const parts = 100; // of the film
const sides = { "144p": 144, "240p": 240, "360p": 360, "480p": 480, "720p": 720, "1080p": 1080, "1440p": 1440, "4k": 2160, "8k": 4320 };

// Plays tells of one playing of one video. It is made when that has begun, or has failed.
export class Plays {
  #media;
  #options;
  #session = randomText();
  #sequence = 0;
  #sentAt = 0; // milliseconds
  #since = 0; // milliseconds; from when on was watched what is not added yet; 0: nothing is playing
  #stalledAt = 0;
  #place = 0; // seconds in the film
  #seen = new Set(); // parts of the film
  #qualities = new Set();
  #total = 0; // seconds
  #completed = false;
  #next; // the next report
  #timer;
  #listeners = new AbortController();

  // options: url() is where reports go, length() is how long the film is, startup is how many seconds it took to begin.
  constructor(media, options) {
    this.#media = media;
    this.#options = options;
    this.#begin();
    if (options.startup > 0) this.#next.startupSeconds = rounded(Math.min(options.startup, 600));
    this.#listen();
    if (!media.paused && !media.seeking && media.readyState > 2) this.#resume();
    this.#timer = setInterval(() => this.#tick(), 1000);
  }

  // fail tells that it cannot be played.
  fail() {
    this.#next.failed = true;
    this.#send();
  }

  // end tells the rest.
  end() {
    clearInterval(this.#timer);
    this.#listeners.abort();
    this.#halt();
    this.#send();
  }

  #listen() {
    const on = (target, types, f) => types.forEach((type) => target.addEventListener(type, f, { signal: this.#listeners.signal }));
    on(this.#media, ["playing"], () => this.#resume());
    on(this.#media, ["pause", "seeking", "ended", "emptied", "error"], () => { this.#stalledAt = 0; this.#halt(); });
    on(this.#media, ["waiting"], () => this.#stall());
    on(this.#media, ["resize", "ratechange"], () => this.#add());
    on(this.#media, ["timeupdate"], () => this.#follow());
    on(window, ["pagehide"], () => this.#leave());
    on(document, ["visibilitychange"], () => { if (document.hidden) this.#leave(); });
  }

  // begin begins the next report. What is true once in a session is in one of them.
  #begin() { this.#next = { watched: new Map(), parts: [], stalls: 0, stalledSeconds: 0 }; }

  #resume() {
    if (this.#stalledAt) {
      const took = performance.now() - this.#stalledAt;
      this.#stalledAt = 0;
      if (took >= shortestStall) {
        this.#next.stalls++;
        this.#next.stalledSeconds += took / 1000;
      }
    }
    if (this.#since) return;
    this.#since = performance.now();
    this.#place = this.#media.currentTime;
  }

  #halt() {
    this.#add();
    this.#since = 0;
  }

  #stall() {
    if (!this.#since || this.#media.seeking) return;
    this.#halt();
    this.#stalledAt = performance.now();
  }

  // add adds what was watched since the last time to the quality that is shown.
  #add() {
    if (!this.#since) return;
    const now = performance.now(), seconds = (now - this.#since) / 1000;
    this.#since = now;
    this.#total += seconds;
    const quality = this.#quality(), { watched } = this.#next;
    watched.set(quality, (watched.get(quality) ?? 0) + seconds);
  }

  #quality() {
    const short = Math.min(this.#media.videoWidth, this.#media.videoHeight);
    if (!(short > 0)) return "";
    return Object.keys(sides).find((name) => sides[name] >= short) ?? "8k";
  }

  // follow notes the parts of the film that were played since the last time.
  #follow() {
    const length = this.#options.length(), at = this.#media.currentTime;
    if (!this.#since || !(length > 0) || !Number.isFinite(length)) return;
    const jumped = at < this.#place || at - this.#place > 2 * this.#media.playbackRate + 1;
    const partAt = (seconds) => Math.min(parts - 1, Math.floor(parts * seconds / length));
    for (let n = partAt(jumped ? at : this.#place); n <= partAt(at); n++) {
      if (this.#seen.has(n)) continue;
      this.#seen.add(n);
      this.#next.parts.push(n);
    }
    this.#place = at;
    if (at >= 0.95 * length && !this.#completed) this.#completed = this.#next.completed = true;
  }

  #tick() {
    this.#add();
    const first = this.#sequence === 0 && this.#total >= 1;
    if (first || performance.now() - this.#sentAt >= every) this.#send();
  }

  #leave() {
    this.#add();
    this.#send();
  }

  #send() {
    const { watched, ...rest } = this.#next;
    if (watched.size + rest.parts.length + rest.stalls === 0 && !rest.failed) return;
    const report = {
      session: this.#session, sequence: this.#sequence++, totalSeconds: rounded(this.#total),
      watched: [...watched].map(([quality, seconds]) => this.#told(quality, seconds)),
      ...rest, stalledSeconds: rounded(rest.stalledSeconds), referrer: referrer(new URL(this.#options.url()).origin),
    };
    this.#sentAt = performance.now();
    this.#begin();
    navigator.sendBeacon?.(this.#options.url(), JSON.stringify(report));
  }

  #told(quality, seconds) {
    const first = !this.#qualities.has(quality);
    this.#qualities.add(quality);
    return { quality: quality || undefined, seconds: rounded(seconds), first: first || undefined };
  }
}

// referrer is the host of the page that led here or, in a frame, that shows it.
// or, for a player in a page of another site than the server's, that page itself.
function referrer(server) {
  if (server !== location.origin) return location.hostname || undefined;
  try {
    const { hostname, host } = new URL(document.referrer);
    return host === location.host ? undefined : hostname || undefined;
  } catch {
    return undefined;
  }
}

// rounded keeps milliseconds.
function rounded(seconds) { return Math.round(seconds * 1000) / 1000; }

function randomText() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join("");
}
