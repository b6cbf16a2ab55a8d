/**
 * Checks the arguments of operations on the host, before anything is enqueued. All devices use the
 * same checks. They cover sizes, element types, lengths and overlaps. They do not cover the
 * contents of tensors (indices, segment tables), which the host cannot see.
 *
 * An output may not overlap any other tensor. If the operation's spec allows it to be one of the
 * inputs, it must be exactly this input. Inputs may overlap each other.
 */
import { RgxError } from "../../core/errors.ts";
import { Call, NONE } from "./call.ts";
import {
  checkAttention,
  checkAttentionBackward,
  checkAttentionDecode,
  checkDecodeLayer,
  even,
} from "./attention.ts";
import { checkMatmul, checkPackWeight } from "./matmul.ts";
import {
  checkAdamw,
  checkAdamw8bit,
  checkRoundBf16,
  checkSumSquares,
  checkWidenBf16,
} from "./optimizer.ts";
import { COUNTER_WORDS } from "../ops/sample/spec.ts";
import { seenWords } from "../ops/adjust_logits/spec.ts";
import { COLUMNS, SITES } from "../ops/dropout/spec.ts";
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
  const call = new Call(op, computeDtype);
  check(args, call);
  call.refuseOverlaps();
  return call;
}

const CHECKS: { readonly [K in OpName]: (args: Ops[K], call: Call) => void } = {
  matmul: checkMatmul,
  pack_weight: checkPackWeight,

  rmsnorm({ x, add, sum, weight, out, rho, rows, d, eps, offset = 0 }, call) {
    call.sizes({ rows });
    call.positive({ d });
    call.finite({ eps, offset });
    residual(add, sum, call);
    call.input("x", x, rows * d);
    if (add) call.input("add", add, rows * d);
    if (sum) call.output("sum", sum, rows * d, ["x"]);
    call.input("weight", weight, d);
    call.output("out", out, rows * d);
    call.output("rho", rho, rows);
  },

  rmsnorm_backward({ dout, x, weight, rho, dx, dweight, rows, d, offset = 0 }, call) {
    call.sizes({ rows });
    call.positive({ d });
    call.finite({ offset });
    call.input("dout", dout, rows * d);
    call.input("x", x, rows * d);
    call.input("weight", weight, d);
    call.input("rho", rho, rows);
    call.output("dx", dx, rows * d);
    if (dweight) call.output("dweight", dweight, d);
  },

  layernorm({ x, add, sum, weight, bias, out, mean, rho, rows, d, eps }, call) {
    call.sizes({ rows });
    call.positive({ d });
    call.finite({ eps });
    residual(add, sum, call);
    call.input("x", x, rows * d);
    if (add) call.input("add", add, rows * d);
    if (sum) call.output("sum", sum, rows * d, ["x"]);
    call.input("weight", weight, d);
    call.input("bias", bias, d);
    call.output("out", out, rows * d);
    call.output("mean", mean, rows);
    call.output("rho", rho, rows);
  },

  layernorm_backward({ dout, x, weight, mean, rho, dx, dweight, rows, d }, call) {
    call.sizes({ rows });
    call.positive({ d });
    call.input("dout", dout, rows * d);
    call.input("x", x, rows * d);
    call.input("weight", weight, d);
    call.input("mean", mean, rows);
    call.input("rho", rho, rows);
    call.output("dx", dx, rows * d);
    if (dweight) call.output("dweight", dweight, d);
  },

  add_bias({ x, bias, rows, d }, call) {
    call.sizes({ rows });
    call.positive({ d });
    call.output("x", x, rows * d);
    call.input("bias", bias, d);
  },

  add_bias_backward({ dout, dbias, rows, d }, call) {
    call.sizes({ rows });
    call.positive({ d });
    call.input("dout", dout, rows * d);
    call.output("dbias", dbias, d);
  },

  rope({ x, cos, sin, positions, rows, heads, headDim, rotaryDim = headDim }, call) {
    call.sizes({ rows });
    call.positive({ heads, headDim, rotaryDim });
    even("headDim", headDim, call);
    even("rotaryDim", rotaryDim, call);
    if (rotaryDim > headDim) call.fail("rotaryDim", rotaryDim, `at most headDim (${headDim})`);
    call.output("x", x, rows * heads * headDim);
    const table = rows > 0 ? rotaryDim / 2 : 0;
    call.input("cos", cos, table);
    call.input("sin", sin, table);
    call.input("positions", positions, rows, "u32");
  },

  swiglu({ gate, up, out, n }, call) {
    call.sizes({ n });
    call.input("gate", gate, n);
    call.input("up", up, n);
    call.output("out", out, n, ["gate", "up"]);
  },

  swiglu_backward({ dout, gate, up, dgate, dup, activated, n }, call) {
    call.sizes({ n });
    call.input("dout", dout, n);
    call.input("gate", gate, n);
    call.input("up", up, n);
    call.output("dgate", dgate, n, ["gate"]);
    call.output("dup", dup, n, ["up"]);
    if (activated) call.output("activated", activated, n);
  },

  gelu({ x, out, n }, call) {
    call.sizes({ n });
    call.input("x", x, n);
    call.output("out", out, n, ["x"]);
  },

  gelu_backward({ dout, x, dx, activated, n }, call) {
    call.sizes({ n });
    call.input("dout", dout, n);
    call.input("x", x, n);
    call.output("dx", dx, n, ["x"]);
    if (activated) call.output("activated", activated, n);
  },

  attention: checkAttention,
  attention_backward: checkAttentionBackward,
  attention_decode: checkAttentionDecode,
  decode_layer: checkDecodeLayer,

  gather_rows({ table, weightType, index, out, rows, d }, call) {
    call.sizes({ rows, d });
    // The number of the table's rows is known to the caller only.
    const areWords = weightType === undefined && [table, out].every((x) => x?.dtype === "u32");
    const dtype = areWords ? "u32" : "float";
    if (weightType === undefined) call.input("table", table, rows > 0 ? d : 0, dtype);
    else call.stored("table", table, weightType, rows > 0 ? 1 : 0, { d });
    call.input("index", index, rows, "u32");
    call.output("out", out, rows * d, [], dtype);
  },

  scatter_rows({ src, index, table, rows, d }, call) {
    call.sizes({ rows, d });
    call.input("src", src, rows * d);
    call.input("index", index, rows, "u32");
    call.output("table", table, rows * d);
  },

  scatter_add_rows({ src, order, runs, target, table, runCount, d }, call) {
    call.sizes({ runCount, d });
    call.input("src", src, 0);
    call.input("order", order, 0, "u32");
    call.input("runs", runs, runCount + 1, "u32");
    call.input("target", target, runCount, "u32");
    call.output("table", table, runCount * d);
  },

  head(args, call) {
    const { logp, lse, entropy, rows, pairs } = args;
    headInputs(args, call);
    call.output("logp", logp, pairs);
    call.output("lse", lse, rows);
    call.output("entropy", entropy, rows);
    if (args.mean) call.output("mean", args.mean, rows * args.d);
  },

  head_backward(args, call) {
    const { lse, entropy, dlogp, dentropy, dhidden, dweight, rows, pairs, vocab, d } = args;
    const { dxa, dloraB, r } = args;
    headInputs(args, call);
    call.input("lse", lse, rows);
    call.input("entropy", entropy, rows);
    call.input("dlogp", dlogp, pairs);
    if (args.mean) {
      if (dentropy || dweight) call.fail("mean", "given", "no mean beside dentropy or dweight");
      call.input("mean", args.mean, rows * d);
    }
    if (dentropy) call.input("dentropy", dentropy, rows);
    call.output("dhidden", dhidden, rows * d);
    if (dweight) call.output("dweight", dweight, vocab * d);
    if (r === undefined) {
      if (dxa || dloraB) call.fail("r", "absent", "an adapter beside its gradients");
      return;
    }
    if (dxa) call.output("dxa", dxa, rows * r);
    else call.fail("dxa", "absent", "a tensor beside an adapter");
    if (dloraB) call.output("dloraB", dloraB, vocab * r);
  },

  adjust_logits(args, call) {
    const { logits, out, rows, vocab, penalty, forbiddenCount } = args;
    const { seen, slots, newest, forbidden, allowed } = args;
    call.sizes({ rows, forbiddenCount });
    call.positive({ vocab });
    if (!(penalty > 0 && penalty < Infinity)) {
      call.fail("penalty", penalty, "a finite number > 0 (1 = off)");
    }
    if ((seen === undefined) !== (slots === undefined)) {
      call.fail(seen === undefined ? "slots" : "seen", "given alone", "seen and slots together");
    }
    if (newest && !seen) call.fail("newest", "given", "seen and slots beside it");
    if (forbiddenCount > 0 && !forbidden) call.fail("forbidden", "absent", "a tensor");
    call.input("logits", logits, rows * vocab);
    call.output("out", out, rows * vocab);
    // The number of slots depends on the contents of `slots`, which the host cannot see.
    if (seen) call.output("seen", seen, rows > 0 ? seenWords(vocab) : 0, NONE, "u32");
    if (slots) call.input("slots", slots, rows, "u32");
    if (newest) call.input("newest", newest, rows, "u32");
    if (forbidden) call.input("forbidden", forbidden, forbiddenCount, "u32");
    if (allowed) call.input("allowed", allowed, rows * seenWords(vocab), "u32");
  },

  sample(args, call) {
    const { logits, counters, tokens, logp, rows, vocab, temperature, topK, topP, minP } = args;
    call.sizes({ rows, topK });
    call.positive({ vocab });
    if (!(temperature >= 0 && temperature < Infinity)) {
      call.fail("temperature", temperature, "a finite number ≥ 0 (0 = greedy)");
    }
    if (!(topP > 0 && topP <= 1)) call.fail("topP", topP, "0 < topP ≤ 1 (1 = off)");
    if (!(minP >= 0 && minP <= 1)) call.fail("minP", minP, "0 ≤ minP ≤ 1 (0 = off)");
    call.input("logits", logits, rows * vocab);
    if (args.scored) call.input("scored", args.scored, rows * vocab);
    call.input("counters", counters, rows * COUNTER_WORDS, "u32");
    call.output("tokens", tokens, rows, NONE, "u32");
    call.output("logp", logp, rows);
  },

  dropout({ x, keys, out, rows, d, p, site, seedLow, seedHigh, accumulate }, call) {
    call.sizes({ rows, d, site });
    if (d > COLUMNS) call.fail("d", d, `at most ${COLUMNS}`);
    if (site >= SITES) call.fail("site", site, `below ${SITES}`);
    if (!(p >= 0 && p < 1)) call.fail("p", p, "0 ≤ p < 1");
    word("seedLow", seedLow, call);
    word("seedHigh", seedHigh, call);
    call.input("x", x, rows * d);
    call.input("keys", keys, rows * 3, "u32");
    call.output("out", out, rows * d, accumulate === true ? NONE : ["x"]);
  },

  adamw: checkAdamw,
  adamw_8bit: checkAdamw8bit,
  sum_squares: checkSumSquares,
  widen_bf16: checkWidenBf16,
  round_bf16: checkRoundBf16,

  add({ a, b, out, n, scale = 1 }, call) {
    call.sizes({ n });
    call.finite({ scale });
    if (a) call.input("a", a, n);
    call.input("b", b, n);
    call.output("out", out, n, ["a", "b"]);
  },

  copy({ src, out, n }, call) {
    call.sizes({ n });
    call.input("src", src, n, src.dtype);
    call.output("out", out, n, NONE, src.dtype);
  },

  fill({ out, n, value }, call) {
    call.sizes({ n });
    if (typeof value !== "number") call.fail("value", value, "a number");
    call.output("out", out, n);
  },
};

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
  call.sizes({ rows, pairs });
  call.positive({ vocab, d });
  if (!(temperature > 0 && temperature < Infinity)) {
    call.fail("temperature", temperature, "a finite number > 0");
  }
  if (args.mean && call.computeDtype !== "float32") {
    call.fail("mean", "given", `no mean with products in ${call.computeDtype}`);
  }
  call.input("hidden", args.hidden, rows * d);
  if (args.weightType === undefined) call.input("weight", args.weight, vocab * d);
  else call.stored("weight", args.weight, args.weightType, vocab, { d });
  call.input("pairStart", args.pairStart, rows + 1, "u32");
  call.input("targets", args.targets, pairs, "u32");
  const { xa, loraB, r, loraScale } = args;
  const missing = (["xa", "loraB", "r", "loraScale"] as const).find((k) => args[k] === undefined);
  if (xa && loraB && r !== undefined && loraScale !== undefined) {
    call.positive({ r });
    call.finite({ loraScale });
    if (args.mean) call.fail("mean", "given", "no mean beside an adapter");
    call.input("xa", xa, rows * r);
    call.input("loraB", loraB, vocab * r);
  } else if (missing && (xa || loraB || r !== undefined || loraScale !== undefined)) {
    call.fail(missing, "absent", "xa, loraB, r and loraScale together");
  }
}
