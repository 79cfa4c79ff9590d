// The upload of one file: create the video, send the file, complete the upload.

import { newIdempotencyKey, request, requestWithRetries, unlessOffline } from "./api.js";
import { uploadResumable } from "./resumable.js";
import { send } from "./xhr.js";

// resumableAbove is the size in bytes above which a file is sent with a resumable upload.
// Smaller ones are sent with one PUT, which may go directly to the storage.
const resumableAbove = 32 << 20;

const saveEvery = 2000; // milliseconds

// Transfer reports its steps to an observer with these methods:
//
//	status(text)          the current step
//	created()             the video exists
//	sent(bytes)           how much of the file was sent
//	save(state), forget() what a later page needs to continue; there is nothing to continue
//	completed(id)         the file is accepted
//	failed(error, again)  it failed; again says whether run may be called again
//	cancelled(error)      it was cancelled; error says why the video was not deleted
export class Transfer {
  #file;
  #draft;
  #observer;
  #replaces; // the video whose file it replaces; "": it makes one
  #idempotencyKey; // the same for all attempts, so that a retry creates no second video
  #id;
  #controller = null;
  #suspended = false;
  #savedAt = 0;

  // draft is the body of the create request. saved is what was saved of an upload of the
  // same file, or null: repeating its create request returns the same video.
  constructor(file, draft, observer, saved, replaces = "") {
    this.#file = file;
    this.#draft = draft;
    this.#observer = observer;
    this.#replaces = saved?.replaces ?? replaces;
    this.#idempotencyKey = saved?.idempotencyKey ?? newIdempotencyKey();
    this.#id = saved?.id ?? "";
  }

  async run() {
    if (this.#suspended) return;
    this.#controller = new AbortController();
    const signal = this.#controller.signal;
    try {
      const upload = await this.#create(signal);
      if (wasCompleted(upload)) return this.#complete();
      this.#observer.status("Uploading");
      await this.#send(upload, signal);
      this.#observer.status("Checking the file");
      await this.#request("POST", `video/${upload.id}/complete-upload`, {}, signal);
      this.#complete();
    } catch (error) {
      if (this.#suspended) return;
      if (signal.aborted) await this.#deleteVideo();
      else if (isRefused(error)) await this.#refuse(error);
      else this.#fail(error);
    }
  }

  cancel() {
    this.#controller?.abort();
  }

  // suspend stops the upload and keeps what was saved, so that it can be continued.
  suspend() {
    this.#suspended = true;
    this.#controller?.abort();
  }

  async #create(signal) {
    this.#observer.status("Preparing");
    this.#save();
    const upload = await this.#request("POST", this.#replaces ? `video/${this.#replaces}/replace` : "video", { body: this.#draft, headers: { "Idempotency-Key": this.#idempotencyKey } }, signal);
    this.#id = upload.id;
    this.#save();
    this.#observer.created();
    return upload;
  }

  #save() {
    this.#savedAt = Date.now();
    this.#observer.save({ draft: this.#draft, idempotencyKey: this.#idempotencyKey, id: this.#id, replaces: this.#replaces });
  }

  #complete() {
    this.#observer.forget();
    this.#observer.completed(this.#id);
  }

  #send(upload, signal) {
    const sent = (n) => {
      this.#observer.sent(n);
      if (Date.now() - this.#savedAt > saveEvery) this.#save();
    };
    if (this.#file.size > Math.min(resumableAbove, upload.maxUploadBytes)) {
      return uploadResumable(upload.tusUrl, this.#file, signal, sent, (text) => this.#observer.status(text));
    }
    const put = () => send("PUT", upload.uploadUrl, { headers: { "Content-Type": upload.contentType }, body: this.#file, signal, sent });
    return unlessOffline(put, signal, (text) => this.#observer.status(text));
  }

  #request(method, path, options, signal) {
    return requestWithRetries(method, path, options, signal, (text) => this.#observer.status(text));
  }

  #fail(error) {
    // The upload URL of a failed video is not renewed after it has expired. Another
    // idempotency key creates another video.
    const expired = error.status === 403 && error.code !== "insufficient_scope";
    if (expired) this.#idempotencyKey = newIdempotencyKey();
    if (!error.transient) this.#observer.forget();
    this.#observer.failed(error, error.transient || expired);
  }

  // refuse ends the upload of a file that the server does not take. The video would wait for another file in vain: it
  // is deleted, if the key may do that.
  async #refuse(error) {
    this.#observer.forget();
    if (this.#id) await this.#undo().catch(() => {});
    error.message = error.message.replace(/ You can upload to the same address.*$/, "");
    this.#observer.failed(error, false);
  }

  #undo() {
    return request("DELETE", leftover({ id: this.#id, replaces: this.#replaces }));
  }

  // deleteVideo deletes the video of a cancelled upload.
  async #deleteVideo() {
    this.#observer.forget();
    try {
      if (this.#id) await this.#undo();
      this.#observer.cancelled(null);
    } catch (error) {
      this.#observer.cancelled(error.status === 404 ? null : error);
    }
  }
}

// leftover is what is deleted when an upload is given up: its video, or the file on its way to another.
export function leftover({ id, replaces }) {
  return replaces ? `video/${replaces}/replace` : `video/${id}`;
}

// isRefused reports whether the server does not take this file, however often it is sent.
function isRefused(error) {
  return ["not_a_video", "upload_empty", "file_too_large"].includes(error.code);
}

// wasCompleted reports whether an earlier attempt succeeded and only its last response
// was lost.
function wasCompleted(upload) {
  return Object.values(upload.resolutions).some(({ status }) => status === "processing" || status === "ready");
}
