/**
 * The kernels that a card would run, without one: operations dispatch into a list. The shapes are
 * those of a model of 0.5 billion parameters (Qwen2.5) in training and decoding.
 */
import { webgpuOps } from "../../kernels/devices/webgpu/op_table.ts";
import type { Dispatch, MatrixUnits, WebgpuContext } from "../../kernels/ops/common/webgpu_op.ts";
import { type BindingPattern, kernelText } from "../../kernels/ops/common/wgsl/kernel.ts";
import { MATRIX } from "../../kernels/ops/attention/choose.ts";
import { TILES } from "../../kernels/ops/matmul/webgpu/choose.ts";
import { matmulWith } from "../../kernels/ops/matmul/webgpu.ts";
import type { MatmulArgs } from "../../kernels/ops/matmul/spec.ts";
import type { OpName, Ops } from "../../kernels/ops/ops.ts";
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";
import { storedWords } from "../../kernels/weights/types.ts";
import { otherCalls } from "./card_operations.ts";
import { CARD, sized } from "./card_tensors.ts";

/** A dispatch of a card, by a name that says what it is. */
export interface CardKernel {
  name: string;
  dispatch: Dispatch;
  /** The complete WGSL. */
  text: string;
}

/** What the kernels are made for: the limits of an NVIDIA card. */
const LIMITS = {
  bindingElements: 2 ** 29 - 64,
  groupsPerDimension: 65_535,
  workgroupBytes: 49_152,
  invocations: 1024,
};

/** Matrix units as Mesa's driver for RDNA 3 offers them. NVIDIA's have subgroups of 32. */
export const UNITS: MatrixUnits = { edge: 16, subgroup: 64 };

/** Runs operations on a card that is not there. @returns what they dispatch */
function dispatchesOf(
  work: (ctx: WebgpuContext) => void,
  computeDtype: ComputeDtype,
  chosen: Readonly<Record<string, string>> = {},
  matrixUnits: MatrixUnits | null = null,
): Dispatch[] {
  const found: Dispatch[] = [];
  const ctx: WebgpuContext = {
    limits: LIMITS,
    software: false,
    computeDtype,
    matrixUnits,
    choose: ({ name }) => chosen[name] ?? null,
    dispatch: (call) => found.push(call),
    scratch: (dtype, length) => sized(length, dtype),
    runPart: (operation, args) => operation(args, ctx),
    grid: (count) => {
      const y = Math.ceil(count / LIMITS.groupsPerDimension);
      return [Math.ceil(count / y), y];
    },
  };
  work(ctx);
  return found;
}

const { d: D, inner: INNER, rows: ROWS, heads: HEADS, kvHeads: KV_HEADS } = CARD;

export function cardKernels(): CardKernel[] {
  const made: CardKernel[] = [];
  const add = (
    name: string,
    work: (ctx: WebgpuContext) => void,
    computeDtype: ComputeDtype = "float32",
    chosen: Readonly<Record<string, string>> = {},
    units: MatrixUnits | null = null,
  ) => {
    const found = dispatchesOf(work, computeDtype, chosen, units);
    for (const dispatch of found) {
      const { kernel } = dispatch;
      const title = found.length === 1 ? name : `${name}: ${kernel.name}`;
      made.push({ name: title, dispatch, text: kernelText(kernel, patternOf(dispatch)) });
    }
  };
  /** Only kernels that no call before has. */
  const addNew: typeof add = (name, work, computeDtype, chosen, units) => {
    const seen = new Set(made.map(({ dispatch: { kernel } }) => kernel));
    const own = (ctx: WebgpuContext) =>
      dispatchesOf(work, ctx.computeDtype, chosen, units).forEach((dispatch) => {
        if (!seen.has(dispatch.kernel)) ctx.dispatch(dispatch);
        seen.add(dispatch.kernel);
      });
    add(name, own, computeDtype);
  };
  const run = <K extends OpName>(op: K, args: Ops[K]) => (ctx: WebgpuContext) =>
    webgpuOps[op](args, ctx);
  const product = (m: number, n: number, k: number, flags: Partial<MatmulArgs> = {}) => ({
    a: sized(m * k),
    b: sized(n * k),
    out: sized(m * n),
    m,
    n,
    k,
    transB: true,
    ...flags,
  });
  for (const [name, tile] of Object.entries(TILES)) {
    if (name === "software") continue;
    const tiled = (args: MatmulArgs) => (ctx: WebgpuContext) => matmulWith(tile, args, ctx);
    add(`x·Wᵀ, tile ${name}`, tiled(product(ROWS, INNER, D)));
    add(`dy·W, tile ${name}`, tiled(product(ROWS, D, INNER, { transB: false })));
    add(`dyᵀ·x, tile ${name}`, tiled(product(INNER, D, ROWS, { transA: true, transB: false })));
    for (const dtype of ["bfloat16", "float16"] as const) {
      add(`x·Wᵀ in ${dtype}, tile ${name}`, tiled(product(ROWS, INNER, D)), dtype);
      if (tile.slices > 1) continue;
      const half = { ...tile, half: true as const };
      const work = (ctx: WebgpuContext) => matmulWith(half, product(ROWS, INNER, D), ctx);
      add(`x·Wᵀ in ${dtype}, tile ${name}, two bytes`, work, dtype);
    }
  }
  for (const dtype of ["bfloat16", "float16"] as const) {
    const name = `in ${dtype} on matrix units`;
    const products: [string, MatmulArgs][] = [
      [`x·Wᵀ ${name}`, product(ROWS, INNER, D)],
      [`dy·W ${name}`, product(ROWS, D, INNER, { transB: false })],
      [`dyᵀ·x ${name}`, product(INNER, D, ROWS, { transA: true, transB: false })],
    ];
    for (const [name, args] of products) addNew(name, run("matmul", args), dtype, {}, UNITS);
  }
  const lora = { xa: sized(ROWS * 16), loraB: sized(INNER * 16), r: 16 };
  add("x·Wᵀ with an adapter", run("matmul", product(ROWS, INNER, D, lora)));
  for (const weightType of ["bf16", "q8_0", "q4_k", "nf4"] as const) {
    const b = sized(storedWords(weightType, INNER, 1024), "u32");
    const stored = (m: number) => product(m, INNER, 1024, { b, weightType });
    add(`x·Wᵀ, ${weightType}`, run("matmul", stored(ROWS)));
    add(`one row, ${weightType}`, run("matmul", stored(1)));
  }
  add("one row", run("matmul", product(1, INNER, D)));
  const subgroups = { matmul: "vector 256 x8 subgroups" };
  add("one row, subgroups", run("matmul", product(1, INNER, D)), "float32", subgroups);
  add("three rows", run("matmul", product(3, INNER, D)));
  add("one row, packed", run("matmul", product(1, INNER, D, { packedB: true, transB: false })));
  for (const headDim of [64, 128]) {
    const q = ROWS * HEADS * headDim, k = ROWS * KV_HEADS * headDim;
    const shape = { heads: HEADS, kvHeads: KV_HEADS, headDim, scale: headDim ** -0.5 };
    const attention = {
      q: sized(q),
      k: sized(k),
      v: sized(k),
      out: sized(q),
      lse: sized(ROWS * HEADS),
      segments: sized(5 * 9, "u32"),
      rowSegment: sized(ROWS, "u32"),
      segmentCount: 9,
      rows: ROWS,
      ...shape,
    };
    const forward = run("attention", attention);
    add(`attention, heads of ${headDim}`, forward);
    const attend = { attention: headDim === 64 ? "8x16x4 subgroups" : "16x8x4 subgroups" };
    add(`attention, heads of ${headDim}, subgroups`, forward, "float32", attend);
    const gradients = { dout: sized(q), dq: sized(q), dk: sized(k), dv: sized(k) };
    const backward = run("attention_backward", { ...attention, ...gradients });
    add(`attention's gradient, heads of ${headDim}`, backward);
    const onUnits = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, MATRIX]));
    const name = `on matrix units, heads of ${headDim}`;
    addNew(`attention ${name}`, forward, "float32", onUnits(["attention"]), UNITS);
    const gradient = ["attention_backward.queries", "attention_backward.keys"];
    addNew(`attention's gradient ${name}`, backward, "float32", onUnits(gradient), UNITS);
    const count = 64, row = KV_HEADS * headDim, cache = 64 * 256 * row;
    const decoding = run("attention_decode", {
      q: sized(count * HEADS * headDim),
      out: sized(count * HEADS * headDim),
      count,
      prefixK: sized(2048 * row),
      prefixV: sized(2048 * row),
      maxNew: 256,
      ...shape,
      branchK: sized(cache),
      branchV: sized(cache),
      branches: sized(6 * count, "u32"),
    });
    add(`decoding, heads of ${headDim}`, decoding);
    add(`decoding, heads of ${headDim}, subgroups`, decoding, "float32", {
      "attention_decode.prefix": "16x8x4 1024 subgroups",
      "attention_decode.branch": "16x8x1 1024 subgroups",
    });
  }
  for (const { name, op, args, chosen } of otherCalls()) {
    // Products are above. Other chunks of a row, and other calls, may have the same kernels.
    addNew(name, run(op, args as never), "float32", chosen);
  }
  return made;
}

/** Every tensor has memory of its own, so only what is written is writable. */
function patternOf({ kernel }: Dispatch): BindingPattern {
  return {
    standsFor: kernel.bufferNames.map((_, i) => i),
    writable: kernel.bufferNames.map((name) => kernel.buffers[name]!.startsWith("write")),
  };
}
