// The integrator's own server, which has the API key: it creates videos and completes uploads.

import { answerError, networkError, SpoolError } from "../../../typescript/src/errors.js";
import { withRetries } from "../../../typescript/src/retry.js";
import type { CreatedVideo } from "../uploader.js";

const tries = 5;

export class Route {
  constructor(readonly endpoint: () => string, readonly headers: () => Record<string, string>) {}

  /** create asks for a video. The key is the same for all attempts, so that a repeated one makes no second video. */
  async create(file: File, key: string, signal: AbortSignal): Promise<CreatedVideo> {
    const answer = await this.#ask("POST", "", { filename: file.name, size: file.size, type: file.type }, { "Idempotency-Key": key }, signal);
    const video = (await read(answer)) as Partial<CreatedVideo> | null;
    if (!video?.id || !(video.uploadUrl || video.tusUrl)) throw new SpoolError("unexpected_answer", "The server of this page does not say where the file goes.", answer.status);
    return { contentType: "application/octet-stream", ...video } as CreatedVideo;
  }

  /** complete says that the file is there. Its answer is passed on. */
  async complete(id: string, signal: AbortSignal): Promise<unknown> {
    return read(await this.#ask("POST", `/${encodeURIComponent(id)}/complete`, {}, {}, signal));
  }

  /** remove gives a video up. A server without that route keeps it until its upload expires. */
  remove(id: string): void {
    fetch(`${this.#base}/${encodeURIComponent(id)}`, { method: "DELETE", headers: this.headers() }).catch(() => {});
  }

  get #base(): string { return this.endpoint().replace(/\/$/, ""); }

  #ask(method: string, path: string, body: unknown, more: Record<string, string>, signal: AbortSignal): Promise<Response> {
    return withRetries(async () => {
      let answer: Response;
      try {
        answer = await fetch(this.#base + path, { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...more, ...this.headers() }, signal });
      } catch (error) {
        throw networkError(error, signal);
      }
      if (!answer.ok) throw answerError(answer.status, await answer.text(), answer.headers.get("Retry-After"));
      return answer;
    }, tries, signal);
  }
}

/** read returns the JSON of an answer, or null. */
async function read(answer: Response): Promise<unknown> {
  try {
    return await answer.json();
  } catch {
    return null;
  }
}
