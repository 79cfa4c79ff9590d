// One file on its way to the server: create the video, PUT the file, complete
// the upload.

import { Refusal, Unreachable, newKey, parseProblem, patiently, request } from "./api.js";
import { bytes } from "./words.js";

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
      await put(upload, this.#file, signal, (n) => this.#observer.sent(n));
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
    if (this.#file.size > upload.maxUploadBytes) {
      // The server would say so too, but most browsers do not listen before they have sent everything.
      throw new Refusal(413, { detail: `The file has ${bytes(this.#file.size)}; this server takes up to ${bytes(upload.maxUploadBytes)}.` });
    }
    return upload;
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

// put sends the file. Only XMLHttpRequest tells how far it is.
function put(upload, file, signal, sent) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    xhr.open("PUT", upload.uploadUrl);
    xhr.setRequestHeader("Content-Type", upload.contentType);
    xhr.upload.addEventListener("progress", (event) => sent(event.loaded));
    xhr.addEventListener("load", () => (xhr.status === 200 ? resolve() : reject(refusalOf(xhr))));
    xhr.addEventListener("error", () => reject(new Unreachable(whyBroken(upload.uploadUrl))));
    xhr.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(file);
  });
}

function refusalOf(xhr) {
  const problem = parseProblem(xhr.responseText) ?? { detail: `The storage did not take the file; it answered ${xhr.status}.` };
  return new Refusal(xhr.status, problem, xhr.getResponseHeader("Retry-After"));
}

// whyBroken: a browser does not tell a page whether the connection broke or the
// storage does not allow the page to upload.
function whyBroken(address) {
  const { origin } = new URL(address, document.baseURI);
  if (origin === location.origin) return "The upload broke off.";
  return `The upload broke off. If it always does, ${origin} has no CORS rule that lets pages of ${location.origin} upload.`;
}
