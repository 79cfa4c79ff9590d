// Sending bytes to an address that is its own permission.

import { Refusal, Unreachable, parseProblem } from "./api.js";

// send returns the request when it was answered with success. Only
// XMLHttpRequest tells how far it is: sent is called with the bytes on their way.
export function send(method, address, { headers = {}, body = null, signal, sent = () => {} }) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    xhr.open(method, address);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    if (body) xhr.upload.addEventListener("progress", (event) => sent(event.loaded));
    xhr.addEventListener("load", () => (xhr.status >= 200 && xhr.status < 300 ? resolve(xhr) : reject(refusalOf(xhr))));
    xhr.addEventListener("error", () => reject(new Unreachable(whyBroken(address))));
    xhr.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(body);
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
