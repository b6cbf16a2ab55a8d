/**
 * Checks of sampling on one device. Tokens are compared with exact cumulative probabilities, and
 * not with the reference: they may differ if the uniform number is within rounding of a boundary.
 */
import assert from "node:assert/strict";
import { philox4x32, sampleCounter, seedWords, uniform23 } from "../../core/philox.ts";
import type { Device } from "../device.ts";
import { COUNTER_WORDS } from "../ops/sample/spec.ts";
import { normals, stream, upload } from "../testing.ts";

export interface SampleOptions {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
}

/** Temperature 1, without truncation. */
export const PLAIN: SampleOptions = { temperature: 1, topK: 0, topP: 1, minP: 0 };

const SEED = 77 * 2 ** 32 + 12_345;

/**
 * Samples one token per row, with its log-probability.
 * @param counters [rows, COUNTER_WORDS]
 * @param scored the logits for log-probabilities; default: `logits`
 */
export async function drawTokens(
  device: Device,
  logits: Float32Array,
  counters: Uint32Array,
  vocab: number,
  options: SampleOptions,
  scored?: Float32Array,
): Promise<{ tokens: Uint32Array; logp: ArrayLike<number> }> {
  const rows = counters.length / COUNTER_WORDS;
  const tensors = {
    logits: upload(device, logits),
    counters: upload(device, counters),
    tokens: device.create("u32", rows, "tokens"),
    logp: device.create("float", rows, "logp"),
    ...(scored === undefined ? {} : { scored: upload(device, scored) }),
  };
  device.run("sample", { ...tensors, rows, vocab, ...options });
  const tokens = await device.read(tensors.tokens) as Uint32Array;
  const logp = await device.read(tensors.logp);
  for (const tensor of Object.values(tensors)) device.free(tensor);
  return { tokens, logp };
}

/**
 * Counters [rows, COUNTER_WORDS]; row r has prompt r, branch r mod 7, position 3r and the seed
 * `SEED` + r mod 3.
 */
export function countersOf(rows: number, first = 0): Uint32Array {
  const counters = new Uint32Array(rows * COUNTER_WORDS);
  for (let r = 0; r < rows; r++) {
    const number = first + r, counter = sampleCounter(number, number % 7, 3 * number);
    counters.set([...counter, ...seedWords(SEED + number % 3)], r * COUNTER_WORDS);
  }
  return counters;
}

/** Random logits. */
export function logitsOf(name: string, rows: number, vocab: number): Float32Array {
  return normals(stream(`sample ${name} ${rows} ${vocab}`), rows * vocab, 2);
}

/**
 * The probability of every token after temperature, top-k, top-p (the smallest set with mass ≥
 * topP) and min-p, with all ties of the last token that is kept; at temperature 0 the lowest index
 * of the maximum. It sorts the tokens, unlike the kernels, which search thresholds.
 */
function keptDistribution(
  logits: ArrayLike<number>,
  { temperature, topK, topP, minP }: SampleOptions,
): Float64Array {
  const p = new Float64Array(logits.length);
  const z = Float64Array.from(logits, (x) => temperature === 0 ? x : x / temperature);
  const order = Array.from(z.keys()).sort((a, b) => z[a] === z[b] ? a - b : z[b]! < z[a]! ? -1 : 1);
  if (temperature === 0) {
    p[order[0]!] = 1;
    return p;
  }
  const max = z[order[0]!]!;
  const withTies = (count: number) => order.filter((t) => z[t]! >= z[order[count - 1]!]!);
  let kept = topK > 0 && topK < z.length ? withTies(topK) : order;
  const mass = (ids: number[]) => ids.reduce((sum, t) => sum + Math.exp(z[t]! - max), 0);
  if (topP < 1) {
    const wanted = topP * mass(kept);
    let count = 0, sum = 0;
    while (sum < wanted && count < kept.length) sum += Math.exp(z[kept[count++]!]! - max);
    kept = withTies(count);
  }
  if (minP > 0) kept = kept.filter((t) => Math.exp(z[t]! - max) >= minP);
  const total = mass(kept);
  for (const t of kept) p[t] = Math.exp(z[t]! - max) / total;
  return p;
}

/** Logits [rows, vocab] with the options of a draw, and what is expected, computed once. */
export interface Draws {
  what: string;
  logits: Float32Array;
  vocab: number;
  options: SampleOptions;
  /** The logits of the log-probabilities, where they are others. */
  scored?: Float32Array;
  expected?: { kept: Float64Array; full: Float64Array; rounding: number }[];
}

function expectedOf({ logits, vocab, options, scored = logits }: Draws) {
  const temperature = options.temperature || 1;
  return Array.from({ length: logits.length / vocab }, (_, r) => {
    const row = (all: Float32Array) => all.subarray(r * vocab, (r + 1) * vocab);
    const full = keptDistribution(row(scored), { ...PLAIN, temperature });
    // Scores of size s are rounded by some 2^−24·s.
    const sizes = [...row(scored)].filter((_, t) => full[t]! > 0).map(Math.abs);
    const rounding = 2 ** -22 * Math.max(10, ...sizes.map((x) => x / temperature));
    return { kept: keptDistribution(row(logits), options), full, rounding };
  });
}

/**
 * Asserts that each token is the inverse transform of the row's uniform number among the tokens
 * that are kept, and that `logp` is that of the full softmax.
 */
export async function checkDraws(device: Device, draws: Draws): Promise<void> {
  const { logits, vocab, options, scored } = draws, counters = countersOf(logits.length / vocab);
  const { tokens, logp } = await drawTokens(device, logits, counters, vocab, options, scored);
  const random = new Uint32Array(4);
  for (const [r, { kept, full, rounding }] of (draws.expected ??= expectedOf(draws)).entries()) {
    const token = tokens[r]!, p = kept[token];
    const what = `${draws.what} ${JSON.stringify(options)} on ${device.name}: row ${r}`;
    assert.ok(p !== undefined && p > 0, `${what} drew token ${token}, which is cut off`);
    const words = counters.subarray(r * COUNTER_WORDS, (r + 1) * COUNTER_WORDS);
    const [c1, c2, c3, low, high] = words;
    philox4x32(random, 0, c1!, c2!, c3!, low!, high!);
    const u = uniform23(random[0]!), room = Math.max(1e-5, rounding);
    let below = 0;
    for (let t = 0; t < token; t++) below += kept[t]!;
    assert.ok(
      u > below - room && u < below + p + room,
      `${what}: u ${u}, token ${token} spans ${below}…${below + p}`,
    );
    const error = Math.abs(logp[r]! - Math.log(full[token]!));
    assert.ok(error < 5e-6 + rounding, `${what}: logp is off by ${error}`);
  }
}
