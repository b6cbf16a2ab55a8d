/** CPU binding of a decoding layer. */
import { queryGroup, softmaxScratch } from "../attention/wasm.ts";
import { maxBlockBranches } from "../attention_decode/wasm.ts";
import { termsInOrder, TILE_ROWS } from "../matmul/wasm/tiling.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import { type DecodeLayerArgs, shareOfRows } from "./spec.ts";

export const decodeLayerWasm: WasmOp<DecodeLayerArgs> = (args, ctx) => {
  const { count, d, f, heads, kvHeads, headDim } = args;
  const group = queryGroup("decode_layer", heads, kvHeads);
  if (count === 0) return;
  // The threads get equal shares of rows. A share consists of equal blocks of branches that attend
  // together. Neither changes a bit: every row is computed as it would be alone.
  const unitRows = shareOfRows(count, ctx.threads);
  const blocks = Math.ceil(unitRows / maxBlockBranches(group));
  const blockBranches = Math.ceil(unitRows / blocks);
  const width = heads * headDim, kv = kvHeads * headDim;
  const aligned = (bytes: number) => Math.ceil(bytes / 64) * 64;
  const attentionBytes = aligned(softmaxScratch(headDim));
  const floats = [16 * (unitRows + TILE_ROWS), unitRows];
  for (const columns of [d, width, width, kv, kv, f, f]) floats.push(unitRows * columns);
  ctx.parallel({
    kernel: "decode_layer",
    units: Math.ceil(count / unitRows),
    grain: 1,
    scratchBytes: floats.reduce((sum, n) => sum + aligned(4 * n), attentionBytes),
    args: {
      ...args,
      kBlockD: termsInOrder(d),
      kBlockQ: termsInOrder(width),
      kBlockF: termsInOrder(f),
      unitRows,
      blockBranches,
      attentionBytes,
    },
  });
};
