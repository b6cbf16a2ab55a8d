/**
 * How long to wait before a request is sent again: what the server asks for in its headers, else exponential
 * with jitter, so that many clients do not come back at once.
 */

const MAX_BACKOFF_MS = 60_000;
/** Waiting longer on a server's word makes no sense: the request fails for good then. */
export const MAX_PATIENCE_MS = 600_000;

/**
 * Milliseconds before attempt `attempt` + 1; attempts count from 1.
 * @param first base of the exponential part
 * @param random in [0, 1)
 */
export function backoff(attempt: number, first: number, random: number): number {
  return Math.min(MAX_BACKOFF_MS, first * 2 ** (attempt - 1)) * (0.75 + random / 2);
}

/**
 * Milliseconds that an answer's headers ask to wait; null where they do not, or ask for none: then it is up to us,
 * lest all attempts are made within a moment.
 * @param now in milliseconds since 1970
 */
export function askedDelay(status: number, headers: Headers, now: number): number | null {
  const ms = Number(headers.get("retry-after-ms") ?? NaN);
  if (ms > 0) return ms;
  const after = headers.get("retry-after") ?? "";
  const isSeconds = /^\s*\d+(\.\d+)?\s*$/.test(after);
  const wait = isSeconds ? Number(after) * 1000 : Date.parse(after) - now;
  if (wait > 0) return wait;
  // Of the limits that are told in every answer, only what was refused for its number has reached one.
  if (status !== 429) return null;
  const limits = ["requests", "tokens"].flatMap((what) => {
    const reset = duration(headers.get(`x-ratelimit-reset-${what}`));
    const left = Number(headers.get(`x-ratelimit-remaining-${what}`) ?? 0);
    return reset === null ? [] : [{ reset, isReached: !(left > 0) }];
  });
  // The header of the IETF's draft, which the Hub sends: "api";r=0;t=55
  const [, left, reset] = /;\s*r=(\d+);\s*t=(\d+)/.exec(headers.get("ratelimit") ?? "") ?? [];
  if (left === "0") limits.push({ reset: Number(reset) * 1000, isReached: true });
  const reached = limits.filter(({ isReached }) => isReached);
  // Where something is left of all, it was less than the request needs: of the limit that is nearest.
  const longest = reached.length > 0
    ? Math.max(...reached.map(({ reset }) => reset))
    : Math.min(...limits.map(({ reset }) => reset));
  return longest > 0 && longest < Infinity ? longest : null;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** "1s", "6m0s", "20ms" in milliseconds, or null. */
function duration(text: string | null): number | null {
  if (text === null || !/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return null;
  let total = 0;
  for (const [, value, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(value) * UNITS[unit!]!;
  }
  return total;
}
