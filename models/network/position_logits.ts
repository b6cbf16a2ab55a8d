/**
 * Logits of every position of one sequence, chunk by chunk. They serve to inspect a model
 * (log-probabilities, most likely tokens); training never has them in memory.
 */
import { finalRows, headLogits } from "./lm_head.ts";
import { type Network, trunkForward } from "./forward_pass.ts";
import { packGroups } from "./packing.ts";
import type { Workspace } from "./workspace.ts";

/** Number of positions whose logits are in memory at the same time. */
const CHUNK = 64;

/**
 * Gets the logits (temperature 1) of the token after ids[0…position]: [vocabSize], valid during the
 * call only.
 */
export type LogitsVisitor = (position: number, logits: Float32Array | Float64Array) => void;

export async function positionLogits(
  network: Network,
  workspace: Workspace,
  ids: readonly number[],
  options: { adapter: boolean; from: number },
  visit: LogitsVisitor,
): Promise<void> {
  const { device, config } = network, vocab = config.vocabSize;
  // The last token of a branch has no row, so a token is added after `ids`.
  const group = { promptIds: ids.slice(0, 1), branches: [[...ids.slice(1), 0]] };
  const limits = { ...config, maxPositions: config.maxPositions + 1 };
  const packed = packGroups([group], limits);
  packed.lengths.fill(ids.length); // one text, in one pass
  const trunk = trunkForward(network, workspace, packed, {
    adapter: options.adapter,
    keep: "none",
  });
  for (let begin = options.from; begin < ids.length; begin += CHUNK) {
    const count = Math.min(CHUNK, ids.length - begin);
    const rows = Uint32Array.from({ length: count }, (_, i) => begin + i);
    const index = workspace.upload("head.index", rows);
    const { normed } = finalRows(network, workspace, trunk, index, count);
    const out = workspace.get("logits", count * vocab);
    headLogits(network, workspace, { normed, out, rows: count, room: CHUNK });
    const logits = await device.read(out, 0, count * vocab) as Float32Array | Float64Array;
    for (let i = 0; i < count; i++) visit(begin + i, logits.subarray(i * vocab, (i + 1) * vocab));
  }
}
