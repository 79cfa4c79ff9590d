import type { Fault, Problem, VideoState } from "./types.js";

/** Something that the server refused, or that did not reach it. */
export class SpoolError extends Error {
  override name = "SpoolError";

  /**
   * @param code a stable word, such as `video_not_found`. This client's own are `network_error` (no
   * answer), `unexpected_answer` (none of Spool's), `invalid_signature` (of a webhook),
   * `nothing_to_upload`, `file_changed` and `video_failed`.
   * @param message a sentence for a person.
   * @param status the HTTP status, or 0.
   */
  constructor(
    readonly code: string,
    message: string,
    readonly status = 0,
    readonly details: { errors?: Fault[]; requestId?: string; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
  }

  /** Whether the same request may succeed later. */
  get transient(): boolean {
    return this.code === "network_error" || [423, 429, 502, 503, 504, 507].includes(this.status);
  }
}

/** The video failed: `code` and `message` are those of its failure. */
export class VideoFailedError extends SpoolError {
  override name = "VideoFailedError";

  constructor(readonly video: VideoState) {
    super(video.failure?.code ?? "video_failed", video.failure?.message ?? "The video failed.");
  }
}

/** networkError wraps what fetch throws. An abort is passed on as it is. */
export function networkError(cause: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  return new SpoolError("network_error", "The server cannot be reached, or the connection broke.", 0, { cause });
}

/** answerError returns the error of an answer that is not 2xx. */
export function answerError(status: number, body: string, retryAfter: string | null): SpoolError {
  const problem = parseProblem(body);
  const seconds = Number(retryAfter);
  return new SpoolError(
    problem.code ?? "unexpected_answer",
    problem.detail ?? problem.title ?? `The server answered with status ${status}.`,
    status,
    {
      ...(problem.errors && { errors: problem.errors }),
      ...(problem.requestId && { requestId: problem.requestId }),
      ...(retryAfter && seconds >= 0 && { retryAfterSeconds: seconds }),
    },
  );
}

function parseProblem(body: string): Partial<Problem> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {}; // a proxy's page, or a bucket's XML
  }
}
