/** The scratch memory of attention while decoding on a GPU, for the operation and for plans. */
import { MIN_PIECE_KEYS } from "./partial.wgsl.ts";
import type { AttentionDecodeArgs } from "./spec.ts";

/** Max number of pieces that a range of keys is divided into. */
export const MAX_PIECES = 16;

interface Work extends Pick<AttentionDecodeArgs, "heads" | "headDim"> {
  branches: number;
  promptRows: number;
  maxNewTokens: number;
}

/** Maximum number of elements that the pieces take, on a card that binds the caches whole. */
export function decodeScratch({ branches, promptRows, maxNewTokens, heads, headDim }: Work) {
  const pieces = (keys: number) => Math.min(MAX_PIECES, Math.ceil(keys / MIN_PIECE_KEYS));
  const each = branches * heads * (headDim + 2);
  return each * (Math.max(1, pieces(promptRows)) + Math.max(1, pieces(maxNewTokens)));
}
