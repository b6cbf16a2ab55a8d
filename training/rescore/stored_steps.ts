/** The completions of a run's steps as rewards saw them, from the tables of its folder. */
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { messageOf, RgxError } from "../../core/errors.ts";
import { isAbsent } from "../../core/paths.ts";
import type { RewardSample, RewardValue } from "../../rewards/types.ts";
import type { Entry } from "../../tasks/types.ts";
import { rewardSample } from "../rollout/score.ts";
import { completionsFile } from "../run/run_folder.ts";

/** A completion with the values that it had in the run. */
export interface StoredRow {
  sample: RewardSample;
  /** By the names of the run's rewards, unweighted; null = did not apply. */
  rewards: RewardValue[];
}

export interface StoredStep {
  step: number;
  /** Rows of a prompt are adjacent. */
  rows: StoredRow[];
}

export interface RunFacts {
  folder: string;
  /** Names of its rewards in metrics and tables. */
  rewardNames: readonly string[];
  maxCompletionLength: number;
}

/** The numbers of the steps that have a table, ascending; none in another folder. */
export async function stepsWithTables(folder: string): Promise<number[]> {
  const steps: number[] = [];
  try {
    for await (const { name } of Deno.readDir(`${folder}/completions`)) {
      const match = /^completions_(\d+)\.parquet$/.exec(name);
      if (match !== null) steps.push(Number(match[1]));
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return steps.sort((a, b) => a - b);
}

/** @throws RgxError when there are none */
export async function storedSteps(folder: string): Promise<number[]> {
  const steps = await stepsWithTables(folder);
  if (steps.length > 0) return steps;
  throw new RgxError(`${folder}/completions: there are no completions to score`, {
    advice: "A run keeps them with training.log_completions=true, which is the default.",
  });
}

export function tablePath(folder: string, step: number): string {
  return `${folder}/${completionsFile(step)}`;
}

/** The rows of a step's table. @throws RgxError when it is damaged, or not there */
export async function readTable(
  folder: string,
  step: number,
): Promise<{ path: string; rows: Record<string, unknown>[] }> {
  const path = tablePath(folder, step);
  try {
    return { path, rows: await parquetReadObjects({ file: await asyncBufferFromFile(path) }) };
  } catch (error) {
    if (isAbsent(error)) throw new RgxError(`${path}: there is no such table`, { cause: error });
    throw new RgxError(`${path}: is cut or damaged: ${messageOf(error)}`, { cause: error });
  }
}

/** @throws RgxError for a table that is damaged, or was written by an earlier version */
export async function readStoredStep(step: number, run: RunFacts): Promise<StoredStep> {
  const { path, rows } = await readTable(run.folder, step);
  const [first = {}] = rows;
  if (!Object.hasOwn(first, "entry")) {
    throw new RgxError(`${path}: does not hold the problems, which rewards need`, {
      advice: "An earlier version of rgx has written it; runs of this version can be scored again.",
    });
  }
  const missing = run.rewardNames.find((name) => !Object.hasOwn(first, name));
  if (missing !== undefined) {
    throw new RgxError(`${path}: has no column ${missing}, a reward of the run's config.yaml`);
  }
  return { step, rows: rows.map((row) => storedRow(step, row, run)) };
}

function storedRow(step: number, row: Record<string, unknown>, run: RunFacts): StoredRow {
  const entry = JSON.parse(row["entry"] as string) as Entry;
  return {
    rewards: run.rewardNames.map((name) => row[name] as RewardValue),
    sample: rewardSample(
      { entry, prompt: { text: row["prompt"] as string } },
      {
        ids: row["completion_ids"] as number[],
        text: row["completion"] as string,
        truncated: row["truncated"] as boolean,
      },
      { step, maxCompletionLength: run.maxCompletionLength },
    ),
  };
}
