/**
 * A process that keeps one core busy, for `deno task bench:steady`. Its argument is the kind:
 * `loops` computes in registers, `memory` reads and writes more memory than caches hold, `bursts`
 * computes for 1 to 10 ms and then sleeps for 1 to 10 ms. It runs until it is killed.
 */

export const KINDS = ["loops", "memory", "bursts"] as const;
export type Kind = typeof KINDS[number];

/** The share of a core that a process of a kind wants. */
export const DEMAND: Record<Kind, number> = { loops: 1, memory: 1, bursts: 0.5 };

const MEMORY_BYTES = 256 * 2 ** 20;

function computeUntil(end: number): void {
  let x = 1;
  while (performance.now() < end) for (let i = 0; i < 2000; i++) x = x * 1.0000001 + 1e-9;
  if (x === 0) throw new Error("never: the result is used, so that the loop is not removed");
}

function sweep(words: Float64Array): void {
  for (let i = 0; i < words.length; i++) words[i] = words[i]! + 1;
}

if (import.meta.main) {
  const kind = Deno.args[0] as Kind;
  const words = kind === "memory" ? new Float64Array(MEMORY_BYTES / 8) : null;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const milliseconds = () => 1 + 9 * Math.random();
  console.log("ready");
  for (;;) {
    if (words !== null) sweep(words);
    else computeUntil(performance.now() + milliseconds());
    if (kind === "bursts") Atomics.wait(sleeper, 0, 0, milliseconds());
  }
}
