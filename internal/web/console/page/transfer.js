// One file on its way to the server: create the video, send the file, complete
// the upload.

import { newKey, patiently, request } from "./api.js";
import { sendInPieces } from "./pieces.js";
import { send } from "./send.js";

// large files are sent so that they can go on where they broke off. Small ones go
// straight to where they are kept.
const large = 64 << 20;

// Transfer tells each of its steps to its observer, which has:
//
//	told(text)                what is being done
//	created(id)               the video exists
//	sent(bytes)               so much of the file is on the server
//	completed(id)             the file is accepted
//	failed(error, again, id)  it ended; again says whether run may be called anew
//	cancelled(error, id)      it was called off; error says why the video is still there
export class Transfer {
  #file;
  #draft;
  #observer;
  #name = newKey(); // the same for every try, so that a repetition makes no second video
  #id = "";
  #turn = null;

  // draft is the body of the create request without the file's name.
  constructor(file, draft, observer) {
    this.#file = file;
    this.#draft = { filename: file.name, ...draft };
    this.#observer = observer;
  }

  async run() {
    this.#turn = new AbortController();
    const signal = this.#turn.signal;
    try {
      const upload = await this.#create(signal);
      if (accepted(upload)) return this.#observer.completed(upload.id);
      this.#observer.told("Uploading");
      await this.#send(upload, signal);
      this.#observer.told("Checking the file");
      await this.#ask("POST", `video/${upload.id}/complete-upload`, {}, signal);
      this.#observer.completed(upload.id);
    } catch (error) {
      if (signal.aborted) await this.#undo();
      else this.#fail(error);
    }
  }

  cancel() {
    this.#turn?.abort();
  }

  async #create(signal) {
    this.#observer.told("Preparing");
    const upload = await this.#ask("POST", "video", { body: this.#draft, headers: { "Idempotency-Key": this.#name } }, signal);
    this.#id = upload.id;
    this.#observer.created(upload.id);
    return upload;
  }

  #send(upload, signal) {
    const sent = (n) => this.#observer.sent(n);
    if (this.#file.size > Math.min(large, upload.maxUploadBytes)) {
      return sendInPieces(upload.tusUrl, this.#file, signal, sent, (text) => this.#observer.told(text));
    }
    return send("PUT", upload.uploadUrl, { headers: { "Content-Type": upload.contentType }, body: this.#file, signal, sent });
  }

  #ask(method, path, options, signal) {
    return patiently(() => request(method, path, { ...options, signal }), signal, (text) => this.#observer.told(text));
  }

  #fail(error) {
    // The address of a video that has failed does not come back to life when it
    // has expired; another name makes another video.
    const expired = error.status === 403 && error.code !== "insufficient_scope";
    if (expired) this.#name = newKey();
    this.#observer.failed(error, error.passing || expired, this.#id);
  }

  // undo removes the video that nobody will upload a file for any more.
  async #undo() {
    try {
      if (this.#id) await request("DELETE", `video/${this.#id}`);
      this.#observer.cancelled(null, this.#id);
    } catch (error) {
      this.#observer.cancelled(error.status === 404 ? null : error, this.#id);
    }
  }
}

// accepted reports whether an earlier try got through to the end, and only its
// last answer was lost.
function accepted(upload) {
  return Object.values(upload.resolutions).some(({ status }) => status === "processing" || status === "ready");
}
