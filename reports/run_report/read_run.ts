/** The folder of a training run for programs: its record, its metrics and its completions. */
import { RgxError, UsageError } from "../../core/errors.ts";
import { readIfThere } from "../../core/text_file.ts";
import { readTable, stepsWithTables } from "../../training/rescore/stored_steps.ts";
import { type Point, readRuns } from "../charts/run_metrics.ts";
import { objectOf, rewardsOf, textOf } from "./run_record.ts";

/** A training run, finished or not. */
export interface Run {
  /** The folder of the run. */
  folder: string;
  /** Contents of run.json: `status`, `eval_before`, `eval_after`, sessions; empty without it. */
  record: Readonly<Record<string, unknown>>;
  /** By name, as in metrics.jsonl: values by step. Those of the warm start begin with `sft/`. */
  metrics: ReadonlyMap<string, readonly Point[]>;
  /** The steps whose completions were kept, ascending. */
  completionSteps: readonly number[];
  /** The completions of a step; those of a prompt are adjacent. */
  completions(step: number): Promise<RunCompletion[]>;
}

/** A completion that a run has sampled. */
export interface RunCompletion {
  /** The text that the model read. */
  prompt: string;
  /** The right answer; null: many are right, or it was not recorded. */
  expected: string | null;
  /** The text that it wrote, without special tokens. */
  completion: string;
  /** By name, unweighted, with the values that rewards have logged; null: did not apply. */
  rewards: Record<string, number | null>;
  /** The weight of the completion in the loss. */
  advantage: number;
  /** Whether the completion reached its maximum length; null: an earlier version wrote it. */
  truncated: boolean | null;
}

/**
 * Reads the folder of a run. Its configuration is read by `loadConfig`, of `config.yaml` in it.
 * @throws UsageError when the folder holds no metrics of a run; RgxError when they are damaged
 */
export async function readRun(folder: string): Promise<Run> {
  const path = folder.replace(/(?<=.)\/+$/, "");
  const isFolder = await Deno.stat(path).then((info) => info.isDirectory, () => false);
  if (!isFolder) throw new UsageError(`${folder}: is no folder of a run`);
  const [{ series }] = await readRuns([path]) as [Awaited<ReturnType<typeof readRuns>>[0]];
  const text = await readIfThere(`${path}/run.json`) ?? "{}";
  const completionSteps = await stepsWithTables(path);
  return {
    folder: path,
    record: objectOf(() => JSON.parse(text)),
    metrics: series,
    completionSteps,
    async completions(step) {
      if (!completionSteps.includes(step)) {
        throw new RgxError(`${path}: the completions of step ${step} were not kept`, {
          advice: `Steps with completions: ${completionSteps.join(", ") || "none"}.`,
        });
      }
      return (await readTable(path, step)).rows.map(completionOf);
    },
  };
}

function completionOf(row: Record<string, unknown>): RunCompletion {
  const { prompt, expected, completion, advantage, truncated } = row;
  return {
    prompt: String(prompt),
    expected: textOf(expected),
    completion: String(completion),
    rewards: rewardsOf(row),
    advantage: Number(advantage),
    truncated: typeof truncated === "boolean" ? truncated : null,
  };
}
