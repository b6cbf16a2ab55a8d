/**
 * What the self-check computes: operations that together use every native kernel but the two that
 * load weights, whose rounding others share.
 */
import { dynamicTables } from "../ops/adamw_8bit/dynamic_map.ts";
import { BRANCH } from "../ops/attention_decode/spec.ts";
import { SEGMENT } from "../ops/attention/spec.ts";
import { INT8_ACTIVATIONS, packedLength } from "../ops/matmul/spec.ts";
import type { OpName, Ops } from "../ops/ops.ts";
import { deltaWidth, NO_STATE, stateSize } from "../ops/delta_rule/spec.ts";
import { NO_ROW } from "../ops/short_conv/spec.ts";
import { convolutionTables } from "../ops/short_conv/tables.ts";
import type { HostArray, Tensor } from "../tensor.ts";
import { storedWords, WEIGHT_TYPES } from "../weights/types.ts";

/** The arguments of an operation, with host arrays in place of tensors. */
export type HostArgs<K extends OpName> = {
  [P in keyof Ops[K]]: Exclude<Ops[K][P], undefined> extends Tensor ? HostArray : Ops[K][P];
};

/** An operation, and the arguments that it writes. */
export interface Check<K extends OpName = OpName> {
  op: K;
  args: HostArgs<K>;
  outputs: (keyof Ops[K] & string)[];
}

function check<K extends OpName>(op: K, args: HostArgs<K>, outputs: (keyof Ops[K] & string)[]) {
  return { op, args, outputs } as unknown as Check;
}

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

/** Numbers for the checks; parts overlap. */
class Numbers {
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

  /** Codes and scales of a stored weight. */
  stored(count: number): Uint32Array {
    return this.#part(this.#stored, count);
  }
}

type Shape = Omit<HostArgs<"matmul">, "a" | "b" | "out" | "xa" | "loraB">;

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

function product(shape: Shape, numbers: Numbers): Check {
  const { m, n, k, weightType, transB = false, r } = shape;
  const lora = r === undefined ? {} : { xa: numbers.floats(m * r), loraB: numbers.floats(n * r) };
  const b = weightType === undefined
    ? numbers.floats(n * k)
    : numbers.stored(transB ? storedWords(weightType, n, k) : storedWords(weightType, k, n));
  const a = numbers.floats(m * k), out = numbers.floats(m * n);
  return check("matmul", { a, b, out, ...lora, ...shape }, ["out"]);
}

/** Prompts of one group each, with two branches. */
const GROUPS = [[7, 20, 13], [100, 9, 33]] as const;

/** Attention and its gradient, with a window or without (undefined). */
function attention(window: number | undefined, headDim: number, numbers: Numbers): Check[] {
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
  const heads = 6, kvHeads = 2, wide = rows * heads * headDim, narrow = rows * kvHeads * headDim;
  const args = {
    q: numbers.floats(wide),
    k: numbers.floats(narrow),
    v: numbers.floats(narrow),
    out: numbers.floats(wide),
    lse: numbers.floats(rows * heads),
    segments: Uint32Array.from(segments),
    rowSegment: Uint32Array.from(rowSegment),
    segmentCount: segments.length / SEGMENT.columns,
    rows,
    heads,
    kvHeads,
    headDim,
    scale: 2,
    ...(window === undefined ? {} : { window }),
  };
  const gradients = { dq: args.out, dk: numbers.floats(narrow), dv: numbers.floats(narrow) };
  const backward = { ...args, ...gradients, out: args.q, dout: numbers.floats(wide) };
  return [
    check("attention", args, ["out", "lse"]),
    check("attention_backward", backward, ["dq", "dk", "dv"]),
  ];
}

/** A branch table: three branches of one prompt, and two of another one. */
function branchTable(maxNew: number): { branches: Uint32Array; count: number; rows: number } {
  const branches = [[0, 90], [0, 90], [0, 90], [96, 230], [96, 230]].flatMap((prompt, b) => {
    const row = new Array<number>(BRANCH.columns).fill(0);
    row.splice(0, 4, ...prompt, b, 1 + b * 23 % maxNew);
    return row;
  });
  return { branches: Uint32Array.from(branches), count: 5, rows: 240 };
}

/** Attention of decoding: few queries per key head, or many. */
function decoding(heads: number, kvHeads: number, headDim: number, numbers: Numbers): Check {
  const maxNew = 110, { branches, count, rows } = branchTable(maxNew);
  const cells = (n: number) => numbers.floats(n * headDim);
  return check("attention_decode", {
    q: cells(count * heads),
    prefixK: cells(rows * kvHeads),
    prefixV: cells(rows * kvHeads),
    branchK: cells(count * maxNew * kvHeads),
    branchV: cells(count * maxNew * kvHeads),
    out: cells(count * heads),
    branches,
    count,
    maxNew,
    heads,
    kvHeads,
    headDim,
    scale: 1,
  }, ["out"]);
}

function decodeLayer(numbers: Numbers): Check {
  const d = 40, f = 50, heads = 4, kvHeads = 2, headDim = 8, kv = kvHeads * headDim, maxNew = 9;
  const width = heads * headDim, { branches, count, rows } = branchTable(maxNew);
  const weight = (n: number, k: number) => numbers.floats(packedLength(n, k));
  return check("decode_layer", {
    x: numbers.floats(count * d),
    inputNorm: numbers.floats(d),
    postNorm: numbers.floats(d),
    wq: weight(width, d),
    wk: weight(kv, d),
    wv: weight(kv, d),
    wo: weight(d, width),
    wGate: weight(f, d),
    wUp: weight(f, d),
    wDown: weight(d, f),
    cos: numbers.floats(80),
    sin: numbers.floats(80),
    positions: Uint32Array.from({ length: count }, (_, b) => 3 * b),
    cacheRow: Uint32Array.from(
      { length: count },
      (_, b) => b * maxNew + branches[b * BRANCH.columns + BRANCH.length]! - 1,
    ),
    prefixK: numbers.floats(rows * kv),
    packedPrefixK: weight(rows, kv),
    prefixV: numbers.floats(rows * kv),
    branchK: numbers.floats(count * maxNew * kv),
    branchV: numbers.floats(count * maxNew * kv),
    keptRow: Uint32Array.from({ length: count }, (_, b) => b),
    keptH: numbers.floats(count * d),
    keptQ: numbers.floats(count * width),
    keptK: numbers.floats(count * kv),
    keptV: numbers.floats(count * kv),
    keptMid: numbers.floats(count * d),
    keptGate: numbers.floats(count * f),
    keptUp: numbers.floats(count * f),
    branches,
    count,
    maxNew,
    d,
    f,
    heads,
    kvHeads,
    headDim,
    scale: 0.3,
    eps: 1e-5,
  }, ["x", "branchK", "branchV", "keptQ", "keptMid", "keptUp"]);
}

/** The head's forward, with a mean, with an adapter or without, and its backward. */
function heads(numbers: Numbers): Check[] {
  const rows = 50, vocab = 1085, d = 36, pairs = rows;
  const args = {
    hidden: numbers.floats(rows * d),
    weight: numbers.floats(vocab * d),
    pairStart: Uint32Array.from({ length: rows + 1 }, (_, i) => i),
    targets: Uint32Array.from({ length: pairs }, (_, i) => i * 37 % vocab),
    lse: numbers.floats(rows),
    entropy: numbers.floats(rows),
    rows,
    pairs,
    vocab,
    d,
    temperature: 0.7,
  };
  const logp = numbers.floats(pairs), mean = numbers.floats(rows * d);
  const lse = numbers.floats(rows).map((x) => x + 8), r = 5;
  const weightType = "q8_0", weight = numbers.stored(storedWords(weightType, vocab, 32));
  const stored = { weight, weightType, d: 32 } as const;
  const adapter = { xa: numbers.floats(rows * r), loraB: numbers.floats(vocab * r), r };
  return [
    check("head", { ...args, logp }, ["logp", "lse", "entropy"]),
    check("head", { ...args, logp, mean }, ["logp", "lse", "entropy", "mean"]),
    check("head", { ...args, logp, ...adapter, loraScale: 2 }, ["logp", "lse", "entropy"]),
    check("head", { ...args, ...stored, logp, mean }, ["logp", "lse", "entropy", "mean"]),
    check("head_backward", {
      ...args,
      lse,
      dlogp: logp,
      dentropy: numbers.floats(rows),
      dhidden: mean,
    }, ["dhidden"]),
  ];
}

/** rmsnorm and swiglu with their gradients, and rope. */
function rowOperations(numbers: Numbers): Check[] {
  const rows = 9, d = 84, n = rows * d, floats = (count: number) => numbers.floats(count);
  const norm = { x: floats(n), weight: floats(d), out: floats(n), rho: floats(rows), rows, d };
  const gated = { dout: floats(n), gate: floats(n), up: floats(n), dgate: floats(n), n };
  const { out: _, ...input } = norm;
  const gradient = { ...input, dout: floats(n), dx: floats(n), dweight: floats(d) };
  return [
    check("rmsnorm", { ...norm, eps: 1e-5 }, ["out", "rho"]),
    check("rmsnorm", { ...norm, eps: 1e-5, offset: 1 }, ["out"]),
    check("rmsnorm_backward", { ...gradient, accumulate: true }, ["dx", "dweight"]),
    check("rmsnorm_backward", { ...gradient, offset: 1 }, ["dx"]),
    check("rmsnorm", { ...norm, add: floats(n), sum: floats(n), eps: 1e-5 }, ["out", "sum"]),
    ...[2, 7].map((heads) =>
      check("rope", {
        x: floats(n),
        cos: floats(n),
        sin: floats(n),
        rows,
        heads,
        headDim: d / heads,
        positions: Uint32Array.from({ length: rows }, (_, i) => i),
      }, ["x"])
    ),
    check("swiglu", { gate: floats(n), up: floats(n), out: floats(n), n }, ["out"]),
    check("swiglu_backward", { ...gated, dup: floats(n) }, ["dgate", "dup"]),
    check("swiglu", { gate: floats(n), up: floats(n), out: floats(n), n, gelu: true }, ["out"]),
    ...[false, true].map((gelu) =>
      check("swiglu_backward", { ...gated, dup: floats(n), activated: floats(n), gelu }, [
        ...["dgate", "dup", "activated"] as const,
      ])
    ),
  ];
}

/** Rows of a table, and draws without a filter: by themselves, with other scores, and greedily. */
function rowsAndDraws(numbers: Numbers): Check[] {
  const rows = 5, vocab = 333, d = 37, floats = (count: number) => numbers.floats(count);
  const index = Uint32Array.from({ length: rows }, (_, i) => (i * 3 + 1) % 7);
  const table = floats(7 * d), moved = floats(rows * d), n = rows * vocab;
  const logits = floats(n).map((x) => 9 * x), logp = floats(rows);
  const counters = Uint32Array.from({ length: 5 * rows }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
  const tokens = new Uint32Array(rows), plain = { topK: 0, topP: 1, minP: 0 };
  const draws = { logits, counters, tokens, logp, rows, vocab, ...plain };
  return [
    check("gather_rows", { table, index, out: moved, rows, d }, ["out"]),
    check("scatter_rows", { src: moved, index, table, rows, d }, ["table"]),
    check("sample", { ...draws, temperature: 0.9 }, ["tokens", "logp"]),
    check("sample", { ...draws, scored: floats(n), temperature: 1.1 }, ["tokens", "logp"]),
    check("sample", { ...draws, temperature: 0 }, ["tokens", "logp"]),
  ];
}

/** LayerNorm, GELU, dropout, biases, and what is done with single elements. */
function elements(numbers: Numbers): Check[] {
  const rows = 7, d = 84, n = rows * d, floats = (count: number) => numbers.floats(count);
  const norm = { x: floats(n), weight: floats(d), mean: floats(rows), rho: floats(rows), rows, d };
  const masks = { keys: numbers.stored(3 * rows), p: 0.3, site: 2, seedLow: 5, seedHigh: 6 };
  return [
    check("layernorm", {
      ...norm,
      add: floats(n),
      sum: floats(n),
      bias: floats(d),
      out: floats(n),
      eps: 1e-5,
    }, ["out", "sum", "mean", "rho"]),
    check("layernorm_backward", {
      ...norm,
      dout: floats(n),
      dx: floats(n),
      dweight: floats(d),
      accumulate: true,
    }, ["dx", "dweight"]),
    check("add_bias", { x: floats(n), bias: floats(d), rows, d }, ["x"]),
    check("add_bias_backward", { dout: floats(n), dbias: floats(d), rows, d }, ["dbias"]),
    check("dora_gain", {
      squares: Float32Array.from(floats(d), (x) => 9 + x),
      q: floats(3 * d),
      b: floats(3 * d),
      magnitude: floats(d),
      rho: floats(d),
      gain: floats(d),
      r: 3,
      d,
    }, ["rho", "gain"]),
    check("scale_columns", { x: floats(n), gain: floats(d), out: floats(n), rows, d }, ["out"]),
    check("scale_columns", {
      x: floats(n),
      gain: floats(rows),
      out: floats(n),
      rows,
      d,
      byRow: true,
    }, ["out"]),
    check("scale_columns_backward", {
      dout: floats(n),
      x: floats(n),
      rho: floats(d),
      dmagnitude: floats(d),
      rows,
      d,
    }, ["dmagnitude"]),
    check("gelu", { x: floats(n), out: floats(n), n }, ["out"]),
    check("gelu_backward", {
      dout: floats(n),
      x: floats(n),
      dx: floats(n),
      activated: floats(n),
      n,
    }, ["dx", "activated"]),
    check("dropout", { ...masks, x: floats(n), out: floats(n), rows, d, accumulate: true }, [
      "out",
    ]),
    check("add", { a: floats(n), b: floats(n), out: floats(n), n, scale: 0.3 }, ["out"]),
    check("multiply", { a: floats(n), b: floats(n), out: floats(n), n }, ["out"]),
    check("soft_cap", { x: floats(n), out: floats(n), n, cap: 0.7 }, ["out"]),
    check("soft_cap_backward", { dout: floats(n), y: floats(n), dx: floats(n), n, cap: 3 }, [
      "dx",
    ]),
    ...shortConvolution(numbers),
    ...deltaRules(numbers),
    check("copy", { src: floats(n), out: floats(n), n }, ["out"]),
    check("fill", { out: floats(n), n, value: 3 }, ["out"]),
  ];
}

/** A short convolution of one sequence. */
function shortConvolution(numbers: Numbers): Check[] {
  const rows = 7, d = 84, taps = 3, n = rows * d;
  const floats = (count: number) => numbers.floats(count);
  const args = { x: floats(n), weight: floats(d * taps), gate: floats(n), rows, d, taps };
  const { before, after, users } = convolutionTables(
    Uint32Array.from({ length: rows }, (_, row) => row === 0 ? NO_ROW : row - 1),
    taps,
  );
  return [
    check("short_conv", { ...args, before, table: args.x, out: floats(n) }, ["out"]),
    check("short_conv_backward", {
      ...args,
      before,
      after,
      users,
      dout: floats(n),
      dx: floats(n),
      dgate: floats(n),
      dweight: floats(d * taps),
    }, ["dx", "dgate", "dweight"]),
  ];
}

/** A delta rule of a prompt and a branch, and the gate of attention. */
function deltaRules(numbers: Numbers): Check[] {
  const sizes = { keyHeads: 1, valueHeads: 2, keyDim: 20, valueDim: 19 }, rows = 7, gates = 14;
  const floats = (count: number) => numbers.floats(count), n = gates * sizes.valueDim;
  const segments = Uint32Array.from([0, 4, NO_STATE, 0, 4, 7, 0, NO_STATE]);
  const inputs = { x: floats(rows * deltaWidth(sizes)), a: floats(gates), b: floats(gates) };
  const heads = { aLog: floats(2), dtBias: floats(2), segments, segmentCount: 2, rows };
  const gate = { gate: floats(n), up: floats(n), n, sigmoid: true };
  return [
    check("delta_rule", {
      ...sizes,
      ...inputs,
      ...heads,
      roots: 1,
      state: floats(stateSize(sizes)),
      out: floats(n),
    }, ["state", "out"]),
    check("delta_rule_backward", {
      ...sizes,
      ...inputs,
      ...heads,
      dout: floats(n),
      dx: floats(inputs.x.length),
      da: floats(gates),
      db: floats(gates),
      dlog: floats(gates),
      states: 1,
      longest: 4,
    }, ["dx", "da", "db", "dlog"]),
    check("swiglu", { ...gate, out: floats(n) }, ["out"]),
    check("swiglu_backward", { ...gate, dout: floats(n), dgate: floats(n), dup: floats(n) }, [
      "dgate",
      "dup",
    ]),
  ];
}

/** Optimizers, and weights in bfloat16. */
function optimizers(numbers: Numbers): Check[] {
  const n = 4442, floats = (count: number) => numbers.floats(count);
  const positive = (count: number) => floats(count).map(Math.abs);
  const bytes = () => numbers.stored(Math.ceil(n / 4)), blocks = Math.ceil(n / 256);
  const step = {
    param: floats(n),
    grad: floats(n),
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
  const rounding = { x: floats(n), weight: numbers.stored(n / 2), n, first: 8 };
  const counters = { c1: 1, c2: 2, c3: 3, seedLow: 4, seedHigh: 5 }, rest = numbers.stored(n / 2);
  return [
    check("adamw", { ...step, m: floats(n), v: positive(n) }, ["param", "m", "v"]),
    check("adamw_8bit", {
      ...step,
      m: bytes(),
      v: bytes(),
      mMax: floats(blocks),
      vMax: positive(blocks),
      tables: dynamicTables(),
    }, ["param", "m", "v", "mMax", "vMax"]),
    check("sum_squares", { x: floats(n), partial: floats(2), n }, ["partial"]),
    check("widen_bf16", { weight: rounding.weight, rest, out: floats(n), n }, ["out"]),
    check("round_bf16", { ...rounding, ...counters }, ["weight"]),
    check("round_bf16", { ...rounding, ...counters, rest }, ["weight", "rest"]),
  ];
}

/** Filtered draws, rules for logits, sums and stored weights of rows, and a head from its mean. */
function rules(numbers: Numbers): Check[] {
  const rows = 5, vocab = 333, d = 256, floats = (count: number) => numbers.floats(count);
  const n = rows * vocab, words = Math.ceil(vocab / 32) * rows;
  const order = Uint32Array.from({ length: rows }, (_, i) => rows - 1 - i), row = [0, 3, 5];
  const pairs = { pairStart: Uint32Array.from([0, 1, 1, 3, 4, rows]), targets: order, pairs: rows };
  const weight = numbers.stored(storedWords("q6_k", 16, d)), weightType = "q6_k" as const;
  const head = { hidden: floats(rows * d), lse: floats(rows), entropy: floats(rows), vocab: 16 };
  return [
    check("sample", {
      logits: floats(n).map((x) => 9 * x),
      counters: numbers.stored(5 * rows),
      rows,
      vocab,
      tokens: new Uint32Array(rows),
      logp: floats(rows),
      temperature: 0.9,
      topK: 40,
      topP: 0.9,
      minP: 0.01,
    }, ["tokens", "logp"]),
    check("adjust_logits", {
      logits: floats(n),
      out: floats(n),
      rows,
      vocab,
      penalty: 1.2,
      slots: order,
      seen: numbers.stored(words),
      newest: order,
      allowed: numbers.stored(words),
      forbidden: Uint32Array.from(row),
      forbiddenCount: row.length,
    }, ["out", "seen"]),
    check("gather_rows", {
      table: weight,
      weightType,
      index: order,
      out: floats(rows * d),
      rows,
      d,
    }, [
      "out",
    ]),
    check("scatter_add_rows", {
      src: floats(rows * d),
      order,
      runs: Uint32Array.from(row),
      table: floats(2 * d),
      target: Uint32Array.from([1, 0]),
      runCount: 2,
      d,
    }, ["table"]),
    check("head_backward", {
      ...head,
      ...pairs,
      weight,
      weightType,
      rows,
      d,
      temperature: 0.7,
      dlogp: floats(rows),
      mean: floats(rows * d),
      dhidden: floats(rows * d),
    }, ["dhidden"]),
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
  const numbers = new Numbers();
  for (const shape of ROUNDED_SHAPES) yield product(shape, numbers);
  yield heads(numbers)[0]!;
}

/** All checks. */
export function* checks(): Generator<Check> {
  const numbers = new Numbers();
  for (const shape of SHAPES) yield product(shape, numbers);
  yield* attention(undefined, 20, numbers);
  yield* attention(17, 16, numbers);
  for (const [heads, kvHeads, headDim] of [[6, 2, 64], [4, 4, 20], [9, 1, 16]] as const) {
    yield decoding(heads, kvHeads, headDim, numbers);
  }
  yield decodeLayer(numbers);
  yield* heads(numbers);
  yield* rowOperations(numbers);
  yield* rowsAndDraws(numbers);
  yield* elements(numbers);
  yield* optimizers(numbers);
  yield* rules(numbers);
}
