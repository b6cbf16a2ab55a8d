/**
 * Calls of the operations besides products and attention, in the sizes of a card's model, for the
 * table of kernels (card_kernels.ts).
 */
import { TABLES } from "../../kernels/ops/adamw_8bit/dynamic_map.ts";
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";
import { seenWords } from "../../kernels/ops/adjust_logits/spec.ts";
import { SUM_CHUNK } from "../../kernels/ops/optimizer/spec.ts";
import type { OpName, Ops } from "../../kernels/ops/ops.ts";
import { COUNTER_WORDS, type SampleArgs } from "../../kernels/ops/sample/spec.ts";
import { CARD, sized } from "./card_tensors.ts";
import { ADAMW_NUMBERS } from "./sizes.ts";

export interface CardCall {
  name: string;
  op: OpName;
  args: Ops[OpName];
  /** Kernels in place of the rule's, by the name of the choice. */
  chosen?: Readonly<Record<string, string>>;
}

function call<K extends OpName>(
  name: string,
  op: K,
  args: Ops[K],
  chosen: Readonly<Record<string, string>> = {},
): CardCall {
  return { name, op, args, chosen };
}

export function otherCalls(): CardCall[] {
  return [...norms(), ...heads(), ...sampling(), ...rowsAndElements(), ...optimizers()];
}

const { d, rows, vocab } = CARD, n = rows * d;

function norms(): CardCall[] {
  const shape = { rows, d }, of = (length: number) => sized(length);
  const forward = { x: of(n), weight: of(d), out: of(n), rho: of(rows), ...shape, eps: 1e-6 };
  const residual = { ...forward, add: of(n), sum: of(n) };
  const gradients = { dout: of(n), dx: of(n), dweight: of(d) };
  const backward = { ...gradients, x: of(n), weight: of(d), rho: of(rows), ...shape };
  const mean = { mean: of(rows) };
  return [
    call("RMSNorm", "rmsnorm", forward),
    call("RMSNorm, subgroups", "rmsnorm", forward, { rmsnorm: "128 subgroups" }),
    call("RMSNorm of a sum", "rmsnorm", residual),
    call("RMSNorm's gradient", "rmsnorm_backward", backward),
    call("RMSNorm's gradient, subgroups", "rmsnorm_backward", { ...backward, accumulate: true }, {
      rmsnorm_backward: "128 subgroups",
    }),
    call("LayerNorm", "layernorm", { ...forward, bias: of(d), ...mean }),
    call("LayerNorm's gradient", "layernorm_backward", { ...backward, ...mean }),
  ];
}

function heads(): CardCall[] {
  const { headRows: count } = CARD, width = count * d;
  const logits = {
    hidden: sized(width),
    weight: sized(vocab * d),
    rows: count,
    pairs: count,
    vocab,
    d,
    pairStart: sized(count + 1, "u32"),
    targets: sized(count, "u32"),
    temperature: 1,
    lse: sized(count),
    entropy: sized(count),
  };
  const forward = { ...logits, logp: sized(count) }, mean = sized(width);
  const backward = { ...logits, dlogp: sized(count), dhidden: sized(width) };
  return [
    call("head, logits", "head", forward),
    call("head, logits, 1024 invocations", "head", forward, { "head.rows": "1024 x4" }),
    call("head, logits, one at a time", "head", forward, { "head.rows": "256 x1" }),
    call("head, logits, subgroups", "head", forward, { "head.rows": "256 x4 subgroups" }),
    call("head, logits with their mean", "head", { ...forward, mean }),
    call("head's gradient", "head_backward", backward),
    call("head's gradient with entropy", "head_backward", { ...backward, dentropy: sized(count) }),
    call("head's gradient from the mean", "head_backward", { ...backward, mean }),
  ];
}

function sampling(): CardCall[] {
  const { branches } = CARD, ofRows = sized(branches * vocab);
  const args = {
    logits: ofRows,
    counters: sized(branches * COUNTER_WORDS, "u32"),
    rows: branches,
    vocab,
    tokens: sized(branches, "u32"),
    logp: sized(branches),
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
  } satisfies SampleArgs;
  const filtered = { ...args, topK: 50, topP: 0.95 };
  const inSubgroups = { "sample.draw": "subgroups", sample: "1024 spread x4 subgroups" };
  const width = seenWords(vocab);
  return [
    call("sampling", "sample", args),
    call("sampling, subgroups", "sample", args, inSubgroups),
    call("greedy", "sample", { ...args, temperature: 0 }),
    call("sampling by top-k and top-p", "sample", filtered),
    call("sampling by top-k and top-p, one at a time", "sample", filtered, {
      sample: "1024 spread",
    }),
    call("sampling by top-k and top-p, subgroups", "sample", filtered, inSubgroups),
    call("rules of sampling", "adjust_logits", {
      logits: ofRows,
      out: sized(branches * vocab),
      rows: branches,
      vocab,
      penalty: 1.1,
      seen: sized(branches * width, "u32"),
      slots: sized(branches, "u32"),
      newest: sized(branches, "u32"),
      forbidden: sized(2, "u32"),
      forbiddenCount: 2,
      allowed: sized(branches * width, "u32"),
    }),
  ];
}

function rowsAndElements(): CardCall[] {
  const of = () => sized(n), index = sized(rows, "u32");
  const { heads, inner } = CARD, headDim = 64, wide = rows * inner;
  const q = sized(rows * heads * headDim), angles = sized(rows * headDim / 2);
  const gated = { gate: sized(wide), up: sized(wide), n: wide };
  return [
    call("rope", "rope", {
      x: q,
      cos: angles,
      sin: angles,
      positions: index,
      rows,
      heads,
      headDim,
    }),
    call("SwiGLU", "swiglu", { ...gated, out: sized(wide) }),
    call("SwiGLU's gradient", "swiglu_backward", {
      ...gated,
      dout: sized(wide),
      dgate: sized(wide),
      dup: sized(wide),
      activated: sized(wide),
    }),
    call("GELU", "gelu", { x: sized(wide), out: sized(wide), n: wide }),
    call("GELU's gradient", "gelu_backward", {
      dout: sized(wide),
      x: sized(wide),
      dx: sized(wide),
      activated: sized(wide),
      n: wide,
    }),
    call("bias", "add_bias", { x: of(), bias: sized(d), rows, d }),
    call("bias's gradient", "add_bias_backward", { dout: of(), dbias: sized(d), rows, d }),
    call("rows of a table", "gather_rows", {
      table: sized(vocab * d),
      index,
      out: of(),
      rows,
      d,
    }),
    call("rows into a table", "scatter_rows", { src: of(), index, table: of(), rows, d }),
    call("sums of rows into a table", "scatter_add_rows", {
      src: of(),
      order: index,
      runs: sized(rows + 1, "u32"),
      target: index,
      table: sized(vocab * d),
      runCount: rows,
      d,
    }),
    call("dropout", "dropout", {
      x: of(),
      keys: sized(3 * rows, "u32"),
      out: of(),
      rows,
      d,
      p: 0.1,
      site: 0,
      seedLow: 1,
      seedHigh: 0,
    }),
    call("packing a weight", "pack_weight", {
      weight: sized(inner * d),
      out: sized(inner * d),
      n: inner,
      k: d,
    }),
    call("addition", "add", { a: of(), b: of(), out: of(), n }),
    call("copy", "copy", { src: of(), out: of(), n }),
    call("fill", "fill", { out: of(), n, value: 0 }),
  ];
}

function optimizers(): CardCall[] {
  const of = () => sized(n), halves = sized(n / 2, "u32"), codes = sized(n / 4, "u32");
  const step = {
    param: of(),
    grad: of(),
    n,
    ...ADAMW_NUMBERS,
  };
  const random = { first: 0, c1: 0, c2: 0, c3: 0, seedLow: 1, seedHigh: 0 };
  return [
    call("AdamW", "adamw", { ...step, m: of(), v: of() }),
    call("AdamW in 8 bits", "adamw_8bit", {
      ...step,
      m: codes,
      v: sized(n / 4, "u32"),
      tables: sized(TABLES.words, "u32"),
      mMax: sized(Math.ceil(n / BLOCK)),
      vMax: sized(Math.ceil(n / BLOCK)),
    }),
    call("norm of gradients", "sum_squares", {
      x: of(),
      partial: sized(Math.ceil(n / SUM_CHUNK)),
      n,
    }),
    call("bfloat16 to float32", "widen_bf16", { weight: halves, out: of(), n }),
    call("stochastic rounding", "round_bf16", { x: of(), weight: halves, n, ...random }),
    call("Kahan's rounding", "round_bf16", {
      x: of(),
      weight: halves,
      rest: sized(n / 2, "u32"),
      n,
      ...random,
    }),
  ];
}
