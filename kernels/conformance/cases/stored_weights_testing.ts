/**
 * Cases of frozen weights in every storage type: x·Wᵀ, dy·W, rows of an embedding, and the fused
 * head. The bounds are those of the same operation with the widened weight.
 */
import type { RandomStream } from "../../../core/philox.ts";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import { junk, normals, stream } from "../../testing.ts";
import { blockOf, WEIGHT_TYPES, type WeightType } from "../../weights/types.ts";
import { HEAD_OUTPUTS } from "./head_testing.ts";
import { INT8_ACTIVATIONS } from "../../ops/matmul/spec.ts";
import { productCase } from "./matmul_testing.ts";
import { type Case, exact, execute, ofLargest, testCase } from "../runner_testing.ts";
import { randomStored } from "../../weights/random_stored.ts";

/** [m, n, blocks of k, r]: x·Wᵀ with an adapter of rank r; r = 0 means without. */
const PRODUCTS = [
  [1, 1, 1, 0],
  [1, 16, 1, 3],
  [1, 35, 9, 0],
  [1, 576, 2, 8],
  [2, 48, 3, 0],
  [3, 33, 5, 2],
  [4, 20, 2, 0],
  [5, 64, 7, 4],
  [7, 17, 1, 0],
  [16, 50, 4, 0],
  [17, 32, 3, 5],
  [33, 130, 2, 0],
  [150, 65, 3, 4],
  [0, 8, 1, 0],
  [3, 0, 1, 0],
  [3, 5, 0, 0],
  [7, 48, 0, 2],
] as const;

/** [m, blocks of n, k]: dy·W. */
const GRADIENTS = [
  [1, 1, 1],
  [1, 3, 35],
  [2, 1, 48],
  [5, 2, 17],
  [16, 4, 100],
  [33, 5, 65],
  [150, 2, 333],
  [0, 1, 4],
  [3, 0, 5],
  [3, 1, 0],
] as const;

/** [rows, blocks of d, rows of the table]. */
const GATHERS = [[1, 1, 1], [5, 3, 37], [70, 2, 16], [0, 1, 3]] as const;

/** [vocab, blocks of d, number of pairs of each row]. */
const HEADS = [
  [1, 1, [2]],
  [100, 2, [1, 0, 3]],
  [1039, 1, [2, 1, 0, 1, 1]],
  [333, 3, Array.from({ length: 60 }, (_, i) => i % 3)],
] as const;

/**
 * The cases of all types.
 * @param brief for a software adapter, which needs a second to compile a kernel: each type has a
 *   product of few rows and one of many, a gradient, a gather and a head, with different shapes
 */
export async function storedCases(brief = false): Promise<Case[]> {
  const cases: Case[] = [];
  for (const [number, weightType] of WEIGHT_TYPES.entries()) {
    /** All shapes; if `brief`, one of each span, which differs between types. */
    const some = <T>(shapes: readonly T[], ...spans: [from: number, end: number][]) =>
      brief ? spans.map(([from, end]) => shapes[from + number % (end - from)]!) : shapes;
    const random = stream(`stored ${weightType}`);
    // A block of f16 or bf16 is only a pair of values: use more of them.
    const block = blockOf(weightType) === 2 ? 26 : blockOf(weightType);
    for (const [m, n, blocks, r] of some(PRODUCTS, [0, 6], [6, 13])) {
      cases.push(productCase(random, { m, n, k: block * blocks, r, transB: true, weightType }));
    }
    // Odd multiples of 16, which are impossible for the other types.
    for (const k of blockOf(weightType) === 2 ? [48, 176] : []) {
      cases.push(productCase(random, { m: 7, n: 40, k, r: 0, transB: true, weightType }));
    }
    if (INT8_ACTIVATIONS.includes(weightType)) {
      for (const [m, n, blocks, r] of some(PRODUCTS, [1, 6], [6, 13])) {
        const shape = { m, n, k: block * blocks, r, transB: true, weightType } as const;
        cases.push(productCase(random, { ...shape, activations: "int8" }));
      }
    }
    for (const [m, blocks, k] of some(GRADIENTS, [1, 7])) {
      cases.push(productCase(random, { m, n: block * blocks, k, r: 0, weightType }));
    }
    for (const [rows, blocks, tableRows] of some(GATHERS, [1, 3])) {
      cases.push(storedGatherCase(random, weightType, rows, block * blocks, tableRows));
    }
    // Half of the heads, in turns.
    const turn = HEADS.filter((_, i) => (i + number) % 2 === 0);
    for (const [vocab, blocks, pairs] of brief ? some(HEADS, [1, 4]) : turn) {
      const heads = await storedHeadCases(random, weightType, vocab, block * blocks, pairs);
      // The parts of a head without the weight are the same for all types, which take turns.
      cases.push(...(brief ? [heads[0]!, heads[1 + number % (heads.length - 1)]!] : heads));
    }
  }
  return cases;
}

export function storedGatherCase(
  random: RandomStream,
  weightType: WeightType,
  rows: number,
  d: number,
  tableRows: number,
): Case {
  const table = randomStored(random, weightType, tableRows, d);
  const index = Uint32Array.from({ length: rows }, () => random.below(tableRows));
  const name = `${rows} of [${tableRows}×${d}] ${weightType}`;
  return testCase("gather_rows", name, {
    table,
    weightType,
    index,
    out: junk(rows * d),
    rows,
    d,
  }, { out: exact });
}

export async function storedHeadCases(
  random: RandomStream,
  weightType: WeightType,
  vocab: number,
  d: number,
  pairCounts: readonly number[],
): Promise<Case[]> {
  const rows = pairCounts.length;
  const pairStart = Uint32Array.from([0, ...pairCounts]);
  for (let r = 0; r < rows; r++) pairStart[r + 1]! += pairStart[r]!;
  const pairs = pairStart[rows]!;
  const weight = randomStored(random, weightType, vocab, d);
  const shared = {
    hidden: normals(random, rows * d, 2 / Math.sqrt(d)),
    weight,
    weightType,
    pairStart,
    targets: Uint32Array.from({ length: pairs }, () => random.below(vocab)),
    rows,
    pairs,
    vocab,
    d,
    temperature: 0.8,
  };
  const forward = {
    ...shared,
    logp: junk(pairs),
    lse: junk(rows),
    entropy: junk(rows),
    mean: junk(rows * d),
  };
  const name = `${rows} rows, vocab ${vocab}, d ${d}, ${weightType}`;
  const outputs = { ...HEAD_OUTPUTS, mean: ofLargest() };
  const head = testCase("head", name, forward, outputs);
  const { mean: _, ...plain } = forward, { mean: _m, ...plainOutputs } = outputs;
  const device = createReferenceDevice({ float: "f64" });
  const made = await execute(device, head);
  device.close();
  const after = (output: string) => Float32Array.from(made.get(output)!);
  const backward = { ...shared, lse: after("lse"), entropy: after("entropy") };
  const dlogp = normals(random, pairs), dentropy = normals(random, rows), r = 8;
  const adapter = { xa: normals(random, rows * r), loraB: normals(random, vocab * r, 0.1) };
  const lora = { ...adapter, r, loraScale: 0.5, dxa: junk(rows * r) };
  const back = (what: string, more: object, ...others: ("dxa" | "dloraB" | "dweight")[]) => {
    const args = { ...backward, dlogp, dhidden: junk(rows * d), ...more };
    const bounds = Object.fromEntries(others.map((name) => [name, ofLargest()]));
    return testCase("head_backward", name + what, args, { dhidden: ofLargest(), ...bounds });
  };
  return [
    head,
    back(", adapter", { ...lora, dloraB: normals(random, vocab * r) }, "dxa", "dloraB"),
    testCase("head", `${name}, no mean`, plain, plainOutputs),
    back(", from the mean", { mean: after("mean") }),
    back(", entropy", { dentropy }),
    back(", dweight", { dweight: normals(random, vocab * d) }, "dweight"),
  ];
}
