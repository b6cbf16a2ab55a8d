/**
 * How long to wait before a request is sent again: what the server asks for in its headers, else exponential
 * with jitter, so that many clients do not come back at once.
 */

const LONGEST_MS = 60_000;
/** Waiting longer on a server's word makes no sense: the request fails for good then. */
export const MOST_PATIENCE_MS = 600_000;

/**
 * Milliseconds before attempt `attempt` + 1; attempts count from 1.
 * @param first base of the exponential part
 * @param random in [0, 1)
 */
export function backoff(attempt: number, first: number, random: number): number {
  return Math.min(LONGEST_MS, first * 2 ** (attempt - 1)) * (0.75 + random / 2);
}

/** Milliseconds that the headers ask to wait, or null. @param now in milliseconds since 1970 */
export function askedDelay(headers: Headers, now: number): number | null {
  const ms = Number(headers.get("retry-after-ms") ?? NaN);
  if (ms >= 0) return ms;
  const after = headers.get("retry-after");
  if (after !== null) {
    if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number(after) * 1000;
    const at = Date.parse(after);
    if (!Number.isNaN(at)) return Math.max(0, at - now);
  }
  const resets = ["requests", "tokens"]
    .map((what) => duration(headers.get(`x-ratelimit-reset-${what}`)))
    .filter((value) => value !== null);
  // The header of the IETF's draft, which the Hub sends: "api";r=0;t=55
  const [, left, reset] = /;\s*r=(\d+);\s*t=(\d+)/.exec(headers.get("ratelimit") ?? "") ?? [];
  if (left === "0") resets.push(Number(reset) * 1000);
  return resets.length === 0 ? null : Math.max(...resets);
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
