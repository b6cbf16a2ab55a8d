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

/** Distinct random logits, so that no threshold has ties. */
export function logitsOf(name: string, rows: number, vocab: number): Float32Array {
  return normals(stream(`sample ${name} ${rows} ${vocab}`), rows * vocab, 2);
}

/**
 * The probability of every token after temperature, top-k, top-p (the smallest set with mass ≥
 * topP) and min-p. It sorts the tokens, unlike the kernels, which search thresholds.
 */
export function keptDistribution(
  logits: ArrayLike<number>,
  { temperature, topK, topP, minP }: SampleOptions,
): Float64Array {
  const z = Float64Array.from(logits, (x) => x / temperature);
  const order = Array.from(z.keys()).sort((a, b) => z[b]! - z[a]!);
  const max = z[order[0]!]!;
  let kept = topK > 0 ? order.slice(0, topK) : order;
  const mass = (ids: number[]) => ids.reduce((sum, t) => sum + Math.exp(z[t]! - max), 0);
  if (topP < 1) {
    const wanted = topP * mass(kept);
    let count = 0, sum = 0;
    while (sum < wanted && count < kept.length) sum += Math.exp(z[kept[count++]!]! - max);
    kept = kept.slice(0, count);
  }
  if (minP > 0) kept = kept.filter((t) => Math.exp(z[t]! - max) >= minP);
  const total = mass(kept);
  const p = new Float64Array(z.length);
  for (const t of kept) p[t] = Math.exp(z[t]! - max) / total;
  return p;
}

/**
 * Asserts that each token is the inverse transform of the row's uniform number, and that `logp` is
 * that of the full softmax.
 */
export async function checkDraws(
  device: Device,
  rows: number,
  vocab: number,
  options: SampleOptions,
): Promise<void> {
  const logits = logitsOf("draws", rows, vocab), counters = countersOf(rows);
  const { tokens, logp } = await drawTokens(device, logits, counters, vocab, options);
  const what = `sample of ${rows}×${vocab} ${JSON.stringify(options)} on ${device.name}`;
  const random = new Uint32Array(4);
  for (let r = 0; r < rows; r++) {
    const row = logits.subarray(r * vocab, (r + 1) * vocab), token = tokens[r]!;
    assert.ok(token < vocab, `${what}: token ${token} in row ${r}`);
    const words = counters.subarray(r * COUNTER_WORDS, (r + 1) * COUNTER_WORDS);
    const [c1, c2, c3, low, high] = words;
    philox4x32(random, 0, c1!, c2!, c3!, low!, high!);
    const u = uniform23(random[0]!), p = keptDistribution(row, options);
    assert.ok(p[token]! > 0, `${what}: row ${r} drew token ${token}, which is cut off`);
    let below = 0;
    for (let t = 0; t < token; t++) below += p[t]!;
    const rounding = 1e-5;
    assert.ok(
      u > below - rounding && u < below + p[token]! + rounding,
      `${what}: row ${r}: u ${u}, token ${token} spans ${below}…${below + p[token]!}`,
    );
    const full = keptDistribution(row, { ...PLAIN, temperature: options.temperature });
    const error = Math.abs(logp[r]! - Math.log(full[token]!));
    assert.ok(error < 5e-6 + 2 ** -22 * 10, `${what}: row ${r}: logp is off by ${error}`);
  }
}
