// Requests to signed URLs, with upload progress.

import { NetworkError, ResponseError, parseProblem } from "./api.js";

// send returns the XMLHttpRequest after a successful response. fetch does not report
// upload progress, so this uses XMLHttpRequest. sent is called with the number of bytes
// that were sent.
export function send(method, url, { headers = {}, body = null, signal, sent = () => {} }) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    if (body) xhr.upload.addEventListener("progress", (event) => sent(event.loaded));
    xhr.addEventListener("load", () => (xhr.status >= 200 && xhr.status < 300 ? resolve(xhr) : reject(responseError(xhr))));
    xhr.addEventListener("error", () => reject(new NetworkError(networkErrorMessage(url))));
    xhr.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(body);
  });
}

function responseError(xhr) {
  const problem = parseProblem(xhr.responseText) ?? { detail: `The storage rejected the file with status ${xhr.status}.` };
  return new ResponseError(xhr.status, problem, xhr.getResponseHeader("Retry-After"));
}

// networkErrorMessage mentions CORS: a browser does not tell a page whether the
// connection broke or a missing CORS rule blocked the upload.
function networkErrorMessage(url) {
  const { origin } = new URL(url, document.baseURI);
  if (origin === location.origin) return "The upload broke off.";
  return `The upload broke off. If it always does, ${origin} has no CORS rule that lets pages of ${location.origin} upload.`;
}
