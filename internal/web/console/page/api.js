// Speaking to the JSON interface with the key that the person gave.

const place = "spool.key"; // in the session's storage: gone when the tab is closed

export function key() {
  return sessionStorage.getItem(place) ?? "";
}

// useKey throws if text can be no key at all.
export function useKey(text) {
  try {
    new Headers({ "X-API-KEY": text });
  } catch {
    throw new Error("No API key has such characters in it.");
  }
  sessionStorage.setItem(place, text);
}

export function forgetKey() {
  sessionStorage.removeItem(place);
}

// Refusal is an answer other than success: what RFC 9457 calls a problem.
export class Refusal extends Error {
  constructor(status, problem, retryAfter) {
    super(problem?.detail || `The answer was ${status}, without an explanation.`);
    this.status = status;
    this.code = problem?.code ?? "";
    this.faults = problem?.errors ?? [];
    this.requestId = problem?.requestId ?? "";
    this.retryAfter = Number(retryAfter) || 0; // seconds
    this.passing = [423, 429, 502, 503, 504, 507].includes(status);
  }
}

// Unreachable is a request without an answer.
export class Unreachable extends Error {
  constructor(message = "The server does not answer.") {
    super(message);
    this.retryAfter = 0;
    this.passing = true;
  }
}

export function parseProblem(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a proxy between us and the server may say anything
  }
}

// refused is called with the Refusal when the server does not accept the key.
let refused = () => {};

export function whenRefused(callback) {
  refused = callback;
}

// request asks the interface and returns the JSON that it answers.
export async function request(method, path, options = {}) {
  const response = await answer(method, path, options);
  const text = await arrived(response.text(), options.signal);
  return text ? JSON.parse(text) : null;
}

// answer asks the interface and returns its answer, which is not read yet, unless
// it is a refusal.
export async function answer(method, path, { body, headers, signal } = {}) {
  const used = key();
  const options = { method, signal, cache: "no-store", credentials: "omit", headers: { "X-API-KEY": used, ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const response = await arrived(fetch(new URL("api/" + path, document.baseURI), options), signal);
  if (response.ok) return response;
  const text = await arrived(response.text(), signal);
  const refusal = new Refusal(response.status, parseProblem(text), response.headers.get("Retry-After"));
  if (refusal.status === 401 && used === key()) refused(refusal);
  throw refusal;
}

// arrived waits for something to come from the server.
async function arrived(something, signal) {
  try {
    return await something;
  } catch (error) {
    throw signal?.aborted ? error : new Unreachable();
  }
}

// pause ends with an error when signal is aborted.
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

// patiently makes a request that may be repeated up to four times, and tells
// about each pause.
export async function patiently(ask, signal, tell) {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !error.passing || tries === 4) throw error;
      const seconds = error.retryAfter || 2 ** (tries - 1);
      tell(`${error.message} Trying again in ${seconds} s.`);
      await pause(seconds * 1000, signal);
    }
  }
}

// newKey names a create request, so that repeating it makes no second video.
// randomUUID is there on HTTPS and on localhost only.
export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
