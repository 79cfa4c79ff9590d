// The upload of one file: create, send, complete. A file that was paused, or whose upload failed, goes on where the server
// stands.

import { SpoolError } from "../../../typescript/src/errors.js";
import { uploadFile } from "../../../typescript/src/upload.js";
import type { CreatedVideo } from "../uploader.js";
import type { Route } from "./route.js";

export type Step = "waiting" | "preparing" | "uploading" | "paused" | "finishing" | "done" | "failed" | "cancelled";

/** putBytes is up to which size a file is sent in one piece: a pause sends it again from its beginning. */
const putBytes = 4 << 20;

/** refusals are what the server says of a file that it will never take, however often it is sent. */
const refusals = ["not_a_video", "upload_empty", "file_too_large", "quota_exceeded", "not_accepted"];

export class Transfer {
  step: Step = "waiting";
  sent = 0;
  video: CreatedVideo | null = null;
  error: SpoolError | null = null;
  #stop: AbortController | null = null;
  #key = randomKey();

  constructor(readonly file: File, readonly route: Route, readonly changed: (transfer: Transfer) => void) {}

  /** Whether it still has to do with the server. */
  get busy(): boolean { return ["preparing", "uploading", "finishing"].includes(this.step); }

  get over(): boolean { return ["done", "failed", "cancelled"].includes(this.step); }

  /** Whether to try again may help. */
  get mayHelp(): boolean { return this.error !== null && !refusals.includes(this.error.code); }

  async run(): Promise<void> {
    const { signal } = (this.#stop = new AbortController());
    try {
      this.error = null;
      this.#go("preparing");
      if (!this.video) await this.#create(signal);
      this.#go("uploading");
      await uploadFile(this.video!, this.file, { signal, putBytes, replace: true, onProgress: (sent) => this.#progress(sent) });
      this.#go("finishing");
      await this.route.complete(this.video!.id, signal);
      this.#go("done");
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  pause(): void {
    if (this.step !== "waiting" && this.step !== "preparing" && this.step !== "uploading") return;
    this.#stop?.abort();
    this.#go("paused");
  }

  /** refuse ends it before it began, for a reason that the page has. */
  refuse(error: SpoolError): void {
    this.error = error;
    this.#go("failed");
  }

  /** again has it wait for its turn. */
  again(): void { this.#go("waiting"); }

  cancel(): void {
    if (this.step === "done" || this.step === "cancelled") return;
    this.#stop?.abort();
    if (this.video) this.route.remove(this.video.id);
    this.#go("cancelled");
  }

  async #create(signal: AbortSignal): Promise<void> {
    const video = await this.route.create(this.file, this.#key, signal);
    if (signal.aborted) return this.route.remove(video.id);
    this.video = video;
    this.changed(this);
  }

  #progress(sent: number): void {
    this.sent = sent;
    if (this.step === "uploading") this.changed(this);
  }

  #fail(error: unknown): void {
    this.error = error instanceof SpoolError ? error : new SpoolError("unexpected_error", "The file cannot be read any more. Choose it again.", 0, { cause: error });
    if (["url_expired", "video_not_found", "upload_closed"].includes(this.error.code)) { // another attempt needs another video
      this.video = null;
      this.#key = randomKey();
    }
    this.#go("failed");
  }

  #go(step: Step): void {
    this.step = step;
    this.changed(this);
  }
}

function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
}
