/**
 * Checks the arguments of operations on the host, before anything is enqueued. All devices use the
 * same checks. They cover sizes, element types, lengths and overlaps. They do not cover the
 * contents of tensors (indices, segment tables), which the host cannot see.
 *
 * An output may not overlap any other tensor. If the operation's spec allows it to be one of the
 * inputs, it must be exactly this input. Inputs may overlap each other.
 */
import { RgxError } from "../../core/errors.ts";
import { Call, NONE, TensorList } from "./call.ts";
import * as attention from "./attention.ts";
import { checkMatmul, checkPackWeight } from "./matmul.ts";
import * as optimizer from "./optimizer.ts";
import { DELTA_SEGMENT, deltaWidth, stateSize } from "../ops/delta_rule/spec.ts";
import { COUNTER_WORDS } from "../ops/sample/spec.ts";
import { seenWords } from "../ops/adjust_logits/spec.ts";
import { COLUMNS, SITES } from "../ops/dropout/spec.ts";
import type { RouteShape } from "../ops/experts/spec.ts";
import { PANEL } from "../weights/panel.ts";
import { isBlockType } from "../weights/types.ts";
import type { HeadBackwardArgs } from "../ops/head/spec.ts";
import type { ComputeDtype } from "../ops/common/compute_dtype.ts";
import type { Tensor } from "../tensor.ts";
import type { OpName, Ops } from "../ops/ops.ts";

/**
 * Checks a call.
 * @param computeDtype that of the device
 * @returns the tensors that the call reads and writes
 * @throws RgxError that names the operation, the argument, what was found and what was expected
 */
export function validateOp<K extends OpName>(
  op: K,
  args: Ops[K],
  computeDtype: ComputeDtype = "float32",
): Call {
  const check = CHECKS[op];
  if (check === undefined) throw new RgxError(`unknown operation "${op}"`);
  const call = new Call(op, args, computeDtype);
  call.numbers();
  check(args, call);
  call.refuseOverlaps();
  return call;
}

/**
 * The tensors of a call, by the check of its operation. Of `args` only the numbers are read, and
 * which of the optional tensors are there. Where the contents of a table say how long another
 * tensor is, its length is the least that there can be.
 */
export function tensorsOf<K extends OpName>(op: K, args: Ops[K]): TensorList["tensors"] {
  const list = new TensorList(op, args, "float32");
  CHECKS[op](args, list);
  return list.tensors;
}

const CHECKS: { readonly [K in OpName]: (args: Ops[K], call: Call) => void } = {
  matmul: checkMatmul,
  pack_weight: checkPackWeight,

  rmsnorm({ add, sum, rows, d }, call) {
    residual(add, sum, call);
    call.inputs({ x: rows * d, add: add && rows * d, weight: d });
    if (sum) call.output("sum", rows * d, ["x"]);
    call.outputs({ out: rows * d, rho: rows });
  },

  rmsnorm_backward({ dweight, rows, d }, call) {
    call.inputs({ dout: rows * d, x: rows * d, weight: d, rho: rows });
    call.outputs({ dx: rows * d, dweight: dweight && d });
  },

  layernorm({ add, sum, rows, d }, call) {
    residual(add, sum, call);
    call.inputs({ x: rows * d, add: add && rows * d, weight: d, bias: d });
    if (sum) call.output("sum", rows * d, ["x"]);
    call.outputs({ out: rows * d, mean: rows, rho: rows });
  },

  layernorm_backward({ dweight, rows, d }, call) {
    call.inputs({ dout: rows * d, x: rows * d, weight: d, mean: rows, rho: rows });
    call.outputs({ dx: rows * d, dweight: dweight && d });
  },

  add_bias({ rows, d }, call) {
    call.outputs({ x: rows * d });
    call.inputs({ bias: d });
  },

  add_bias_backward({ rows, d }, call) {
    call.inputs({ dout: rows * d });
    call.outputs({ dbias: d });
  },

  dora_gain({ r, d }, call) {
    call.positive({ r });
    call.inputs({ squares: d, q: r * d, b: d * r, magnitude: d });
    call.outputs({ rho: d, gain: d });
  },

  scale_columns({ rows, d, byRow = false }, call) {
    call.inputs({ x: rows * d, gain: byRow ? rows : d });
    call.output("out", rows * d, ["x"]);
  },

  scale_columns_backward({ rows, d }, call) {
    call.inputs({ dout: rows * d, x: rows * d, rho: d });
    call.outputs({ dmagnitude: d });
  },

  rope({ rows, heads, headDim, rotaryDim = headDim }, call) {
    attention.even("headDim", headDim, call);
    attention.even("rotaryDim", rotaryDim, call);
    if (rotaryDim > headDim) call.fail("rotaryDim", rotaryDim, `at most headDim (${headDim})`);
    call.outputs({ x: rows * heads * headDim });
    const table = rows > 0 ? rotaryDim / 2 : 0;
    call.inputs({ cos: table, sin: table });
    call.inputs({ positions: rows }, "u32");
  },

  swiglu({ n }, call) {
    call.inputs({ gate: n, up: n });
    call.output("out", n, ["gate", "up"]);
  },

  swiglu_backward({ activated, n }, call) {
    call.inputs({ dout: n, gate: n, up: n });
    call.output("dgate", n, ["gate"]);
    call.output("dup", n, ["up"]);
    call.outputs({ activated: activated && n });
  },

  gelu({ n }, call) {
    call.inputs({ x: n });
    call.output("out", n, ["x"]);
  },

  gelu_backward({ activated, n }, call) {
    call.inputs({ dout: n, x: n });
    call.output("dx", n, ["x"]);
    call.outputs({ activated: activated && n });
  },

  attention: attention.checkAttention,
  attention_backward: attention.checkAttentionBackward,
  sinks_backward: attention.checkSinksBackward,
  attention_decode: attention.checkAttentionDecode,
  decode_layer: attention.checkDecodeLayer,

  gather_rows({ table, weightType, out, rows, d }, call) {
    // The number of the table's rows is known to the caller only.
    const areWords = weightType === undefined && [table, out].every((x) => x?.dtype === "u32");
    const dtype = areWords ? "u32" : "float";
    if (weightType === undefined) call.input("table", rows > 0 ? d : 0, dtype);
    else call.stored("table", weightType, rows > 0 ? 1 : 0, { d });
    call.inputs({ index: rows }, "u32");
    call.outputs({ out: rows * d }, dtype);
  },

  scatter_rows({ src, table, rows, d, bf16 = false }, call) {
    const areWords = [src, table].every((x) => x?.dtype === "u32");
    if (bf16) attention.even("d", d, call);
    call.inputs({ src: rows * d }, areWords && !bf16 ? "u32" : "float");
    call.inputs({ index: rows }, "u32");
    call.outputs({ table: bf16 ? rows * d / 2 : rows * d }, areWords || bf16 ? "u32" : "float");
  },

  scatter_add_rows({ runCount, d }, call) {
    call.inputs({ src: 0 });
    call.inputs({ order: 0, runs: runCount + 1, target: runCount }, "u32");
    call.outputs({ table: runCount * d });
  },

  head(args, call) {
    const { rows, pairs, d, mean } = args;
    headInputs(args, call);
    call.outputs({ logp: pairs, lse: rows, entropy: rows, mean: mean && rows * d });
  },

  head_backward(args, call) {
    const { mean, dentropy, dweight, rows, pairs, vocab, d, dxa, dloraB, r } = args;
    headInputs(args, call);
    if (mean && (dentropy || dweight)) {
      call.fail("mean", "given", "no mean beside dentropy or dweight");
    }
    call.inputs({ lse: rows, entropy: rows, dlogp: pairs });
    call.inputs({ mean: mean && rows * d, dentropy: dentropy && rows });
    call.outputs({ dhidden: rows * d, dweight: dweight && vocab * d });
    if (r === undefined) {
      if (dxa || dloraB) call.fail("r", "absent", "an adapter beside its gradients");
      return;
    }
    if (!dxa) call.fail("dxa", "absent", "a tensor beside an adapter");
    call.outputs({ dxa: rows * r, dloraB: dloraB && vocab * r });
  },

  adjust_logits(args, call) {
    const { rows, vocab, penalty, forbiddenCount } = args;
    const { seen, slots, newest, forbidden, allowed } = args;
    if (!(penalty > 0 && penalty < Infinity)) {
      call.fail("penalty", penalty, "a finite number > 0 (1 = off)");
    }
    if ((seen === undefined) !== (slots === undefined)) {
      call.fail(seen === undefined ? "slots" : "seen", "given alone", "seen and slots together");
    }
    if (newest && !seen) call.fail("newest", "given", "seen and slots beside it");
    if (forbiddenCount > 0 && !forbidden) call.fail("forbidden", "absent", "a tensor");
    const words = seenWords(vocab);
    call.inputs({ logits: rows * vocab });
    call.outputs({ out: rows * vocab });
    // The number of slots depends on the contents of `slots`, which the host cannot see.
    call.outputs({ seen: seen && (rows > 0 ? words : 0) }, "u32");
    call.inputs({ slots: slots && rows, newest: newest && rows }, "u32");
    const lengths = { forbidden: forbidden && forbiddenCount, allowed: allowed && rows * words };
    call.inputs(lengths, "u32");
  },

  sample(args, call) {
    const { scored, rows, vocab, temperature, topP, minP } = args;
    if (!(temperature >= 0 && temperature < Infinity)) {
      call.fail("temperature", temperature, "a finite number ≥ 0 (0 = greedy)");
    }
    if (!(topP > 0 && topP <= 1)) call.fail("topP", topP, "0 < topP ≤ 1 (1 = off)");
    if (!(minP >= 0 && minP <= 1)) call.fail("minP", minP, "0 ≤ minP ≤ 1 (0 = off)");
    call.inputs({ logits: rows * vocab, scored: scored && rows * vocab });
    call.inputs({ counters: rows * COUNTER_WORDS }, "u32");
    call.outputs({ tokens: rows }, "u32");
    call.outputs({ logp: rows });
  },

  dropout({ rows, d, p, site, seedLow, seedHigh, accumulate }, call) {
    call.sizes({ site });
    if (d > COLUMNS) call.fail("d", d, `at most ${COLUMNS}`);
    if (site >= SITES) call.fail("site", site, `below ${SITES}`);
    if (!(p >= 0 && p < 1)) call.fail("p", p, "0 ≤ p < 1");
    word("seedLow", seedLow, call);
    word("seedHigh", seedHigh, call);
    call.inputs({ x: rows * d });
    call.inputs({ keys: rows * 3 }, "u32");
    call.output("out", rows * d, accumulate === true ? NONE : ["x"]);
  },

  adamw: optimizer.checkAdamw,
  adamw_8bit: optimizer.checkAdamw8bit,
  sum_squares: optimizer.checkSumSquares,
  widen_bf16: optimizer.checkWidenBf16,
  round_bf16: optimizer.checkRoundBf16,

  add({ a, n }, call) {
    call.inputs({ a: a && n, b: n });
    call.output("out", n, ["a", "b"]);
  },

  copy({ src, n }, call) {
    call.inputs({ src: n }, src.dtype);
    call.outputs({ out: n }, src.dtype);
  },

  fill({ n, value }, call) {
    if (typeof value !== "number") call.fail("value", value, "a number");
    call.outputs({ out: n });
  },

  multiply({ n }, call) {
    call.inputs({ a: n, b: n });
    call.output("out", n, ["a", "b"]);
  },

  soft_cap({ n, cap }, call) {
    call.aboveZero({ cap });
    call.inputs({ x: n });
    call.output("out", n, ["x"]);
  },

  soft_cap_backward({ n, cap }, call) {
    call.aboveZero({ cap });
    call.inputs({ dout: n, y: n });
    call.output("dx", n, ["dout"]);
  },

  short_conv({ rows, d, taps, gate }, call) {
    manyTaps(taps, call);
    // The number of the table's rows is known to the caller only.
    call.inputs({ x: rows * d, table: 0, weight: d * taps, gate: gate && rows * d });
    call.inputs({ before: rows * (taps - 1) }, "u32");
    call.outputs({ out: rows * d });
  },

  short_conv_backward({ rows, d, taps, gate, dgate, dweight }, call) {
    manyTaps(taps, call);
    call.inputs({ dout: rows * d, x: rows * d, weight: d * taps, gate: gate && rows * d });
    const before = rows * (taps - 1);
    call.inputs({ before, after: before + 1, users: 0 }, "u32");
    call.outputs({ dx: rows * d, dgate: dgate && rows * d, dweight: dweight && d * taps });
  },

  delta_rule(args, call) {
    const { rows, roots, segmentCount, valueHeads, valueDim } = args;
    deltaInputs(args, call);
    if (roots > segmentCount) call.fail("roots", roots, `at most ${segmentCount} segments`);
    // How many states there are, the caller knows.
    call.outputs({ state: stateSize(args), out: rows * valueHeads * valueDim });
  },

  delta_rule_backward(args, call) {
    const { rows, valueHeads, valueDim } = args, gates = rows * valueHeads;
    deltaInputs(args, call);
    call.inputs({ dout: gates * valueDim });
    call.outputs({ dx: rows * deltaWidth(args), da: gates, db: gates, dlog: gates });
  },

  route(args, call) {
    const { rows, experts } = args, places = routePlaces(args, call);
    call.inputs({ logits: rows * experts });
    call.outputs({ gates: places });
    call.outputs({ rowOf: places, placeOf: places, expertOf: places, begin: experts + 1 }, "u32");
  },

  route_backward(args, call) {
    const { rows, experts, balance } = args, places = routePlaces(args, call);
    call.inputs({ logits: rows * experts, gates: places, dgates: places });
    call.inputs({ balance: balance && experts });
    call.inputs({ placeOf: places, expertOf: places }, "u32");
    call.outputs({ dlogits: rows * experts });
  },

  expert_matmul({ experts, rows, n, k, transB, weightType }, call) {
    call.positive({ n, k });
    call.inputs({ a: rows * k });
    call.inputs({ begin: experts + 1 }, "u32");
    const height = transB ? n : k;
    if (weightType === undefined) call.inputs({ b: experts * n * k });
    else call.stored("b", weightType, experts * height, transB ? { k } : { n });
    if (weightType !== undefined && isBlockType(weightType) && height % PANEL !== 0) {
      call.fail(transB ? "n" : "k", height, `a multiple of ${PANEL} for a weight in ${weightType}`);
    }
    call.outputs({ out: rows * n });
  },

  expert_gradient({ experts, rows, m, n }, call) {
    call.positive({ m, n });
    call.inputs({ a: rows * m, b: rows * n });
    call.inputs({ begin: experts + 1 }, "u32");
    call.outputs({ out: experts * m * n });
  },
};

/** Checks the sizes of a choice. @returns the number of places */
function routePlaces({ rows, experts, chosen }: RouteShape, call: Call): number {
  if (chosen > experts) call.fail("chosen", chosen, `at most experts (${experts})`);
  return rows * chosen;
}

function deltaInputs(args: Ops["delta_rule" | "delta_rule_backward"], call: Call): void {
  const { rows, segmentCount, keyHeads, valueHeads } = args;
  if (valueHeads % keyHeads !== 0) {
    call.fail("valueHeads", valueHeads, `a multiple of keyHeads (${keyHeads})`);
  }
  const gates = rows * valueHeads;
  call.inputs({ x: rows * deltaWidth(args), a: gates, b: gates });
  call.inputs({ aLog: valueHeads, dtBias: valueHeads });
  call.inputs({ segments: segmentCount * DELTA_SEGMENT.columns }, "u32");
}

function manyTaps(taps: number, call: Call): void {
  if (taps < 2) call.fail("taps", taps, "at least 2");
}

function word(name: string, value: number, call: Call): void {
  if (value >>> 0 !== value) call.fail(name, value, "an integer in [0, 2^32)");
}

function residual(add: Tensor | undefined, sum: Tensor | undefined, call: Call): void {
  if ((add === undefined) === (sum === undefined)) return;
  call.fail(add === undefined ? "sum" : "add", "given alone", "add and sum together");
}

/** Checks the arguments that head and head_backward share. */
function headInputs(
  args: Omit<HeadBackwardArgs, "dlogp" | "dhidden">,
  call: Call,
): void {
  const { rows, pairs, vocab, d, temperature } = args;
  call.aboveZero({ temperature });
  if (args.softCap !== undefined) {
    if (args.mean) call.fail("mean", "given", "no mean beside a cap");
  }
  if (args.mean && call.computeDtype !== "float32") {
    call.fail("mean", "given", `no mean with products in ${call.computeDtype}`);
  }
  call.inputs({ hidden: rows * d });
  if (args.weightType === undefined) call.inputs({ weight: vocab * d });
  else call.stored("weight", args.weightType, vocab, { d });
  call.inputs({ pairStart: rows + 1, targets: pairs }, "u32");
  const { xa, loraB, r, loraScale } = args;
  const missing = (["xa", "loraB", "r", "loraScale"] as const).find((k) => args[k] === undefined);
  if (xa && loraB && r !== undefined && loraScale !== undefined) {
    call.positive({ r });
    if (args.mean) call.fail("mean", "given", "no mean beside an adapter");
    call.inputs({ xa: rows * r, loraB: vocab * r });
  } else if (missing && (xa || loraB || r !== undefined || loraScale !== undefined)) {
    call.fail(missing, "absent", "xa, loraB, r and loraScale together");
  }
}
