/**
 * Repeats work that failed and may succeed later. The server may ask for a delay in its headers.
 * Otherwise the delay is exponential with jitter, so that many clients do not come back at the same
 * time.
 */

export interface RetryOptions {
  /** Maximum number of attempts in a row without progress; default: no limit. */
  attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one. */
  firstDelay: number;
  longestDelay?: number;
  signal?: AbortSignal | null;
  /** Throws an error that ends all attempts; called before each attempt and after a failed one. */
  checkEnd?(): void;
  isTemporary(error: unknown): boolean;
  /** Milliseconds that the server asks to wait; null = it asks for none. */
  askedDelay?(error: unknown): number | null;
  /** Called before each delay. @param attempts made so far */
  onRetry?(error: unknown, attempts: number, delay: number): void;
  /** The error to throw in place of the last error. */
  failure?(error: unknown, attempts: number): unknown;
}

/** @param work one attempt. When it calls `progressed`, the count of attempts begins anew */
export async function retrying<T>(
  work: (progressed: () => void) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { attempts = Infinity, firstDelay, longestDelay = MAX_BACKOFF_MS, signal } = options;
  const delayAfter = (n: number) => Math.min(longestDelay, backoff(n, firstDelay, Math.random()));
  for (let count = 1;; count++) {
    let error: unknown;
    try {
      options.checkEnd?.();
      return await work(() => count = 0);
    } catch (thrown) {
      error = thrown;
    }
    options.checkEnd?.();
    const tried = Math.max(1, count), asked = options.askedDelay?.(error) ?? null;
    const isLast = tried >= attempts || (asked ?? 0) > MAX_RETRY_DELAY_MS;
    if (isLast || !options.isTemporary(error)) throw options.failure?.(error, tried) ?? error;
    // When a server asks for a short wait again and again, the wait becomes longer.
    const delay = asked === null
      ? delayAfter(tried)
      : tried < 3
      ? asked
      : Math.max(asked, delayAfter(tried - 2));
    options.onRetry?.(error, tried, delay);
    await pause(delay, signal);
  }
}

/** Waits, but not longer than until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal | null = null): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

const STOP_POLL_MS = 100;

/** Waits for work elsewhere, which a request to stop ends. @param check throws to end it */
export async function stoppable<T>(check: () => void, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const stopped = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      try {
        check();
      } catch (error) {
        reject(error);
      }
    }, STOP_POLL_MS);
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    clearInterval(timer);
  }
}

const MAX_BACKOFF_MS = 60_000;
/** If a server asks to wait longer, the request fails for good. */
export const MAX_RETRY_DELAY_MS = 600_000;

/** Milliseconds to wait after an attempt, from 1 on. @param random in [0, 1) */
export function backoff(attempt: number, first: number, random: number): number {
  return Math.min(MAX_BACKOFF_MS, first * 2 ** (attempt - 1)) * (0.75 + random / 2);
}

/**
 * The delay in milliseconds that a response's headers ask for. Null if the headers ask for none or
 * for 0. The caller then uses `backoff`, so that the attempts are not all made within a moment.
 * @param now in milliseconds since 1970
 */
export function askedDelay(status: number, headers: Headers, now: number): number | null {
  const ms = Number(headers.get("retry-after-ms") ?? NaN);
  if (ms > 0) return ms;
  const after = headers.get("retry-after") ?? "";
  const isSeconds = /^\s*\d+(\.\d+)?\s*$/.test(after);
  const wait = isSeconds ? Number(after) * 1000 : Date.parse(after) - now;
  if (wait > 0) return wait;
  // Servers report rate limits in every response; only status 429 means that a limit is reached.
  if (status !== 429) return null;
  const limits = ["requests", "tokens"].flatMap((what) => {
    const reset = duration(headers.get(`x-ratelimit-reset-${what}`));
    const left = Number(headers.get(`x-ratelimit-remaining-${what}`) ?? 0);
    return reset === null ? [] : [{ reset, isReached: !(left > 0) }];
  });
  // The Hub sends the header of the IETF draft, for example: "api";r=0;t=55
  const [, left, reset] = /;\s*r=(\d+);\s*t=(\d+)/.exec(headers.get("ratelimit") ?? "") ?? [];
  if (left === "0") limits.push({ reset: Number(reset) * 1000, isReached: true });
  const reached = limits.filter(({ isReached }) => isReached);
  // If no limit is reached, the request needs more than the rest of some limit. Assume the limit
  // that is reset first.
  const longest = reached.length > 0
    ? Math.max(...reached.map(({ reset }) => reset))
    : Math.min(...limits.map(({ reset }) => reset));
  return longest > 0 && longest < Infinity ? longest : null;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses "1s", "6m0s" or "20ms". @returns milliseconds, or null */
function duration(text: string | null): number | null {
  if (text === null || !/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return null;
  let total = 0;
  for (const [, value, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(value) * UNITS[unit!]!;
  }
  return total;
}
