/**
 * The problems of a benchmark: fixed by the seed, the same for every model, each question once. A
 * task draws them from its test split, whose keys training never uses, in the same way as a run
 * draws its held-out problems: equal seeds and parameters give equal problems. A file gives its
 * first problems, or the first of those that training holds out.
 */
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { emptySource } from "../../data/empty_source.ts";
import {
  environmentName,
  type EnvironmentSection,
} from "../../rewards/environments/open_environments.ts";
import type { DataRow } from "../../data/read_rows.ts";
import { isHeldOut } from "../../data/file_source.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { getTask, hasTask, taskNames } from "../../tasks/registry.ts";
import type { Entry } from "../../tasks/types.ts";
import { DATASET_NAMES, datasetEntries, readDataset } from "../../data/dataset_entries.ts";

/** A task as it is asked for. */
export interface TaskRequest {
  /**
   * A registered task, the file of a task (`./digit_sum.ts`), or a data set (`gsm8k`, `math500`,
   * `mmlu_pro`, `file`), which needs `path`.
   */
  name: string;
  /** Its name in charts, tables and file names; default: `name`. */
  label?: string;
  /** The group that it belongs to; default: the task's own, or `data set`. */
  category?: string | null;
  /** The task's parameters; default: its own. */
  parameters?: Record<string, unknown>;
  /** Number of problems; default: the benchmark's. */
  size?: number;
  /** Seed of the problems; default: the benchmark's. */
  seed?: number;
  /** The file of a data set. */
  path?: string;
  /** From a file with entries of tasks, only the entries of this task are asked. */
  entriesOf?: string;
  /** Scores below 1 count as 0. */
  binary?: boolean;
}

/** The problems of a task, the same ones for every model. */
export interface TestSet {
  label: string;
  taskName: string;
  category: string | null;
  parameters: Record<string, unknown>;
  seed: number;
  binary: boolean;
  entries: readonly Entry[];
  /** The problems are of one of rgx's tasks, not of a file. */
  isOwn: boolean;
  /** Number of all questions of a file; only the questions that training holds out are asked. */
  heldOutOf?: number;
  /** Number of rows of a file that repeat the question of an earlier row; they are left out. */
  repeats?: number;
  /**
   * Worked examples for few-shot prompts: of another split than the problems. For a task there is
   * one more than a prompt takes, since the problem itself may be among them.
   */
  shots: readonly Entry[];
  /** Number of categories among all problems of a file, including problems that are not asked. */
  categories?: number;
}

/** After this many draws in a row without a new question the task counts as exhausted. */
const FRUITLESS_DRAWS = 2_000;

export interface TestSetOptions {
  seed: number;
  size: number;
  fewShot: number;
  /** Rows of the request's file, where they were read already; else it is read as JSON Lines. */
  rows?: readonly DataRow[] | null;
  /** Only the questions that training on the file holds out, if there are any. */
  heldOut?: boolean;
}

/**
 * Makes the problems. There may be fewer than were asked for, from a task with few different
 * questions or a short file.
 * @throws UsageError for an unknown task, a parameter that it refuses, or a file that cannot be
 *   read
 */
export function createTestSet(request: TaskRequest, options: TestSetOptions): TestSet {
  const { name, label = name, category, parameters = {}, binary = false } = request;
  const size = request.size ?? options.size, seed = request.seed ?? options.seed;
  const { fewShot } = options;
  const common = { label, taskName: name, parameters, seed, binary };
  if (DATASET_NAMES.includes(name)) {
    if (request.path === undefined) {
      throw new UsageError(`the data set ${name} is a file, and none is named`, {
        advice: `--tasks ${name}=PATH/test.jsonl`,
      });
    }
    const { rows = null } = options;
    const all = rows === null
      ? readDataset(name, request.path)
      : datasetEntries(name, rows, request.path);
    const total = all.length;
    // Worked examples come from the file's end and are not asked.
    const shots = fewShot === 0 ? [] : all.splice(-fewShot);
    if (all.length === 0) {
      throw new UsageError(`${request.path}: ${fewShot} worked examples leave no problem`);
    }
    const kept = options.heldOut ? all.filter(({ question }) => isHeldOut(question)) : [];
    const heldOut = kept.length > 0, asked = heldOut ? kept : all;
    const repeats = asked.length - new Set(asked.map(({ question }) => question)).size;
    return {
      ...common,
      parameters: { ...parameters, path: request.path, ...(heldOut && { split: "test" }) },
      ...(heldOut && { heldOutOf: total }),
      ...(repeats > 0 && { repeats }),
      category: category ?? "data set",
      categories: categoriesOf(asked).length,
      isOwn: false,
      entries: distinct((i) => asked[i] ?? null, size),
      shots,
    };
  }
  if (!hasTask(name)) throw unknownTasks([name]);
  const test = createDataset(name, { ...parameters, seed, split: "test" });
  const worked = createDataset(name, { ...parameters, seed, split: "validation" });
  return {
    ...common,
    category: category ?? getTask(name).category,
    isOwn: true,
    entries: distinct((i) => test.entry(i), size),
    // One more than needed: a problem is never among its own worked examples.
    shots: fewShot === 0 ? [] : distinct((i) => worked.entry(i), fewShot + 1),
  };
}

/** The problems of an environment that needs no data. */
export function environmentSet(
  environment: EnvironmentSection,
  { size, seed }: { size: number; seed: number },
): TestSet {
  const label = environmentName(environment), source = emptySource(label, size, "");
  return {
    label,
    taskName: label,
    category: "environment",
    parameters: {},
    seed,
    binary: false,
    isOwn: true,
    entries: Array.from({ length: size }, (_, i) => source.entry("test", i)),
    shots: [],
  };
}

/** The categories of problems, as the columns of published data sets name them. */
export function categoriesOf(entries: readonly Entry[]): string[] {
  const names = entries.map(({ metadata }) => metadata["category"] ?? metadata["subject"]);
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

/** Whether this is the name of a registered task or of a data set. */
export function isTask(name: string): boolean {
  return hasTask(name) || DATASET_NAMES.includes(name);
}

/** An error that suggests the nearest task or data set for each name. */
export function unknownTasks(names: readonly string[]): UsageError {
  const known = [...taskNames(), ...DATASET_NAMES];
  const each = names.map((name) => `unknown task "${name}"${didYouMean(name, known)}`);
  return new UsageError(each.join("; "), {
    advice: "rgx tasks list shows all tasks; data sets are " + DATASET_NAMES.join(", "),
  });
}

function distinct(entry: (index: number) => Entry | null, size: number): Entry[] {
  const found = new Map<string, Entry>();
  for (let index = 0, fruitless = 0; found.size < size && fruitless < FRUITLESS_DRAWS; index++) {
    const next = entry(index);
    if (next === null) break;
    fruitless = found.has(next.question) ? fruitless + 1 : 0;
    if (fruitless === 0) found.set(next.question, next);
  }
  return [...found.values()];
}
