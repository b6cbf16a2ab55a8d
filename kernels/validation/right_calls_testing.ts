/**
 * A valid call of every operation, for tests of the checks. The tensors and their lengths follow
 * from the check itself; that it asks for no more than the operation reads and writes is shown by
 * the cases in kernels/conformance/, whose tensors are as long as needed. Not part of the program.
 */
import { createReferenceDevice } from "../devices/reference/device.ts";
import type { OpName, Ops } from "../ops/ops.ts";
import { tensorsOf } from "./validate.ts";

export const device = createReferenceDevice();
export const F = (length: number, label = "f") => device.create("float", length, label);
export const U = (length: number, label = "u") => device.create("u32", length, label);

const heads = { heads: 4, kvHeads: 2, headDim: 2, scale: 1 };
const attention = { ...heads, segmentCount: 2, rows: 3 };
const decode = { ...heads, count: 1, maxNew: 3 };
const head = { rows: 3, pairs: 2, vocab: 5, d: 2, temperature: 1 };
const choice = { rows: 2, experts: 3, chosen: 2, normalize: true };
const delta = { segmentCount: 2, rows: 3, keyHeads: 1, valueHeads: 2, keyDim: 2, valueDim: 1 };
const expert = { experts: 2, rows: 4, n: 3 };
const seed = { seedLow: 0, seedHigh: 0xffffffff };
const rates = { lr: 0.1, beta1: 0.9, beta2: 0.99, eps: 1e-8, weightDecay: 0 };
const adamw = { ...rates, correction1: 0.1, correction2: 0.01, gradScale: 1 };
const KEPT = ["keptRow", "keptH", "keptQ", "keptK", "keptV", "keptMid", "keptGate", "keptUp"];
const ADJUSTED = ["seen", "slots", "newest", "forbidden", "allowed"];

/** The numbers of each call, and the names of the optional tensors that it has. */
const CALLS: { readonly [K in OpName]: readonly [numbers: object, ...tensors: string[]] } = {
  matmul: [{ m: 2, n: 4, k: 3, r: 2, loraScale: 0.5 }, "xa", "loraB"],
  pack_weight: [{ n: 3, k: 2 }],
  rmsnorm: [{ rows: 2, d: 3, eps: 1e-5 }, "add", "sum"],
  rmsnorm_backward: [{ rows: 2, d: 3 }, "dweight"],
  layernorm: [{ rows: 2, d: 3, eps: 1e-5 }, "add", "sum"],
  layernorm_backward: [{ rows: 2, d: 3 }, "dweight"],
  add_bias: [{ rows: 2, d: 3 }],
  add_bias_backward: [{ rows: 2, d: 3 }],
  multiply: [{ n: 5 }],
  soft_cap: [{ n: 5, cap: 2 }],
  soft_cap_backward: [{ n: 5, cap: 2 }],
  short_conv: [{ rows: 3, d: 2, taps: 3 }, "gate"],
  short_conv_backward: [{ rows: 3, d: 2, taps: 3 }, "gate", "dgate", "dweight"],
  route: [choice],
  route_backward: [choice],
  expert_matmul: [{ ...expert, k: 2 }],
  expert_gradient: [{ ...expert, m: 3 }],
  dora_gain: [{ r: 2, d: 3 }],
  scale_columns: [{ rows: 2, d: 3 }],
  scale_columns_backward: [{ rows: 2, d: 3 }],
  delta_rule: [{ ...delta, roots: 1 }],
  delta_rule_backward: [{ ...delta, states: 1, longest: 2 }],
  gelu: [{ n: 5 }],
  gelu_backward: [{ n: 5 }, "activated"],
  rope: [{ rows: 2, heads: 2, headDim: 4 }],
  swiglu: [{ n: 5 }],
  swiglu_backward: [{ n: 5 }, "activated"],
  attention: [attention],
  attention_backward: [attention],
  sinks_backward: [{ rows: 3, heads: 4, headDim: 2 }],
  attention_decode: [decode],
  decode_layer: [
    { ...decode, d: 3, f: 5, eps: 1e-5 },
    ...KEPT,
  ],
  gather_rows: [{ rows: 2, d: 3 }],
  scatter_rows: [{ rows: 2, d: 3 }],
  scatter_add_rows: [{ runCount: 2, d: 3 }],
  head: [head],
  head_backward: [head, "dentropy", "dweight"],
  adjust_logits: [
    { rows: 2, vocab: 33, penalty: 2, forbiddenCount: 3 },
    ...ADJUSTED,
  ],
  sample: [{ rows: 2, vocab: 5, temperature: 1, topK: 0, topP: 1, minP: 0 }, "logp"],
  dropout: [{ rows: 2, d: 5, p: 0.1, site: 3, ...seed }],
  adamw: [{ ...adamw, n: 3 }],
  adamw_8bit: [{ ...adamw, n: 300 }],
  sum_squares: [{ n: 5000 }],
  widen_bf16: [{ n: 6 }, "rest"],
  round_bf16: [{ n: 6, first: 8, c1: 1, c2: 2, c3: 3, ...seed }, "rest"],
  add: [{ n: 3 }, "a"],
  copy: [{ n: 3, src: { dtype: "u32" } }],
  fill: [{ n: 3, value: 2 }],
};

function rightCall<K extends OpName>(op: K): Ops[K] {
  const [numbers, ...optional] = CALLS[op];
  const args: Record<string, unknown> = { ...numbers };
  for (const name of optional) args[name] = { dtype: "float" };
  for (const { name, length, dtype } of tensorsOf(op, args as unknown as Ops[K])) {
    args[name] = dtype === "float" ? F(length) : U(length);
  }
  return args as unknown as Ops[K];
}

/** One valid call of every operation. */
export function rightCalls(): { [K in OpName]: Ops[K] } {
  const all = (Object.keys(CALLS) as OpName[]).map((op) => [op, rightCall(op)]);
  return Object.fromEntries(all) as { [K in OpName]: Ops[K] };
}
