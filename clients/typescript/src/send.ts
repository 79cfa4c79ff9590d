import { answerError, networkError, SpoolError } from "./errors.js";
import type { Answer, FileSource, PartRequest } from "./types.js";

interface Options {
  headers: Record<string, string>;
  body?: Blob;
  signal?: AbortSignal | undefined;
  /** Called with the number of bytes of the body that were sent. */
  sent?: ((bytes: number) => void) | undefined;
}

/** stallSeconds is how long a request may make no progress. */
export const stallSeconds = 60;

/** sendPart sends a part of a file. */
export async function sendPart(file: FileSource, request: PartRequest): Promise<Answer> {
  if (file.sendPart) return file.sendPart(request);
  const { method, url, headers, start, end, signal, sent } = request;
  // The type of a slice would be sent by some browsers instead of the header.
  return send(method, url, { headers, body: await file.slice(start, end, headers["Content-Type"]), signal, sent });
}

/** send makes one request of an upload. Browsers tell the progress of an XMLHttpRequest only. */
export function send(method: string, url: string, options: Options): Promise<Answer> {
  return typeof XMLHttpRequest === "undefined" ? sendByFetch(method, url, options) : sendByXHR(method, url, options);
}

async function sendByFetch(method: string, url: string, { headers, body, signal, sent }: Options): Promise<Answer> {
  // A request has no events between its start and its end, so there is one limit for the whole:
  // 64 KiB/s, or as long as a pause may be.
  const limit = AbortSignal.timeout(1000 * Math.max(stallSeconds, Math.ceil((body?.size ?? 0) / 65536)));
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { method, headers, body: body ?? null, signal: signal ? AbortSignal.any([signal, limit]) : limit });
    text = await response.text();
  } catch (error) {
    throw networkError(error, signal);
  }
  if (!response.ok) throw answerError(response.status, text, response.headers.get("Retry-After"));
  if (body) sent?.(body.size);
  return { status: response.status, header: (name) => response.headers.get(name) };
}

function sendByXHR(method: string, url: string, { headers, body, signal, sent }: Options): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const xhr = new XMLHttpRequest();
    let timer: ReturnType<typeof setTimeout>;
    const alive = () => { clearTimeout(timer); timer = setTimeout(() => xhr.abort(), 1000 * stallSeconds); };
    const abort = () => xhr.abort();
    const ended = () => { clearTimeout(timer); signal?.removeEventListener("abort", abort); };
    const failed = () => { ended(); reject(networkError(new SpoolError("network_error", "The connection broke."), signal)); };
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = (event) => { alive(); sent?.(event.loaded); };
    xhr.onerror = xhr.onabort = failed;
    xhr.onload = () => {
      ended();
      if (xhr.status >= 200 && xhr.status < 300) resolve({ status: xhr.status, header: (name) => xhr.getResponseHeader(name) });
      else reject(answerError(xhr.status, xhr.responseText, xhr.getResponseHeader("Retry-After")));
    };
    signal?.addEventListener("abort", abort, { once: true });
    alive();
    xhr.send(body ?? null);
  });
}
