// Reading: what a player shows that knows a video by its id, or by the address of a read.

const pause = 2500, longest = 10_000; // milliseconds between two questions while there is something to wait for
const patience = 5000; // milliseconds between two reads because addresses have expired
const maxFallback = 720; // the short side of the file for browsers without adaptive streaming

// names are the attributes that say what to read.
export const names = ["src", "video", "token", "server"];

// addressOf returns the address of the read that an element names by its attributes, or null.
export function addressOf(element) {
  const [src, video, token, server] = names.map((name) => element.getAttribute(name));
  if (src) return new URL(src, document.baseURI).href;
  if (!video) return null;
  const base = new URL(server ?? "/", document.baseURI).href.replace(/\/?$/, "/");
  return new URL(`embed/${token ? encodeURIComponent(token) + "/" : ""}${encodeURIComponent(video)}.json`, base).href;
}

export class Reading {
  url;
  #show;
  #refuse;
  #stop = new AbortController();
  #readAt = -Infinity;

  // show gets a read, and refuse a sentence that says why it cannot.
  constructor(url, { show, refuse }) {
    this.url = url;
    this.#show = show;
    this.#refuse = refuse;
    this.#follow();
  }

  close() { this.#stop.abort(); }

  // again reads once more, because the addresses have expired. It reports false where that was tried just now.
  again() {
    if (performance.now() - this.#readAt < patience) return false;
    this.#ask();
    return true;
  }

  // follow reads until the video is finished.
  async #follow() {
    for (let wait = pause; !this.#stop.signal.aborted; wait = Math.min(wait * 1.1, longest)) {
      if (await this.#ask()) return;
      await new Promise((done) => setTimeout(done, wait));
      if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
    }
  }

  // ask resolves to true if nothing will change any more.
  async #ask() {
    const { signal } = this.#stop;
    let response, body;
    try {
      response = await fetch(this.url, { signal, cache: "no-cache" }); // a publisher may have changed it just now
      body = await response.json();
    } catch {
      if (!signal.aborted && response) this.#refuse("What the server answered is no video.");
      return Boolean(response); // without an answer, the connection will be back
    }
    if (signal.aborted) return true;
    this.#readAt = performance.now();
    if (!response.ok) {
      if (response.status === 429 || response.status >= 500) return false;
      this.#refuse(refusals[body.code] ?? body.detail ?? "This video cannot be played here.");
      return true;
    }
    this.#show(body);
    return ["ready", "fail"].includes(body.status);
  }
}

const refusals = {
  video_not_found: "There is no such video. It was deleted, it is private, or the page has a mistake.",
  url_expired: "The link to this video has expired. Reload the page for a new one.",
  url_invalid: "The link to this video does not work.",
};

// attributesOf returns the attributes of a player for a read; null for one that it must not have.
export function attributesOf(read) {
  const finished = ["ready", "fail"].includes(read.status), captions = read.captions ?? [];
  return {
    "video-id": read.id,
    "video-title": read.title ?? null,
    duration: read.durationSeconds ?? null,
    silent: read.durationSeconds > 0 && read.audioTracks?.length === 0 ? "" : null,
    plays: read.playsUrl ?? null,
    mp4: fileOf(read),
    poster: finished ? read.posterUrl ?? null : null, // before, it may not be there yet
    storyboard: finished ? read.storyboardUrl ?? null : null,
    chapters: read.chaptersUrl ?? null,
    "caption-files": captions.map(({ url }) => url).join(" ") || null,
    ready: String(Object.values(read.resolutions ?? {}).filter(({ status }) => status === "ready").length),
    making: read.playable && read.status === "processing" ? "" : null,
    hls: read.playable ? read.hlsUrl : null, // the last one: it begins to load
  };
}

// whyNotPlayable is what stands in the place of a video that cannot be played now.
export function whyNotPlayable({ status, failure, progress }) {
  if (status === "pending_upload") return "This video has not been uploaded yet. It starts here as soon as it can be played.";
  if (status === "processing") return `This video is being prepared: ${Math.floor((progress ?? 0) * 100)} %. It starts here as soon as it can be played.`;
  return status === "fail" ? `This video cannot be played. ${failure?.message ?? ""}` : "There is nothing to play: all of this video's versions were deleted.";
}

// fileOf returns the address of the best MP4 file that is not too large, or of the smallest.
function fileOf({ resolutions = {} }) {
  const short = ({ width, height }) => Math.min(width, height);
  const all = Object.values(resolutions).filter(({ status, width }) => status === "ready" && width > 0).sort((a, b) => short(a) - short(b));
  return (all.findLast((one) => short(one) <= maxFallback) ?? all[0])?.videoUrl ?? null;
}
