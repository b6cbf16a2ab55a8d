/** What is shown while a model loads, where, and when. */
import assert from "node:assert/strict";
import { LoadProgress, loadText } from "./redrawn_lines.ts";
import { shown } from "./terminal_testing.ts";

/** Bytes of the weights of the model in these tests. */
const TOTAL = 2e8;
/** Empties the line of a terminal. */
const CLEAR = "\r\x1b[K";

/**
 * The text that a load writes to stderr.
 * @param steps milliseconds, and the share that is loaded then; null = closed
 * @param on.live whether stderr is a terminal
 */
function written(
  steps: readonly (readonly [number, number] | null)[],
  { live = false, quiet = false } = {},
): string[] {
  return shown(live, (setTime) => {
    const progress = new LoadProgress(quiet);
    for (const step of steps) {
      if (step === null) {
        progress.close();
        continue;
      }
      setTime(step[0]);
      progress.on(TOTAL * step[1], TOTAL);
    }
  });
}

Deno.test("a load shows how far it is and how long it will take", () => {
  assert.equal(loadText(0.8e9, 3.21e9, 5), "loading: 24 % of 3.21 B weights, 15 s left");
  assert.equal(loadText(134.5e6, 134.5e6, 3.4), "loaded 135 M weights in 3 s");
  assert.match(loadText(0, 2e8, 4), /^loading: 0 % of 200 M weights/);
});

Deno.test("a short load shows nothing, on a terminal or elsewhere", () => {
  const steps = [[0, 0], [600, 0.3], [1200, 0.6], [1900, 1], null] as const;
  for (const live of [false, true]) assert.deepEqual(written(steps, { live }), []);
});

Deno.test("not on a terminal: a line every ten seconds, and one at the end", () => {
  const steps = [[0, 0], [3000, 0.1], [10_000, 0.4], [12_000, 0.5], [19_900, 0.9]] as const;
  assert.deepEqual(written([...steps, [20_000, 1], null]), [
    "loading: 40 % of 200 M weights, 15 s left\n",
    "loaded 200 M weights in 20 s\n",
  ]);
});

Deno.test("on a terminal one line is redrawn, not too often, and replaced at the end", () => {
  const steps = [[0, 0], [1000, 0.25], [3000, 0.5], [3100, 0.6], [3200, 0.8], [4000, 1]] as const;
  assert.deepEqual(written([...steps, null], { live: true }), [
    `${CLEAR}loading: 50 % of 200 M weights, 3 s left`,
    `${CLEAR}loading: 80 % of 200 M weights, 1 s left`,
    CLEAR,
    "loaded 200 M weights in 4 s\n",
  ]);
});

Deno.test("the line of a failed load is removed, and the next load begins anew", () => {
  const steps = [[0, 0], [3000, 0.5], null, null, [3500, 0], [5000, 1]] as const;
  assert.deepEqual(written(steps, { live: true }), [
    `${CLEAR}loading: 50 % of 200 M weights, 3 s left`,
    CLEAR,
  ]);
});

Deno.test("a quiet load says nothing at all", () => {
  const steps = [[0, 0], [30_000, 0.5], [60_000, 1], null] as const;
  for (const live of [false, true]) assert.deepEqual(written(steps, { live, quiet: true }), []);
});
