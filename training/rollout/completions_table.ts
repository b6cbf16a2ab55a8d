/**
 * The completions of a step as a Parquet table, with the columns step, prompt, expected (the right
 * answer, or null), completion, one for each reward, advantage, and the extra columns that rewards
 * have written. Three further columns hold what else rewards see, so that `rgx rescore` can score
 * again: entry (the problem as JSON text), completion_ids (a list as JSON) and truncated.
 */
import { parquetWriteBuffer } from "hyparquet-writer";
import type { ExtraValue } from "../../rewards/types.ts";
import { entryJson } from "../../tasks/entry_json.ts";
import { idsOf, type Rollout } from "./rollout.ts";

/** @param rewardNames the columns of the rewards; a null reward stays null */
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
      {
        name: "expected",
        data: rows.map((row) => groups[row.group]!.entry.answer),
        type: "STRING",
      },
      { name: "completion", data: rows.map((row) => row.text), type: "STRING" },
      ...rewardNames.map((name, k) => ({
        name,
        data: rows.map((row) => row.rewards[k] ?? null),
        type: "DOUBLE" as const,
      })),
      { name: "advantage", data: rows.map((row) => row.advantage), type: "DOUBLE" },
      {
        name: "entry",
        data: rows.map((row) => entryJson(groups[row.group]!.entry)),
        type: "STRING",
      },
      { name: "completion_ids", data: rows.map((row) => [...idsOf(row)]), type: "JSON" },
      { name: "truncated", data: rows.map((row) => row.truncated), type: "BOOLEAN" },
      ...extraNames(rollout).map((name) =>
        extraColumn(name, rows.map((row) => row.extras[name] ?? null))
      ),
    ],
  }));
}

function extraNames({ rows }: Rollout): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row.extras)))];
}

/** A column of numbers or booleans if all cells are of that type, otherwise of text. */
function extraColumn(name: string, cells: readonly ExtraValue[]) {
  const types = new Set(cells.filter((cell) => cell !== null).map((cell) => typeof cell));
  const [type] = types;
  if (types.size === 1 && type !== "string") {
    return {
      name,
      data: [...cells],
      type: type === "number" ? "DOUBLE" as const : "BOOLEAN" as const,
    };
  }
  const data = cells.map((cell) => cell === null ? null : String(cell));
  return { name, data, type: "STRING" as const };
}
