/**
 * Finds the problems of the tasks that a user names. Size and seed are those of the request, or
 * else of the benchmark. Files are read from the path in the request, or from the place where
 * published data sets are pulled to.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { counted } from "../../core/counted.ts";
import { UsageError } from "../../core/errors.ts";
import { fileName } from "../../core/paths.ts";
import { type DataRow, haveSplits, readRows, rowsOfSplit } from "../../data/read_rows.ts";
import { entryRows } from "../../data/entry_rows.ts";
import { filesWithoutTest, isDataGone } from "../../data/open_problems.ts";
import { requireDataFiles, SplitReader } from "../../data/split_rows.ts";
import { formatOf } from "../../data/dataset_entries.ts";
import { FILE_SOURCE } from "../../data/score_completion.ts";
import type { AskedDialogues, AskedModels } from "./model_plan.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { isGame } from "../../rewards/environments/boards/board_environment.ts";
import {
  categoriesOf,
  createTestSet,
  environmentSet,
  isTask,
  type TaskRequest,
  type TestSet,
  unknownTasks,
} from "./test_set.ts";

/** Maximum number of problems of a task: all are held in memory. */
const MAX_PROBLEMS = 1_000_000;

/** The user's settings for the tasks of a benchmark. */
export interface AskedTasks extends Pick<AskedModels, "prompt"> {
  /** Names or files of tasks, alone or with their parameters. */
  tasks: readonly (string | TaskRequest)[];
  /** Problems of each task; default 100. */
  numExamples?: number;
  /** At most this many problems of a task, whatever the task asks for. */
  limit?: number;
  /**
   * Environments and tools, and the limits of dialogues; default: those of each model's run. null:
   * one answer, without them. An environment's file without tasks makes the problems itself.
   */
  dialogues?: AskedDialogues;
}

/**
 * @param runs runs of the models; of a file that one of them trained on, only held-out questions
 *   are asked
 * @throws UsageError when two tasks have the same label, or one cannot be made
 */
export async function planTasks(
  options: AskedTasks,
  seed: number,
  runs: readonly RunConfig[] = [],
): Promise<TestSet[]> {
  const requests: TaskRequest[] = [];
  for (const task of options.tasks) {
    const request = typeof task === "string" ? { name: task } : task;
    requests.push({ ...request, name: await taskNameOf(request.name) });
  }
  const { environment } = options.dialogues ?? {};
  const game = environment?.name;
  if (requests.length === 0 && isGame(game)) requests.push({ name: game! });
  if (requests.length === 0 && environment?.path !== undefined) {
    return [environmentSet(environment, { size: sizeOf(undefined, options, 100), seed })];
  }
  if (requests.length === 0) {
    throw new UsageError("no task is named", {
      advice: "Name one or several; rgx tasks list (in a program taskNames()) shows them.",
    });
  }
  const labels = requests.map(({ name, label = name }) => label);
  const twice = labels.find((label, i) => labels.indexOf(label) !== i);
  if (twice !== undefined) throw new UsageError(`the task ${twice} is named twice`);
  checkFileNames(labels);
  const fewShot = options.prompt?.few_shot ?? 0;
  // Unknown names are errors before any file is read.
  const unknown = requests.filter(({ name }) => !isTask(name)).map(({ name }) => name);
  if (unknown.length > 0) throw unknownTasks(unknown);
  const sets: TestSet[] = [], trainedAs = await trainedFiles(runs);
  for (const request of requests) {
    const size = sizeOf(request.size, options, 100);
    if (!(size >= 1 && (Number.isInteger(size) || size === Infinity))) {
      throw new UsageError(`${request.name}: ${size} problems are asked for, expected 1 or more`);
    }
    const common = { seed, size, fewShot };
    const path = request.path ?? publishedPlace(request.name);
    if (path === null) {
      if (size > MAX_PROBLEMS) {
        throw new UsageError(
          `${request.name}: ${size} problems are wanted, ${MAX_PROBLEMS} is the most of a task`,
          { advice: "An interval is narrow with some thousands: ± 1 point takes 10000." },
        );
      }
      sets.push(createTestSet({ ...request, size }, common));
      continue;
    }
    const { name, label = name, entriesOf } = request;
    const ofRun = request.path === undefined ? null : await testRowsOfRun(runs, request.path);
    if (ofRun !== null) {
      const format = name === "file" ? formatOf(ofRun.rows) : name;
      const asked = { ...request, name: format, label, path, size };
      sets.push(createTestSet(asked, { ...common, ...ofRun }));
      continue;
    }
    const files = await filesOf(request.name, path, request.path !== undefined);
    const all = await readRows(files);
    if (entriesOf !== undefined) {
      const rows = entryRows(all).filter(({ task }) => task === entriesOf);
      sets.push(createTestSet({ ...request, label, path, size }, { ...common, rows }));
      continue;
    }
    const rows = rowsOfSplit(all, "test");
    const trained = trainedAs.get(await placeOf(files)) ?? trainedAs.get(goneFile(path));
    const format = name === "file" ? trained?.format ?? formatOf(rows) : name;
    const heldOut = trained?.holdsOut === true && !haveSplits(rows);
    sets.push(
      createTestSet({ ...request, name: format, label, path, size }, { ...common, rows, heldOut }),
    );
  }
  return sets;
}

/**
 * The rows with which a run on this data set is tested, if the data alone does not say it: the
 * split that the run names, or, without a test split, rows of its training split.
 */
async function testRowsOfRun(
  runs: readonly RunConfig[],
  path: string,
): Promise<{ rows: readonly DataRow[]; heldOut: boolean } | null> {
  const run = runs.find(({ data: { dataset_name: name } }) =>
    name !== null && realDataPath(name) === realDataPath(path)
  );
  if (run === undefined) return null;
  const { dataset_test_split: test, dataset_train_split: train } = run.data;
  const reader = new SplitReader(path);
  if (test !== "test") return { rows: await reader.split(test), heldOut: false };
  try {
    await requireDataFiles(path, test);
    return null;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // From such data the run holds out questions by their text.
    return { rows: await reader.split(train), heldOut: run.eval.num_examples > 0 };
  }
}

/** The same for every spelling of a path; the last part may be a configuration of a folder. */
function realDataPath(name: string): string {
  if (existsSync(name)) return Deno.realPathSync(name);
  const folder = dirname(name);
  return existsSync(folder) ? join(Deno.realPathSync(folder), basename(name)) : name;
}

/** A file without a test split that runs were trained on. */
interface TrainedFile {
  /** null: that of its rows. */
  format: string | null;
  /** Whether one of the runs held questions out. */
  holdsOut: boolean;
}

/** By {@link placeOf}; by {@link goneFile} where the run's file is gone. */
async function trainedFiles(runs: readonly RunConfig[]): Promise<Map<string, TrainedFile>> {
  const found = new Map<string, TrainedFile>();
  for (const { data, eval: { num_examples } } of runs) {
    const files = await filesWithoutTest(data).catch(() => null);
    const isGone = await isDataGone(data);
    if (files === null && !isGone) continue;
    const place = isGone ? goneFile(data.dataset_name!) : await placeOf(files!);
    const holdsOut = num_examples > 0;
    found.set(place, {
      format: data.task_name ?? null,
      holdsOut: holdsOut || found.get(place)?.holdsOut === true,
    });
  }
  return found;
}

/** The key of a file that is gone. A file with the same name may be the moved file. */
const goneFile = (path: string) => `gone: ${basename(path)}`;

/** The real paths of files: the same for every spelling of them. */
async function placeOf(files: readonly string[]): Promise<string> {
  const places = await Promise.all(files.map((file) => Deno.realPath(file).catch(() => file)));
  return places.sort().join("\0");
}

/** Notes for files of which not all rows are asked. */
export function rowsLeftOut(sets: readonly TestSet[]): string[] {
  return sets.flatMap(({ label, entries, heldOutOf, repeats }) => [
    ...(heldOutOf === undefined ? [] : [
      `${label}: a model was trained on it, so ${entries.length} of its ${heldOutOf} questions ` +
      "are asked, which its training held out",
    ]),
    ...(repeats === undefined ? [] : [
      `${label}: questions are asked once; ${counted(repeats, "row repeats", "rows repeat")} the ` +
      "question of an earlier one",
    ]),
  ]);
}

/** @throws UsageError when two tasks would have the same result file */
function checkFileNames(labels: readonly string[]): void {
  const taken = new Map([["all_tasks", "the name of the file of all tasks"]]);
  for (const label of labels) {
    const name = fileName(label), other = taken.get(name);
    if (other !== undefined) {
      throw new UsageError(`${label} and ${other} would have the same result files, ${name}`, {
        advice: "Rename a file, or measure them apart.",
      });
    }
    taken.set(name, label);
  }
}

/** The number of problems of a task; `fallback` if nobody sets a number. */
function sizeOf(
  requested: number | undefined,
  { numExamples, limit = Infinity }: Pick<AskedTasks, "limit" | "numExamples">,
  fallback: number,
): number {
  return Math.min(requested ?? numExamples ?? fallback, limit);
}

/** Notes for tasks that have fewer different questions than were asked for. */
export function fewerThanAsked(
  options: Pick<AskedTasks, "tasks" | "limit" | "numExamples">,
  sets: readonly TestSet[],
): string[] {
  return options.tasks.flatMap((task, i) => {
    const requested = typeof task === "string" ? undefined : task.size;
    const asked = sizeOf(requested, options, 0);
    const { label, entries } = sets[i]!;
    return entries.length >= asked ? [] : [
      `${label} has ${counted(entries.length, "different question")}, ${asked} were asked for`,
    ];
  });
}

/**
 * Notes for tasks with problems without an answer.
 * @throws UsageError where no problem of a task has one
 */
export function withoutAnswers(sets: readonly TestSet[]): string[] {
  return sets.flatMap(({ label, entries, parameters }) => {
    const unknown = entries.filter(({ answer, metadata }) =>
      answer === null && metadata["source_dataset"] === FILE_SOURCE
    ).length;
    if (unknown === 0) {
      return [];
    }
    if (unknown === entries.length) {
      throw new UsageError(
        `${parameters["path"]}: none of its problems has an answer, so none can be scored`,
        { advice: "The columns of answers are answer, solution and completion." },
      );
    }
    return [`${label}: ${unknown} of ${entries.length} problems have no answer to compare with`];
  });
}

/** Notes for files whose first problems are of few categories, as in a sorted file. */
export function fewCategories(sets: readonly TestSet[]): string[] {
  return sets.flatMap(({ label, entries, categories = 0 }) => {
    const asked = categoriesOf(entries), few = asked.slice(0, 3).join(", ");
    const isFew = asked.length * 2 <= categories && entries.length >= categories;
    if (!isFew || asked.length === 0) return [];
    return [
      `${label}: its first ${entries.length} problems are of ${asked.length} of ` +
      `${categories} categories (${few}${asked.length > 3 ? ", …" : ""})`,
    ];
  });
}

/** @param isNamed whether the user gave the path */
async function filesOf(name: string, path: string, isNamed: boolean): Promise<string[]> {
  try {
    return await requireDataFiles(path, "test");
  } catch (error) {
    if (isNamed || !(error instanceof UsageError)) throw error;
    throw new UsageError(`the data set ${name} is not here: ${error.message}`, {
      advice: `Name its file: --tasks ${name}=PATH/test.jsonl. ${error.advice ?? ""}`.trim(),
      cause: error,
    });
  }
}
