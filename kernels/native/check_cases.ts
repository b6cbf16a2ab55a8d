/**
 * What the self-check computes: operations that together use every native kernel but the two that
 * load weights, whose rounding others share. A case has the numbers of a call, and those tensors
 * whose contents matter. The other tensors follow from the check of the operation (validation/).
 */
import { dynamicTables } from "../ops/adamw_8bit/dynamic_map.ts";
import { BRANCH } from "../ops/attention_decode/spec.ts";
import { SEGMENT } from "../ops/attention/spec.ts";
import { INT8_ACTIVATIONS, packedLength } from "../ops/matmul/spec.ts";
import type { OpName, Ops } from "../ops/ops.ts";
import { NO_STATE } from "../ops/delta_rule/spec.ts";
import { NO_ROW } from "../ops/short_conv/spec.ts";
import { convolutionTables } from "../ops/short_conv/tables.ts";
import type { HostArray, Tensor } from "../tensor.ts";
import { tensorsOf } from "../validation/validate.ts";
import { storedWords, WEIGHT_TYPES } from "../weights/types.ts";

/** An operation, its arguments with host arrays in place of tensors, and those that it writes. */
export interface Check {
  op: OpName;
  args: Readonly<Record<string, unknown>>;
  outputs: readonly string[];
}

/** The arguments that are tensors. */
type TensorNames<K extends OpName> =
  & string
  & {
    [P in keyof Ops[K]]-?: Exclude<Ops[K][P], undefined> extends Tensor ? P : never;
  }[keyof Ops[K]];

type Given<K extends OpName> =
  & Omit<Ops[K], TensorNames<K>>
  & { [P in TensorNames<K>]?: HostArray };

/** Numbers that look random, of which all checks use parts: making them takes a while. */
const COUNT = 2 ** 17;

function randomWords(): Uint32Array {
  const made = new Uint32Array(COUNT);
  for (let i = 0; i < COUNT; i++) {
    const x = Math.imul(i + 1, 0x9e3779b1);
    made[i] = Math.imul(x ^ x >>> 15, 0x85ebca6b);
  }
  return made;
}

/** Makes checks and the numbers for them; parts overlap. */
class Checks {
  readonly #stored = randomWords();
  readonly #floats = new Float32Array(COUNT);
  #next = 0;

  constructor() {
    for (let i = 0; i < COUNT; i++) this.#floats[i] = this.#stored[i]! * 2 ** -31 - 1;
    // Without the uppermost bit of their exponents, none of the numbers in a stored weight is
    // infinite, whatever its type is: an f16, a bf16 or an f32.
    for (let i = 0; i < COUNT; i++) this.#stored[i]! &= 0xbfffbfff;
  }

  #part<A extends HostArray>(numbers: A, count: number): A {
    this.#next = (this.#next + 1009) % (COUNT - count + 1);
    return numbers.slice(this.#next, this.#next + count) as A;
  }

  /** Numbers between −1 and 1. */
  floats(count: number): Float32Array {
    return this.#part(this.#floats, count);
  }

  /** Codes and scales of a stored weight, counters of random numbers, sets of tokens. */
  stored(count: number): Uint32Array {
    return this.#part(this.#stored, count);
  }

  /** @param optional further tensors that the call has */
  of<K extends OpName>(
    op: K,
    given: Given<K>,
    optional: readonly TensorNames<K>[] = [],
  ): Check {
    const args: Record<string, unknown> = { ...given }, outputs: string[] = [];
    for (const name of optional) args[name] = { dtype: "float" };
    for (const { name, length, dtype, isOutput } of tensorsOf(op, args as unknown as Ops[K])) {
      if (isOutput) outputs.push(name);
      if (name in given) continue;
      args[name] = dtype === "float" ? this.floats(length) : this.stored(length);
    }
    return { op, args, outputs };
  }
}

type Shape = Omit<Ops["matmul"], TensorNames<"matmul">>;

/** Products with all layouts and edges of tiles. */
const SHAPES: readonly Shape[] = [
  { m: 33, n: 70, k: 340 },
  { m: 5, n: 100, k: 70, accumulate: true, alpha: 0.5 },
  { m: 40, n: 50, k: 90, transB: true },
  { m: 400, n: 37, k: 40, transB: true, accumulate: true },
  { m: 20, n: 24, k: 64, transA: true },
  { m: 1, n: 44, k: 64, transB: true, alpha: 0.5 },
  { m: 7, n: 20, k: 40, transB: true, accumulate: true },
  { m: 70, n: 130, k: 45, transA: true, alpha: 0.25 },
  { m: 48, n: 51, k: 2060, transA: true },
  { m: 16, n: 70, k: 1030, transA: true, accumulate: true },
  { m: 100, n: 16, k: 1030, transA: true, accumulate: true, alpha: 0.5 },
  ...WEIGHT_TYPES.flatMap((weightType): Shape[] => [
    { m: 1, n: 90, k: 512, transB: true, weightType },
    { m: 2, n: 40, k: 256, transB: true, weightType, accumulate: true },
    { m: 7, n: 40, k: 512, transB: true, weightType, accumulate: true },
    { m: 100, n: 33, k: 256, transB: true, weightType, alpha: 0.5, r: 8 },
    { m: 16, n: 48, k: 256, transB: true, weightType, r: 16, loraScale: 2 },
    { m: 19, n: 256, k: 35, weightType },
  ]),
  ...INT8_ACTIVATIONS.flatMap((weightType) =>
    [1, 4, 30].map((m): Shape => {
      return { m, n: 70, k: 256, transB: true, weightType, activations: "int8", alpha: 0.5 };
    })
  ),
];

const product = (shape: Shape, checks: Checks): Check =>
  checks.of("matmul", shape, shape.r === undefined ? [] : ["xa", "loraB"]);

/** Prompts of one group each, with two branches. */
const GROUPS = [[7, 20, 13], [100, 9, 33]] as const;

/** Attention and its gradient, with a window or without (undefined). */
function attention(window: number | undefined, headDim: number, checks: Checks): Check[] {
  const segments: number[] = [],
    rowSegment: number[] = [],
    add = (segment: number[]) => {
      rowSegment.push(...new Array<number>(segment[1]! - segment[0]!).fill(segments.length / 5));
      segments.push(...segment);
    };
  let rows = 0;
  for (const [prompt, ...branches] of GROUPS) {
    const first = rows, end = branches.reduce((sum, n) => sum + n, first + prompt);
    rows += prompt;
    add([first, rows, first, first, end]);
    for (const branch of branches) {
      add([rows, rows + branch, first, first + prompt, rows + branch]);
      rows += branch;
    }
  }
  const args = {
    segments: Uint32Array.from(segments),
    rowSegment: Uint32Array.from(rowSegment),
    segmentCount: segments.length / SEGMENT.columns,
    rows,
    heads: 6,
    kvHeads: 2,
    headDim,
    scale: 2,
    ...(window === undefined ? {} : { window }),
  };
  return [
    checks.of("attention", args),
    checks.of("attention", args, ["sinks"]),
    checks.of("attention_backward", args),
  ];
}

/** Caches and a branch table: three branches of one prompt, and two of another one. */
function branches(maxNew: number, width: number, checks: Checks) {
  const count = 5, rows = 240;
  const table = [[0, 90], [0, 90], [0, 90], [96, 230], [96, 230]].flatMap((prompt, b) => {
    const row = new Array<number>(BRANCH.columns).fill(0);
    row.splice(0, 4, ...prompt, b, 1 + b * 23 % maxNew);
    return row;
  });
  return {
    prefixK: checks.floats(rows * width),
    prefixV: checks.floats(rows * width),
    branchK: checks.floats(count * maxNew * width),
    branchV: checks.floats(count * maxNew * width),
    branches: Uint32Array.from(table),
    count,
    maxNew,
    rows,
  };
}

/** Attention of decoding: few queries per key head, or many. */
function decoding(
  heads: number,
  kvHeads: number,
  headDim: number,
  checks: Checks,
  bf16 = false,
): Check {
  const { rows: _, ...caches } = branches(110, kvHeads * headDim, checks);
  const halves = ({ length }: Float32Array) => checks.stored(length / 2);
  return checks.of("attention_decode", {
    ...caches,
    ...(bf16 && {
      prefixK: halves(caches.prefixK),
      prefixV: halves(caches.prefixV),
      branchK: halves(caches.branchK),
      branchV: halves(caches.branchV),
    }),
    heads,
    kvHeads,
    headDim,
    scale: 1,
    bf16,
  });
}

function decodeLayer(checks: Checks): Check {
  const d = 40, f = 50, heads = 4, kvHeads = 2, headDim = 8, kv = kvHeads * headDim;
  const { rows, ...caches } = branches(9, kv, checks), { count, maxNew, branches: table } = caches;
  const numbered = (of: (b: number) => number) =>
    Uint32Array.from({ length: count }, (_, b) => of(b));
  const kept = (n: number) => checks.floats(count * n);
  return checks.of("decode_layer", {
    ...caches,
    cos: checks.floats(80),
    sin: checks.floats(80),
    positions: numbered((b) => 3 * b),
    cacheRow: numbered((b) => b * maxNew + table[b * BRANCH.columns + BRANCH.length]! - 1),
    packedPrefixK: checks.floats(packedLength(rows, kv)),
    keptRow: numbered((b) => b),
    keptH: kept(d),
    keptQ: kept(heads * headDim),
    keptK: kept(kv),
    keptV: kept(kv),
    keptMid: kept(d),
    keptGate: kept(f),
    keptUp: kept(f),
    d,
    f,
    heads,
    kvHeads,
    headDim,
    scale: 0.3,
    eps: 1e-5,
  });
}

/** The head's forward, with a mean, with an adapter or without, and its backward. */
function heads(checks: Checks): Check[] {
  const rows = 50, vocab = 1085, d = 36, pairs = rows;
  const args = {
    pairStart: Uint32Array.from({ length: rows + 1 }, (_, i) => i),
    targets: Uint32Array.from({ length: pairs }, (_, i) => i * 37 % vocab),
    rows,
    pairs,
    vocab,
    d,
    temperature: 0.7,
  };
  const lse = checks.floats(rows).map((x) => x + 8);
  return [
    checks.of("head", args),
    checks.of("head", args, ["mean"]),
    checks.of("head", { ...args, r: 5, loraScale: 2 }, ["xa", "loraB"]),
    checks.of("head", { ...args, d: 32, weightType: "q8_0" }, ["mean"]),
    checks.of("head_backward", { ...args, lse }, ["dentropy"]),
  ];
}

/** rmsnorm and swiglu with their gradients, and rope. */
function rowOperations(checks: Checks): Check[] {
  const rows = 9, d = 84, n = rows * d, norm = { rows, d, eps: 1e-5 };
  const positions = Uint32Array.from({ length: rows }, (_, i) => i);
  return [
    checks.of("rmsnorm", norm),
    checks.of("rmsnorm", { ...norm, offset: 1 }),
    checks.of("rmsnorm", norm, ["add", "sum"]),
    checks.of("rmsnorm_backward", { rows, d, accumulate: true }, ["dweight"]),
    checks.of("rmsnorm_backward", { rows, d, offset: 1 }),
    ...[2, 7].map((heads) => {
      const tables = { cos: checks.floats(n), sin: checks.floats(n), positions };
      return checks.of("rope", { ...tables, rows, heads, headDim: d / heads });
    }),
    ...[{}, { gelu: true }, { sigmoid: true }, { limit: 0.5 }].flatMap((gate) => [
      checks.of("swiglu", { n, ...gate }),
      checks.of("swiglu_backward", { n, ...gate }),
      checks.of("swiglu_backward", { n, ...gate }, ["activated"]),
    ]),
  ];
}

/** Rows of a table, and draws without a filter: by themselves, with other scores, and greedily. */
function rowsAndDraws(checks: Checks): Check[] {
  const rows = 5, vocab = 333, d = 37;
  const index = Uint32Array.from({ length: rows }, (_, i) => (i * 3 + 1) % 7);
  const moved = { index, table: checks.floats(7 * d), rows, d };
  const logits = checks.floats(rows * vocab).map((x) => 9 * x);
  const draws = { logits, rows, vocab, topK: 0, topP: 1, minP: 0 };
  return [
    checks.of("gather_rows", moved),
    checks.of("scatter_rows", moved),
    checks.of("scatter_rows", { ...moved, table: new Uint32Array(7 * 18), d: 36, bf16: true }),
    checks.of("sample", { ...draws, temperature: 0.9 }),
    checks.of("sample", { ...draws, temperature: 1.1 }, ["scored"]),
    checks.of("sample", { ...draws, temperature: 0 }),
  ];
}

/** LayerNorm, GELU, dropout, biases, and what is done with single elements. */
function elements(checks: Checks): Check[] {
  const rows = 7, d = 84, n = rows * d, size = { rows, d };
  const masks = { p: 0.3, site: 2, seedLow: 5, seedHigh: 6, accumulate: true };
  const squares = checks.floats(d).map((x) => 9 + x);
  return [
    checks.of("layernorm", { ...size, eps: 1e-5 }, ["add", "sum"]),
    checks.of("layernorm_backward", { ...size, accumulate: true }, ["dweight"]),
    checks.of("add_bias", size),
    checks.of("add_bias_backward", size),
    checks.of("dora_gain", { squares, r: 3, d }),
    checks.of("scale_columns", size),
    checks.of("scale_columns", { ...size, byRow: true }),
    checks.of("scale_columns_backward", size),
    checks.of("gelu", { n }),
    checks.of("gelu_backward", { n }, ["activated"]),
    checks.of("dropout", { ...size, ...masks }),
    checks.of("add", { n, scale: 0.3 }, ["a"]),
    checks.of("multiply", { n }),
    checks.of("soft_cap", { n, cap: 0.7 }),
    checks.of("soft_cap_backward", { n, cap: 3 }),
    checks.of("copy", { n }, ["src"]),
    checks.of("fill", { n, value: 3 }),
    ...shortConvolution(checks),
    ...deltaRules(checks),
  ];
}

/** A short convolution of one sequence. */
function shortConvolution(checks: Checks): Check[] {
  const rows = 7, d = 84, taps = 3, sizes = { rows, d, taps };
  const { before, ...reverse } = convolutionTables(
    Uint32Array.from({ length: rows }, (_, row) => row === 0 ? NO_ROW : row - 1),
    taps,
  );
  const table = checks.floats(rows * d);
  return [
    checks.of("short_conv", { ...sizes, before, table }, ["gate"]),
    checks.of("short_conv_backward", { ...sizes, before, ...reverse }, [
      "gate",
      "dgate",
      "dweight",
    ]),
  ];
}

/** A delta rule of a prompt and a branch. */
function deltaRules(checks: Checks): Check[] {
  const segments = Uint32Array.from([0, 4, NO_STATE, 0, 4, 7, 0, NO_STATE]);
  const sizes = { keyHeads: 1, valueHeads: 2, keyDim: 20, valueDim: 19 };
  const args = { ...sizes, segments, segmentCount: 2, rows: 7 };
  return [
    checks.of("delta_rule", { ...args, roots: 1 }),
    checks.of("delta_rule_backward", { ...args, states: 1, longest: 4 }),
  ];
}

/** Optimizers, and weights in bfloat16. */
function optimizers(checks: Checks): Check[] {
  const n = 4442, positive = (count: number) => checks.floats(count).map(Math.abs);
  const step = {
    n,
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-8,
    weightDecay: 0.1,
    correction1: 0.3,
    correction2: 0.1,
    gradScale: 0.7,
  };
  const rounding = { n, first: 8, c1: 1, c2: 2, c3: 3, seedLow: 4, seedHigh: 5 };
  const vMax = positive(Math.ceil(n / 256)), tables = dynamicTables();
  return [
    checks.of("adamw", { ...step, v: positive(n) }),
    checks.of("adamw_8bit", { ...step, vMax, tables }),
    checks.of("sum_squares", { n }),
    checks.of("widen_bf16", { n }, ["rest"]),
    checks.of("round_bf16", rounding),
    checks.of("round_bf16", rounding, ["rest"]),
  ];
}

/** Filtered draws, rules for logits, sums and stored weights of rows, and a head from its mean. */
function rules(checks: Checks): Check[] {
  const rows = 5, vocab = 333, d = 256, weightType = "q6_k" as const;
  const order = Uint32Array.from({ length: rows }, (_, i) => rows - 1 - i);
  const three = Uint32Array.from([0, 3, 5]), logits = checks.floats(rows * vocab).map((x) => 9 * x);
  const seen = checks.stored(rows * Math.ceil(vocab / 32));
  const pairStart = Uint32Array.from([0, 1, 1, 3, 4, rows]);
  const head = { rows, vocab: 16, d, pairs: rows, pairStart, targets: order, temperature: 0.7 };
  return [
    checks.of("sample", { logits, rows, vocab, temperature: 0.9, topK: 40, topP: 0.9, minP: 0.01 }),
    checks.of("adjust_logits", {
      rows,
      vocab,
      penalty: 1.2,
      seen,
      slots: order,
      newest: order,
      forbidden: three,
      forbiddenCount: three.length,
    }, ["allowed"]),
    checks.of("gather_rows", {
      table: checks.stored(storedWords(weightType, 16, d)),
      weightType,
      index: order,
      rows,
      d,
    }),
    checks.of("scatter_add_rows", {
      src: checks.floats(rows * d),
      order,
      runs: three,
      target: Uint32Array.from([1, 0]),
      runCount: 2,
      d,
    }),
    checks.of("head_backward", { ...head, weightType }, ["mean"]),
  ];
}

/** Rounded products with all layouts, and the head's running values. */
const ROUNDED_SHAPES: readonly Shape[] = [
  { m: 33, n: 70, k: 340 },
  { m: 5, n: 32, k: 70, transB: true, accumulate: true, alpha: 0.5 },
  { m: 64, n: 64, k: 96, transB: true },
  { m: 48, n: 51, k: 2060, transA: true },
  { m: 16, n: 70, k: 1030, transA: true, accumulate: true },
  { m: 100, n: 16, k: 1030, transA: true, accumulate: true, alpha: 0.5 },
  { m: 1, n: 90, k: 512, transB: true, weightType: "bf16" },
  { m: 37, n: 40, k: 512, transB: true, weightType: "q4_1" },
  { m: 19, n: 256, k: 35, weightType: "q4_k" },
  { m: 1027, n: 35, k: 40, transB: true },
  { m: 1024, n: 32, k: 35, weightType: "q4_1", accumulate: true },
];

/** All checks of products in bfloat16, and in float16. */
export function* roundedChecks(): Generator<Check> {
  const checks = new Checks();
  for (const shape of ROUNDED_SHAPES) yield product(shape, checks);
  yield heads(checks)[0]!;
}

/** All checks. */
export function* checks(): Generator<Check> {
  const checks = new Checks();
  for (const shape of SHAPES) yield product(shape, checks);
  yield* attention(undefined, 20, checks);
  yield* attention(17, 16, checks);
  for (const [heads, kvHeads, headDim] of [[6, 2, 64], [4, 4, 20], [9, 1, 16]] as const) {
    yield decoding(heads, kvHeads, headDim, checks);
    yield decoding(heads, kvHeads, headDim, checks, true);
  }
  yield decodeLayer(checks);
  yield* heads(checks);
  yield* rowOperations(checks);
  yield* rowsAndDraws(checks);
  yield* elements(checks);
  yield* optimizers(checks);
  yield* rules(checks);
}
