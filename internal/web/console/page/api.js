// Requests to the API, with the key that the user entered or, without one, with the cookie of their session.

import { key } from "./key.js";

// ResponseError is an unsuccessful response, with the problem (RFC 9457) in it.
export class ResponseError extends Error {
  constructor(status, problem, retryAfter) {
    super(problem?.detail || `The server answered with status ${status}.`);
    this.status = status;
    this.code = problem?.code ?? "";
    this.faults = problem?.errors ?? [];
    this.requestId = problem?.requestId ?? "";
    this.retryAfter = Number(retryAfter) || 0; // seconds
    this.transient = [423, 429, 502, 503, 504, 507].includes(status);
  }
}

// NetworkError is a request without a response.
export class NetworkError extends Error {
  constructor(message = "The server does not respond.") {
    super(message);
    this.retryAfter = 0;
    this.transient = true;
  }
}

export function parseProblem(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a proxy may respond with anything
  }
}

// onUnauthorized is called with the ResponseError when the server rejects the key.
let onUnauthorized = () => {};

export function whenUnauthorized(callback) {
  onUnauthorized = callback;
}

// request calls the API and returns the JSON of the response.
export async function request(method, path, options = {}) {
  const response = await open(method, path, options);
  const text = await orNetworkError(response.text(), options.signal);
  return text ? JSON.parse(text) : null;
}

// open calls the API and returns the response with its body unread. It throws if the
// response is an error. used is the key; "": the session.
export async function open(method, path, { body, raw, headers, signal, used = key() } = {}) {
  const options = { method, signal, cache: "no-store", credentials: used ? "omit" : "same-origin", headers: { ...(used && { "X-API-KEY": used }), ...headers } };
  if (raw !== undefined) options.body = raw; // of the type in headers
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const response = await orNetworkError(fetch(new URL("api/" + path, document.baseURI), options), signal);
  if (response.ok) return response;
  const text = await orNetworkError(response.text(), signal);
  const error = new ResponseError(response.status, parseProblem(text), response.headers.get("Retry-After"));
  if (error.status === 401 && used === key()) onUnauthorized(error);
  throw error;
}

// orNetworkError awaits a promise of fetch and turns its failure into a NetworkError,
// unless the caller has aborted it.
async function orNetworkError(promise, signal) {
  try {
    return await promise;
  } catch (error) {
    throw signal?.aborted ? error : new NetworkError();
  }
}

// pause waits. It throws when signal is aborted.
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

// backOnline waits until the computer has a network again, or for a time in milliseconds. A
// browser may see no network although the server can be reached, as on the same computer.
export function backOnline(signal, longest = 10000) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, longest);
    addEventListener("online", () => { clearTimeout(timer); resolve(); }, { once: true, signal });
    signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

// isOffline reports whether the computer has no network, after a request without a
// response: that may fail a moment before the browser knows why.
async function isOffline(signal) {
  if (navigator.onLine) await pause(500, signal);
  return !navigator.onLine;
}

// unlessOffline repeats what fails because the computer has no network, when that is back.
export async function unlessOffline(attempt, signal, notify) {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !(error instanceof NetworkError) || !await isOffline(signal)) throw error;
      notify("No network. Waiting until it is back.");
      await backOnline(signal);
    }
  }
}

// withRetries makes up to four attempts at a request that may be repeated, and more after
// the computer had no network. notify is called before each pause with its reason.
export async function withRetries(attempt, signal, notify) {
  for (let tries = 1; ; tries++) {
    try {
      return await unlessOffline(attempt, signal, notify);
    } catch (error) {
      if (signal.aborted || !error.transient || tries === 4) throw error;
      const seconds = error.retryAfter || 2 ** (tries - 1);
      notify(`${error.message} Trying again in ${seconds} s.`);
      await pause(seconds * 1000, signal);
    }
  }
}

// requestWithRetries calls the API with retries, each with the key of the first attempt:
// another one may have been entered since, in another tab.
export function requestWithRetries(method, path, options, signal, notify) {
  const used = key();
  return withRetries(() => request(method, path, { ...options, signal, used }), signal, notify);
}

// newIdempotencyKey identifies a create request, so that repeating it creates no
// second video. randomUUID exists on HTTPS and localhost only.
export function newIdempotencyKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
