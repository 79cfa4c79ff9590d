import { answerError, networkError, SpoolError } from "./errors.js";
import { withRetries } from "./retry.js";

export interface Connection {
  /** Where Spool is, such as `https://video.example.com`. In a browser, empty means the page's own. */
  server: string;
  apiKey?: string;
  /** A token of one video, for browsers: it opens get and waitUntilReady of that video. */
  token?: string;
  /** How often in a row a request may fail for a reason that passes. Default: 5. */
  retries?: number;
}

export interface Call {
  signal?: AbortSignal;
}

/** A parameter with several values is given several times. */
export type Query = Record<string, string | number | readonly string[] | undefined>;

export interface Request extends Call {
  query?: Query;
  json?: unknown;
  /** A body that is not JSON. */
  body?: Blob | string;
  headers?: Record<string, string>;
  /** Whether doing it twice does harm: then it is repeated only if the server says that it did nothing. */
  once?: boolean;
}

/** Requests to the API, with the key and with retries. */
export class Http {
  readonly #base: string;
  readonly #retries: number;

  constructor(readonly connection: Connection) {
    this.#base = connection.server.replace(/\/+$/, "");
    this.#retries = connection.retries ?? 5;
  }

  /** request returns the body of the answer; undefined if there is none. */
  async request<T>(method: string, path: string, options: Request = {}): Promise<T> {
    const may = (error: SpoolError) => error.transient && !(options.once && ![423, 429, 503].includes(error.status));
    let lost = false; // the answer to an earlier attempt
    const attempt = () => this.#once<T>(method, path, options).catch((error: unknown) => {
      if (lost && method === "DELETE" && error instanceof SpoolError && error.status === 404) return undefined as T; // that one deleted it
      lost ||= error instanceof SpoolError && error.status === 0;
      throw error;
    });
    return withRetries(attempt, this.#retries, options.signal, may);
  }

  /** open starts a request whose answer is read as it comes. */
  async open(method: string, path: string, options: Request): Promise<Response> {
    const { connection } = this;
    const headers: Record<string, string> = { ...options.headers };
    if (connection.apiKey) headers["X-API-KEY"] = connection.apiKey;
    if (options.json !== undefined) headers["Content-Type"] = "application/json";
    const query = queryOf({ ...options.query, token: connection.token });
    const body = options.json !== undefined ? JSON.stringify(options.json) : options.body ?? null;
    let response: Response;
    try {
      response = await fetch(this.#base + path + query, { method, headers, body, signal: options.signal ?? null });
    } catch (error) {
      throw networkError(error, options.signal);
    }
    if (response.ok) return response;
    throw answerError(response.status, await textOf(response, options.signal), response.headers.get("Retry-After"));
  }

  async #once<T>(method: string, path: string, options: Request): Promise<T> {
    const response = await this.open(method, path, options);
    const text = await textOf(response, options.signal);
    if (text === "") return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      throw new SpoolError("unexpected_answer", "The answer is not JSON. Is this the address of Spool?", response.status, { cause });
    }
  }
}

async function textOf(response: Response, signal?: AbortSignal): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw networkError(error, signal);
  }
}

function queryOf(values: Query): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) query.append(name, String(one));
    }
  }
  return query.size > 0 ? `?${query}` : "";
}

/** segment writes a value into a path. */
export function segment(value: string): string {
  return encodeURIComponent(value);
}

/** randomKey also works in pages without TLS, where crypto.randomUUID is missing. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
