/** The completions of a step as a parquet table: step, prompt, completion, one column a reward, advantage. */
import { parquetWriteBuffer } from "hyparquet-writer";
import type { Rollout } from "./rollout.ts";

/** @param rewardNames column names of the rewards; a null reward stays null */
export function encodeCompletions(
  step: number,
  rollout: Rollout,
  rewardNames: readonly string[],
): Uint8Array {
  const { rows, groups } = rollout;
  return new Uint8Array(parquetWriteBuffer({
    columnData: [
      { name: "step", data: rows.map(() => step), type: "INT32" },
      { name: "prompt", data: rows.map((row) => groups[row.group]!.prompt.text), type: "STRING" },
      { name: "completion", data: rows.map((row) => row.text), type: "STRING" },
      ...rewardNames.map((name, k) => ({
        name,
        data: rows.map((row) => row.rewards[k] ?? null),
        type: "DOUBLE" as const,
      })),
      { name: "advantage", data: rows.map((row) => row.advantage), type: "DOUBLE" },
    ],
  }));
}
