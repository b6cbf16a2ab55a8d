/**
 * GPU binding of adjust_logits. The newest tokens are added to their sets, then one invocation for
 * each logit copies or penalises it, then the forbidden ones are overwritten. Logits are copied as
 * bits, so that infinities are safe.
 * Left out: sets of seen tokens beyond one binding (a vocabulary of a million tokens with a
 * thousand slots fits).
 */
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { type AdjustLogitsArgs, seenWords } from "./spec.ts";

/** No two rows share a slot, so no two invocations write the same word. */
const addNewest = variants(() => ({
  name: "adjust_logits.newest",
  reads: "u32 slots newest",
  writes: "u32 seen",
  params: "u32 n width",
  code: perElement(`let token = newest[i];
  seen[slots[i] * p.width + (token >> 5u)] |= 1u << (token & 31u);`),
}));

const adjust = variants(({ penalised }: { penalised: boolean }) => ({
  name: "adjust_logits",
  reads: `u32 src${penalised ? " slots seen" : ""}`,
  writes: "u32 dst",
  params: "u32 n vocab width, f32 penalty",
  code: perElement(
    penalised
      ? `let row = i / p.vocab;
  let token = i - row * p.vocab;
  let bits = src[i];
  let logit = bitcast<f32>(bits);
  let changed = select(logit * p.penalty, logit / p.penalty, logit > 0.0);
  let hit = (seen[slots[row] * p.width + (token >> 5u)] >> (token & 31u)) & 1u;
  dst[i] = select(bits, bitcast<u32>(changed), hit == 1u);`
      : "dst[i] = src[i];",
  ),
}));

/** Writes −∞ as bits, because WGSL has no literal for it. */
const forbid = variants(() => ({
  name: "adjust_logits.forbid",
  reads: "u32 forbidden",
  writes: "u32 dst",
  params: "u32 n vocab count",
  code: perElement(`let row = i / p.count;
  dst[row * p.vocab + forbidden[i - row * p.count]] = 0xff800000u;`),
}));

const allow = variants(() => ({
  name: "adjust_logits.allow",
  reads: "u32 allowed",
  writes: "u32 dst",
  params: "u32 n vocab width",
  code: perElement(`let row = i / p.vocab;
  let token = i - row * p.vocab;
  let bit = (allowed[row * p.width + (token >> 5u)] >> (token & 31u)) & 1u;
  if (bit == 0u) { dst[i] = 0xff800000u; }`),
}));

export const adjustLogitsWebgpu: WebgpuOp<AdjustLogitsArgs> = (args, ctx) => {
  const { logits, out, rows, vocab, penalty, seen, slots, newest, forbidden, allowed } = args;
  const width = seenWords(vocab), count = args.forbiddenCount;
  if (seen !== undefined && slots !== undefined && newest !== undefined) {
    ctx.dispatch({
      kernel: addNewest({}),
      buffers: { slots, newest, seen },
      params: { n: rows, width },
    });
  }
  inRowParts(ctx, rows, vocab, (part, partRows) => {
    const penalised = seen !== undefined && slots !== undefined;
    ctx.dispatch({
      kernel: adjust({ penalised }),
      buffers: {
        src: part(logits, vocab),
        ...(penalised ? { slots: part(slots, 1), seen } : {}),
        dst: part(out, vocab),
      },
      params: { n: partRows * vocab, vocab, width, penalty },
    });
    if (allowed !== undefined) {
      ctx.dispatch({
        kernel: allow({}),
        buffers: { allowed: part(allowed, width), dst: part(out, vocab) },
        params: { n: partRows * vocab, vocab, width },
      });
    }
    if (count === 0 || forbidden === undefined) return;
    ctx.dispatch({
      kernel: forbid({}),
      buffers: { forbidden, dst: part(out, vocab) },
      params: { n: partRows * count, vocab, count },
    });
  });
};
