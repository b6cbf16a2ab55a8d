/** The runs of a sweep beside one another. */
import { exists } from "../../core/paths.ts";
import { duration } from "../../core/duration.ts";
import type { TaskAccuracy } from "../../evaluation/accuracy.ts";
import type { TrainSummary } from "../../training/run/events.ts";
import { table } from "../terminal/terminal.ts";

/** What a run's folder tells: its configuration, and its summary if the run has begun. */
export interface RunResult {
  config: string;
  summary: TrainSummary | null;
}

/** Reads a run's folder; null where there is none, or none with a configuration. */
export async function readResult(folder: string): Promise<RunResult | null> {
  if (!await exists(`${folder}/config.yaml`)) return null;
  const config = await Deno.readTextFile(`${folder}/config.yaml`);
  try {
    const run = JSON.parse(await Deno.readTextFile(`${folder}/run.json`));
    return { config, summary: run as TrainSummary };
  } catch {
    return { config, summary: null }; // The run was killed before it wrote the file.
  }
}

const percent = (share: number) => (100 * share).toFixed(1);

function cell(accuracy: TaskAccuracy | null | undefined): string {
  if (!accuracy) return "–";
  const [low, high] = accuracy.ci95;
  return `${percent(accuracy.accuracy)} % [${percent(low)}, ${percent(high)}]`;
}

/** A row per run: held-out accuracy before and after with 95 % intervals, and its time. */
export function sweepTable(
  results: readonly { label: string; summary: TrainSummary | null }[],
): string {
  const rows = results.map(({ label, summary }) => [
    label,
    cell(summary?.eval_before),
    cell(summary?.eval_after),
    summary?.status === "completed" ? duration(summary.seconds) : summary?.status ?? "not begun",
  ]);
  const n = results.find(({ summary }) => summary?.eval_after)?.summary?.eval_after?.total;
  const of = n === undefined ? "" : ` (n = ${n})`;
  return table([["run", "before", `after${of}`, "time"], ...rows]);
}
