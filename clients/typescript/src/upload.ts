import { SpoolError } from "./errors.js";
import { delay, pause, withRetries } from "./retry.js";
import { send, sendPart } from "./send.js";
import type { FileSource, UploadTarget } from "./types.js";

export interface UploadOptions {
  signal?: AbortSignal;
  /** Called with the bytes that the server has, or that are on the way to it. After a cut it may go back. */
  onProgress?: (sent: number, total: number) => void;
  /** Files up to this size are sent with one PUT, larger ones resumably. Default: 16 MiB; 0: always resumably. */
  putBytes?: number;
  /** Size of the requests of a resumable upload. Default: 16 MiB. */
  chunkBytes?: number;
  /** How often in a row a request may fail for a reason that passes. Default: 8, about a minute and a half. */
  retries?: number;
  /** Replace an upload of another length that was begun at the same URL. Otherwise that is an error, `upload_exists`. */
  replace?: boolean;
}

const mebi = 1 << 20;
const version = { "Tus-Resumable": "1.0.0" };

/**
 * Uploads a file. It needs no API key: the URLs of the target grant the access. Completing the upload
 * is not part of it.
 *
 * Files are read piece by piece: a `File` of a browser, or in Node that of `openFile(path)`, needs no
 * memory for its content. Call it again with the same target to resume an upload that ended, also
 * after a reload of the page or a restart of the process.
 */
export async function uploadFile(target: UploadTarget, file: FileSource, options: UploadOptions = {}): Promise<void> {
  if (!target.uploadUrl) throw new SpoolError("nothing_to_upload", "The server fetches the file of this video itself.");
  const small = file.size <= Math.min(options.putBytes ?? 16 * mebi, target.maxUploadBytes ?? Infinity);
  if (small || !target.tusUrl) await put(target.uploadUrl, target.contentType, file, options);
  else await new Resumable(target.tusUrl, file, options).run();
  options.onProgress?.(file.size, file.size);
}

async function put(url: string, contentType: string, file: FileSource, { signal, onProgress, retries = 8 }: UploadOptions): Promise<void> {
  const sent = (bytes: number) => onProgress?.(Math.min(bytes, file.size), file.size);
  // Nothing of a PUT that broke off is stored, so it may be repeated.
  const again = (error: SpoolError) => error.transient || ["upload_interrupted", "upload_stalled"].includes(error.code);
  const request = { method: "PUT", url, headers: { "Content-Type": contentType }, start: 0, end: file.size, signal, sent };
  await withRetries(() => sendPart(file, request), retries, signal, again);
}

/** An upload with tus 1.0. */
class Resumable {
  readonly #retries: number;
  readonly #chunk: number;

  constructor(readonly url: string, readonly file: FileSource, readonly options: UploadOptions) {
    this.#retries = options.retries ?? 8;
    this.#chunk = Math.max(1, options.chunkBytes ?? 16 * mebi);
  }

  async run(): Promise<void> {
    const { signal } = this.options;
    let offset = await this.#begin();
    for (let failures = 0; offset < this.file.size;) {
      this.#report(offset);
      try {
        offset = await this.#patch(offset);
        failures = 0;
      } catch (error) {
        if (signal?.aborted || !(error instanceof SpoolError) || !canResume(error) || ++failures > this.#retries) throw error;
        await pause(delay(failures, error), signal);
        const stands = await this.#begin();
        if (stands > offset) failures = 0;
        offset = stands;
      }
    }
  }

  #report(sent: number): void {
    this.options.onProgress?.(Math.min(sent, this.file.size), this.file.size);
  }

  #begin(): Promise<number> {
    return withRetries(() => this.#startOrResume(), this.#retries, this.options.signal);
  }

  /** Returns how many bytes the server has. */
  async #startOrResume(): Promise<number> {
    const { signal, replace } = this.options;
    try {
      const head = await send("HEAD", this.url, { headers: version, signal });
      const offset = Number(head.header("Upload-Offset"));
      if (Number(head.header("Upload-Length") ?? NaN) === this.file.size && offset >= 0) return offset;
    } catch (error) {
      if (!(error instanceof SpoolError) || error.transient || error.status === 0) throw error;
      // Nothing was begun yet; or the POST says what is wrong, which the answer to HEAD cannot.
    }
    const headers: Record<string, string> = { ...version, "Upload-Length": String(this.file.size) };
    if (replace) headers["Upload-Replace"] = "true";
    await send("POST", this.url, { headers, signal });
    return 0;
  }

  /** Sends the next piece and returns the new offset. */
  async #patch(offset: number): Promise<number> {
    const headers = { ...version, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
    const end = Math.min(offset + this.#chunk, this.file.size);
    const answer = await sendPart(this.file, {
      method: "PATCH", url: this.url, headers, start: offset, end,
      signal: this.options.signal, sent: (bytes) => this.#report(offset + bytes),
    });
    const stands = Number(answer.header("Upload-Offset") ?? NaN);
    if (!(stands > offset && stands <= this.file.size)) throw new SpoolError("unexpected_answer", "The server does not say how much it has received.", answer.status);
    return stands;
  }
}

/** canResume reports whether asking for the offset and going on from there helps. */
function canResume(error: SpoolError): boolean {
  return error.transient || ["offset_mismatch", "upload_interrupted"].includes(error.code);
}
