/** For tests only: a time limit that also works on a busy machine. */
import assert from "node:assert/strict";
import process from "node:process";

/** Processor time of this thread in milliseconds, which does not count other programs. */
function processorTime(): number {
  // Deno before 2.7 does not report it.
  const used = process.threadCpuUsage?.();
  return used === undefined ? performance.now() : (used.user + used.system) / 1000;
}

/**
 * Asserts that `body` can finish within `limit` milliseconds of processor time, which Linux counts
 * in steps of 10 ms. Other processes may slow down a single measurement, so the fastest of at most
 * five runs counts.
 */
export function assertFast(limit: number, body: () => void, what = "it"): void {
  let fastest = Infinity;
  for (let run = 0; run < 5 && fastest >= limit; run++) {
    const start = processorTime();
    body();
    fastest = Math.min(fastest, processorTime() - start);
  }
  assert.ok(fastest < limit, `${what} took ${fastest.toFixed(0)} ms, ${limit} ms at most`);
}
