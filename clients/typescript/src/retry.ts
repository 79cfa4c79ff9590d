import { SpoolError } from "./errors.js";

/** pause waits, unless signal is aborted first. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => { clearTimeout(timer); reject(signal?.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** delay is how long to wait after so many failures in a row: as long as the server asks for, or 0.5 s, doubled up to 30 s, with jitter. */
export function delay(failures: number, error: unknown): number {
  const asked = error instanceof SpoolError ? error.details.retryAfterSeconds : undefined;
  const usual = Math.min(30_000, 500 * 2 ** (failures - 1));
  return Math.max((asked ?? 0) * 1000, usual * (0.5 + Math.random() / 2));
}

/** withRetries repeats what fails for a reason that passes. */
export async function withRetries<T>(
  what: () => Promise<T>,
  retries: number,
  signal?: AbortSignal,
  may: (error: SpoolError) => boolean = (error) => error.transient,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await what();
    } catch (error) {
      if (signal?.aborted || !(error instanceof SpoolError) || failures > retries || !may(error)) throw error;
      await pause(delay(failures, error), signal);
    }
  }
}
