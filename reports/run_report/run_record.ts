/**
 * Reads the folder of a training run for its report: `run.json`, `config.yaml`, `metrics.jsonl`,
 * `run.log`, and the completions of the first and the last step. Only `metrics.jsonl` is required.
 */
import { parse } from "yaml";
import { UsageError } from "../../core/errors.ts";
import { isCorrect } from "../../bench/evaluation/accuracy.ts";
import { pairedTest } from "../../bench/evaluation/matched_pairs.ts";
import { DIALOGUE_COLUMNS, TABLE_COLUMNS } from "../../rewards/rubric.ts";
import { isRecord } from "../../core/json_file.ts";
import { readIfThere } from "../../core/text_file.ts";
import { readTable, stepsWithTables } from "../../training/rescore/stored_steps.ts";
import { readRuns } from "../charts/run_metrics.ts";

export type Json = Readonly<Record<string, unknown>>;

export type RunRecord = Awaited<ReturnType<typeof readRunRecord>>;
export type SampledGroup = RunRecord["samples"][number];

interface Remark {
  kind: "warning" | "advice";
  step: number | null;
  text: string;
  tries: string[];
}

/** @throws UsageError when the folder has no metrics, RgxError when they are damaged */
export async function readRunRecord(folder: string) {
  const isFolder = await Deno.stat(folder).then((info) => info.isDirectory, () => false);
  if (!isFolder) {
    throw new UsageError(`no report: ${folder} is no folder of a run`, {
      advice: "Name the output folder of a run of rgx train.",
    });
  }
  const [metrics] = await readRuns([folder]);
  const configText = await readIfThere(`${folder}/config.yaml`) ?? "";
  const config = objectOf(() => parse(configText));
  const runText = await readIfThere(`${folder}/run.json`);
  return {
    folder,
    /** The configuration's `run_name`, or the folder's name. */
    name: textOf(objectIn(config["logging"])["run_name"]) ?? metrics!.name,
    /** Contents of run.json; empty when there is none. */
    run: objectOf(() => JSON.parse(runText ?? "{}")),
    config,
    configText,
    metrics: metrics!,
    /** Warnings and advice in their order; each text once. */
    remarks: remarksOf(await readIfThere(`${folder}/run.log`) ?? ""),
    /** A group of completions of the first step, and one of the last step. */
    samples: await readSamples(folder),
    ...await readAnswers(folder),
  };
}

// Parts of what was read, which may be damaged or from another version.

export const textOf = (value: unknown) => typeof value === "string" ? value : null;
export const numberOf = (value: unknown) => typeof value === "number" ? value : null;
export const objectIn = (value: unknown): Json => isRecord(value) ? value : {};

/** The task, the data set, or the names of several tasks, by the section `data`. */
export function taskNames({ task_name, dataset_name, tasks }: Json): string | null {
  const several = Array.isArray(tasks)
    ? tasks.flatMap((part) =>
      textOf(objectIn(part)["task_name"]) ?? textOf(objectIn(part)["name"]) ?? []
    )
    : Object.keys(objectIn(tasks));
  return several.length > 0 ? several.join(", ") : textOf(task_name) ?? textOf(dataset_name);
}

/** Reads an object; a damaged file gives an empty object, so that a report can still be written. */
export function objectOf(read: () => unknown): Json {
  try {
    const value = read();
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** Warnings and advice in the text of run.log. */
export function remarksOf(log: string): Remark[] {
  const remarks = new Map<string, Remark>();
  for (const line of log.split("\n")) {
    const { event, message, text, step, tries } = objectOf(() => JSON.parse(line));
    const said = event === "warning" ? message : event === "advice" ? text : undefined;
    if (typeof said !== "string" || remarks.has(said)) continue;
    remarks.set(said, {
      kind: event === "warning" ? "warning" : "advice",
      step: numberOf(step),
      text: said,
      tries: Array.isArray(tries) ? tries.map(String) : [],
    });
  }
  return [...remarks.values()];
}

async function readSamples(folder: string) {
  const steps = await stepsWithTables(folder),
    chosen = new Set([...steps.slice(0, 1), ...steps.slice(-1)]);
  const groups = await Promise.all([...chosen].map((step) => readGroup(folder, step)));
  return groups.filter((group) => group !== null);
}

/** Maximum number of held-out problems in a report. */
const SHOWN_PROBLEMS = 10;

/** What a model wrote. */
export interface GivenAnswer {
  /** null: no answer was found in the completion. */
  extracted: string | null;
  completion: string;
}

async function readAnswers(folder: string) {
  const [before, after] = await Promise.all(
    ["before", "after"].map(async (moment) =>
      answerRows(await readIfThere(`${folder}/eval_${moment}.jsonl`) ?? "")
    ),
  );
  return {
    /** Answers to held-out problems; null: nothing was evaluated. */
    heldOut: heldOutAnswers(before!, after!),
    /** null: the folder does not have all answers of both evaluations. */
    paired: pairedTests(before!, after!),
  };
}

/** The answers in the text of eval_before.jsonl or eval_after.jsonl. */
export function answerRows(text: string): Json[] {
  const rows = text.split("\n").map((line) => objectOf(() => JSON.parse(line)));
  return rows.filter(({ question }) => typeof question === "string");
}

/**
 * Comparisons of the answers before and after training; null where the rows are not answers to the
 * same problems in the same order.
 */
export function pairedTests(before: readonly Json[], after: readonly Json[]) {
  const isSame = before.length > 0 && before.length === after.length &&
    before.every((row, i) =>
      ["question", "temperature"].every((key) => row[key] === after[i]![key])
    );
  if (!isSame) return null;
  const test = (temperature: unknown, holds: (row: Json) => boolean) => {
    const values = [before, after].map((rows) =>
      rows.filter((row) => row["temperature"] === temperature).map((row) => Number(holds(row)))
    );
    return pairedTest(values[0]!, values[1]!);
  };
  const isRight = ({ score }: Json) => isCorrect({ score: Number(score) });
  const sampled = before[0]!["temperature"];
  return {
    sampled: test(sampled, isRight),
    /** Absent: all answers were greedy. */
    ...(sampled !== 0 && { greedy: test(0, isRight) }),
    /** Whether each sampled answer has the requested form. */
    format: test(sampled, ({ formatted }) => formatted === true),
  };
}

/** The first held-out problems, with the answers that were given at the lowest temperature. */
function heldOutAnswers(before: readonly Json[], after: readonly Json[]) {
  const asked = after.length > 0 ? after : before;
  if (asked.length === 0) return null;
  const temperature = Math.min(...asked.map((row) => Number(row["temperature"])));
  const given = (rows: readonly Json[]) =>
    new Map(
      rows.filter((row) => row["temperature"] === temperature).map((row) => [row["question"], row]),
    );
  const [first, last] = [given(before), given(after)];
  const answerIn = (row: Json | undefined): GivenAnswer | null =>
    row === undefined ? null : {
      extracted: textOf(row["extracted"]),
      completion: textOf(row["completion"]) ?? "",
    };
  const problems = [...given(asked).values()].slice(0, SHOWN_PROBLEMS).map((row) => {
    const question = String(row["question"]);
    return {
      question,
      expected: textOf(row["expected"]),
      /** null: the problem was not asked. */
      before: answerIn(first.get(question)),
      after: answerIn(last.get(question)),
      /** Of the answer after training. */
      score: numberOf(last.get(question)?.["score"]),
    };
  });
  return { temperature, problems };
}

/** Columns of the completions that are not rewards. */
export const OTHER_COLUMNS: ReadonlySet<string> = new Set([...TABLE_COLUMNS, ...DIALOGUE_COLUMNS]);

/** The values of the rewards in a row of the completions, by name; null: did not apply. */
export function rewardsOf(row: Json): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(row)
      .filter(([name, value]) =>
        !OTHER_COLUMNS.has(name) && (typeof value === "number" || value === null)
      ) as [string, number | null][],
  );
}

/** The first group whose completions differ in reward, else the first; null: none can be read. */
async function readGroup(folder: string, step: number) {
  const rows = await readTable(folder, step).then(({ rows }) => rows, () => []);
  const chosen = rows.find(({ advantage }) => advantage !== 0) ?? rows[0];
  if (chosen === undefined) return null;
  const group = rows.filter(({ prompt }) => prompt === chosen["prompt"]);
  return {
    step,
    prompt: String(chosen["prompt"]),
    /** The right answer; null: many are right, or it was not recorded. */
    expected: textOf(chosen["expected"]),
    completions: group.map((row) => ({
      text: String(row["completion"]),
      rewards: rewardsOf(row),
      advantage: Number(row["advantage"]),
    })),
  };
}

/** A table of a report. */
export interface Table {
  /** The first row is the heading; the first column is text, all others numbers. */
  rows: string[][];
}
