import { networkError, SpoolError, VideoFailedError } from "./errors.js";
import { events } from "./events.js";
import { type Http, segment } from "./http.js";
import { delay, pause } from "./retry.js";
import type { VideoState } from "./types.js";

export interface WaitOptions {
  signal?: AbortSignal;
  /** Called with each new state. */
  onUpdate?: (video: VideoState) => void;
  /** Time between two reads where events do not get through. Default: 3000. */
  pollMilliseconds?: number;
}

/** stallMilliseconds is longer than the server's heartbeat. A proxy that collects events shows nothing for so long. */
const stallMilliseconds = 35_000;

/** waitUntilReady follows events. Where those do not get through, it asks again and again. */
export async function waitUntilReady(http: Http, id: string, options: WaitOptions): Promise<VideoState> {
  const watch = new Watch(http, id, options);
  for (let failures = 0; ;) {
    try {
      const settled = await (watch.streams ? watch.follow() : watch.poll());
      failures = 0;
      if (settled) return settled;
      if (watch.streams) await pause(500, options.signal); // a stream may end at any time
    } catch (error) {
      if (!(error instanceof SpoolError) || !error.transient || ++failures > 20) throw error;
      await pause(delay(failures, error), options.signal);
    }
  }
}

class Watch {
  streams = true;
  #last = "";

  constructor(readonly http: Http, readonly id: string, readonly options: WaitOptions) {}

  /** follow returns the video when it is settled, or undefined when the stream ends before. */
  async follow(): Promise<VideoState | undefined> {
    const { signal } = this.options;
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.#last) headers["Last-Event-ID"] = this.#last;
      const response = await this.http.open("GET", `/api/video/${segment(this.id)}/events`, { headers, signal: stop.signal });
      if (response.status === 204 || !response.body) return await this.poll();
      return await this.#read(response.body);
    } catch (error) {
      if (error instanceof SpoolError && error.status !== 0 && ![401, 403, 404].includes(error.status)) {
        this.streams = false; // too many streams, or something on the way that does not know them
        return undefined;
      }
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      stop.abort();
    }
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<VideoState | undefined> {
    let came = false;
    try {
      for await (const event of events(body, stallMilliseconds)) {
        came = true;
        this.#last = event.id || this.#last;
        if (event.type === "deleted") throw new SpoolError("video_not_found", "The video was deleted.", 404);
        const settled = event.type === "video" && this.#update(JSON.parse(event.data) as VideoState);
        if (settled) return settled;
      }
    } catch (error) {
      if (error instanceof SpoolError) throw error;
      // The stream sends the state at once. If not even that came, something on the way holds events back.
      this.streams = came;
      throw networkError(error, this.options.signal);
    }
    return undefined;
  }

  /** poll reads the state once. */
  async poll(): Promise<VideoState | undefined> {
    const { signal, pollMilliseconds = 3000 } = this.options;
    const settled = this.#update(await this.http.request<VideoState>("GET", `/api/video/${segment(this.id)}`, signal ? { signal } : {}));
    if (!settled) await pause(pollMilliseconds, signal);
    return settled;
  }

  #update(video: VideoState): VideoState | undefined {
    this.options.onUpdate?.(video);
    if (video.status === "fail") throw new VideoFailedError(video);
    return video.status === "ready" ? video : undefined;
  }
}
