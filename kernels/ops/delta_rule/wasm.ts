/**
 * CPU bindings of the gated delta rule. Queries, keys and gates are computed first; then the work
 * is divided by columns of the state, and in the backward by heads.
 */
import type { WasmContext, WasmOp } from "../common/wasm_op.ts";
import type { DeltaRuleArgs, DeltaRuleBackwardArgs } from "./spec.ts";

const LANES = 16;

/** Normed queries and keys, and the gates, for all rows; in shared scratch. */
function prepared(args: DeltaRuleArgs | DeltaRuleBackwardArgs, ctx: WasmContext) {
  const { rows, keyHeads, valueHeads, keyDim } = args, padded = Math.ceil(keyDim / LANES) * LANES;
  const qk = ctx.scratch(4 * Math.max(1, rows) * 2 * keyHeads * padded);
  const gates = ctx.scratch(4 * Math.max(1, rows) * 2 * valueHeads);
  const grain = Math.max(1, Math.ceil(1024 / (keyHeads * keyDim)));
  ctx.parallel({ kernel: "delta_prepare", units: rows, grain, args: { ...args, qk, gates } });
  return { qk, gates, padded };
}

export const deltaRuleWasm: WasmOp<DeltaRuleArgs> = (args, ctx) => {
  const { segmentCount, roots, valueHeads, valueDim } = args,
    { padded, ...ready } = prepared(args, ctx);
  const units = valueHeads * Math.ceil(valueDim / LANES), scratchBytes = 4 * LANES * padded;
  for (const [first, end] of [[0, roots], [roots, segmentCount]] as const) {
    ctx.parallel({
      kernel: "delta_rule",
      units: (end - first) * units,
      grain: 1,
      scratchBytes,
      args: { ...args, ...ready, first },
    });
  }
};

export const deltaRuleBackwardWasm: WasmOp<DeltaRuleBackwardArgs> = (args, ctx) => {
  const { rows, valueHeads, states, longest } = args, { padded, ...ready } = prepared(args, ctx);
  const dqk = ctx.scratch(4 * Math.max(1, rows) * valueHeads * 2 * padded);
  const dgates = ctx.scratch(4 * Math.max(1, rows) * 2 * valueHeads);
  const all = { ...args, ...ready, dqk, dgates };
  ctx.parallel({
    kernel: "delta_rule_backward",
    units: rows === 0 ? 0 : valueHeads,
    grain: 1,
    scratchBytes: 4 * padded * (longest + 2 * states + 2),
    args: all,
  });
  ctx.parallel({
    kernel: "delta_prepare_backward",
    units: rows,
    grain: 1,
    scratchBytes: 4 * padded,
    args: all,
  });
};
