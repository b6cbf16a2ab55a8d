/** `rgx tasks export`: data sets on disk for other trainers. */
import { loadConfig } from "../../configs/load.ts";
import { ANY_DATASET } from "../../configs/reading/resolve_paths.ts";
import { rewardMetrics } from "../../configs/schema/metric_names.ts";
import { counted } from "../../core/counted.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { exists, folderOf, isFolder } from "../../core/paths.ts";
import { SPLIT, type Split } from "../../core/philox.ts";
import { didYouMean } from "../../core/suggest.ts";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  type Row,
  ROW_FORMATS,
  type RowOptions,
  withSplit,
} from "../../data/export_formats.ts";
import { formatQuestion } from "../../data/prompt.ts";
import { CORRECT, scoreCompletion } from "../../data/score_completion.ts";
import { writeJsonLines, writeParquet } from "../../data/write_rows.ts";
import type { RewardSample } from "../../rewards/types.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { createDataset, type Dataset } from "../../tasks/dataset.ts";
import { getTask } from "../../tasks/registry.ts";
import type { Entry } from "../../tasks/types.ts";
import { readStoredStep, storedSteps } from "../../training/rescore/stored_steps.ts";
import type { FlagsOf } from "../flags.ts";
import { log, print } from "../terminal/terminal.ts";
import { readTaskParams } from "./task_params.ts";

export type ExportOptions = FlagsOf<"TASKS_EXPORT">;

/** The placeholder in `--output` for the name of the split: each split gets a file. */
const PLACEHOLDER = "{split}";
/** Splits in order of precedence: a later one does not repeat questions of an earlier one. */
const PRECEDENCE: readonly Split[] = ["test", "validation", "train"];
/** Maximum number of new draws for an entry whose question is in another split. */
const REDRAWS = 100;
const REDRAW_STRIDE = 2 ** 40;

export async function exportTasks(given: string[], options: ExportOptions): Promise<void> {
  if (options.fromRun !== undefined) return await exportRun(given, options.fromRun, options);
  if (options.best !== undefined) throw new UsageError("--best: needs --from-run, a run's folder");
  if (given.length === 0) {
    throw new UsageError("expected the names of tasks, or --from-run with the folder of a run");
  }
  const names = await Promise.all(given.map(taskNameOf));
  const format = formatOf(options.format), sizes = readSplits(options.splits);
  const kind = kindOf(options.output);
  for (const text of [...options.set, ...options.setLevel]) {
    if (names.length === 1 || names.some((name) => text.startsWith(`${name}.`))) continue;
    throw new UsageError(`${text}: of several tasks, say which: ${names[0]}.${text}`);
  }
  const sets = names.map((name) => new TaskSplits(name, names.length > 1, options));
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`the task ${twice} is named twice`);
  for (const set of sets) set.holdApart(sizes);
  const rowOptions: RowOptions = {
    systemPrompt: options.system ?? null,
    systemRole: options.systemRole,
    addInstructions: options.instructions,
  };
  if (options.systemRole !== "system" && options.system === undefined) {
    throw new UsageError("--system-role: the role of the system message, and there is none", {
      advice: "Give it with --system TEXT.",
    });
  }
  const files = options.output.includes(PLACEHOLDER)
    ? [...sizes].map(([split, size]) => new Map([[split, size]]))
    : [sizes];
  const pathOf = (splits: ReadonlyMap<Split, number>) =>
    options.output.replaceAll(PLACEHOLDER, [...splits.keys()][0]!);
  for (const folder of files.map((splits) => folderOf(pathOf(splits)))) {
    if (await isFolder(folder)) continue;
    throw new UsageError(`--output ${options.output}: there is no folder ${folder}`);
  }
  for (const fileSplits of files) {
    const path = pathOf(fileSplits);
    const shape = fileSplits.size > 1 && format !== "verl"
      ? withSplit(ROW_FORMATS[format])
      : ROW_FORMATS[format];
    const rows = function* (): Generator<Row> {
      for (const [split, size] of fileSplits) {
        for (const set of sets) {
          for (const entry of set.entries(split, size)) yield shape.row(entry, split, rowOptions);
        }
      }
    };
    const isThere = await Deno.stat(path).then(() => true, () => false);
    if (kind === "jsonl") await writeJsonLines(path, rows());
    else await writeParquet(path, shape.columns, rows());
    const counts = [...fileSplits].map(([split, size]) => `${split} ${size * sets.length}`).join(
      ", ",
    );
    print(path);
    log(`wrote ${path} (${counts})${isThere ? " in place of the file that was there" : ""}`);
  }
  if (format === "raw" && (options.system !== undefined || !options.instructions)) {
    const flag = options.system === undefined ? "--no-instructions" : "--system";
    log(
      `note: ${flag} has no effect with --format raw: its rows are entries, not prompts ` +
        "(data.system_prompt and data.add_instructions make these when they are read)",
    );
  }
  for (const { name, kept } of sets) {
    if (kept === 0) continue;
    log(`note: ${name} has few different questions: ${kept} entries ask what another split asks`);
  }
}

function kindOf(output: string): string {
  const kind = /\.(jsonl|parquet)$/.exec(output)?.[1];
  if (kind !== undefined) return kind;
  throw new UsageError(`--output ${output}: expected a name that ends in .jsonl or .parquet`);
}

function formatOf(format: string): ExportFormat {
  const found = EXPORT_FORMATS.find((known) => known === format);
  if (found !== undefined) return found;
  throw new UsageError(`--format ${format}: expected one of ${EXPORT_FORMATS.join(", ")}`);
}

function readSplits(text: string): Map<Split, number> {
  const sizes = new Map<Split, number>();
  for (const part of text.split(",")) {
    const [, split = "", count = ""] = /^\s*(\w*)\s*=\s*(\d*)\s*$/.exec(part) ?? [];
    if (!Object.hasOwn(SPLIT, split)) {
      const near = didYouMean(split, Object.keys(SPLIT));
      throw new UsageError(
        `--splits ${text}: expected train=N,validation=N,test=N (any of them), ` +
          `found "${part}"${near}`,
      );
    }
    const size = Number(count);
    if (count === "" || !Number.isSafeInteger(size) || size < 1) {
      throw new UsageError(
        `--splits ${text}: ${split}: expected a number of entries, found "${count}"`,
      );
    }
    if (sizes.has(split as Split)) {
      throw new UsageError(`--splits ${text}: ${split} is there twice`);
    }
    sizes.set(split as Split, size);
  }
  return sizes;
}

/**
 * The entries of one task. No two splits have the same question, if the task has enough questions.
 */
class TaskSplits {
  readonly #sets: Record<Split, Dataset>;
  /** The questions of each split, which a later split must not repeat. */
  readonly #questions = new Map<Split, ReadonlySet<string>>();
  /** Number of entries whose question another split has too. */
  kept = 0;

  constructor(readonly name: string, isOneOfSeveral: boolean, options: ExportOptions) {
    const params = readTaskParams(getTask(name), options, isOneOfSeveral);
    const open = (split: Split) => createDataset(name, { ...params, seed: options.seed, split });
    this.#sets = { train: open("train"), validation: open("validation"), test: open("test") };
  }

  holdApart(sizes: ReadonlyMap<Split, number>): void {
    const splits = PRECEDENCE.filter((split) => sizes.has(split));
    for (const split of splits.slice(0, -1)) {
      const questions = new Set<string>();
      for (const { question } of this.entries(split, sizes.get(split)!)) questions.add(question);
      this.#questions.set(split, questions);
    }
    this.kept = 0;
  }

  *entries(split: Split, size: number): Generator<Entry> {
    const others = [...this.#questions]
      .filter(([other]) => PRECEDENCE.indexOf(other) < PRECEDENCE.indexOf(split))
      .map(([, questions]) => questions);
    const isTaken = ({ question }: Entry) => others.some((questions) => questions.has(question));
    for (let index = 0; index < size; index++) {
      let entry = this.#sets[split].entry(index);
      for (let draw = 1; draw <= REDRAWS && isTaken(entry); draw++) {
        entry = this.#sets[split].entry(index + draw * REDRAW_STRIDE);
      }
      if (isTaken(entry)) this.kept++;
      yield entry;
    }
  }
}

/**
 * The right answers of a run, in place of problems of tasks: prompts and completions, which
 * `rgx sft` trains on (rejection sampling; repeated, it is expert iteration).
 * @throws UsageError for a folder of no run; RgxError when none of its answers is right
 */
async function exportRun(
  names: readonly string[],
  run: string,
  { best = "shortest", output }: ExportOptions,
): Promise<void> {
  if (names.length > 0) {
    throw new UsageError(`${names[0]}: --from-run exports what the run was asked, without names`);
  }
  const kind = kindOf(output);
  const folder = run.replace(/(?<=.)\/+$/, "");
  if (!await exists(`${folder}/config.yaml`)) {
    throw new UsageError(`--from-run ${run}: is not the folder of a run: it has no config.yaml`);
  }
  // The data of a past run need not be here: its tables hold the problems.
  const { config: { data, rewards, training } } = await loadConfig(`${folder}/config.yaml`, {
    env: Deno.env.toObject(),
    heldDataset: ANY_DATASET,
  });
  const facts = {
    folder,
    rewardNames: rewardMetrics(rewards),
    maxCompletionLength: training.max_completion_length,
  };
  const right = new Map<string, RewardSample[]>();
  const asked = new Set<string>();
  let completions = 0;
  for (const step of await storedSteps(folder)) {
    for (const { sample } of (await readStoredStep(step, facts)).rows) {
      completions++;
      asked.add(sample.prompt);
      const { completion, entry, prompt, truncated } = sample;
      if (truncated) continue;
      if (scoreCompletion(completion, entry, data.system_prompt, prompt).score < CORRECT) continue;
      right.set(prompt, [...right.get(prompt) ?? [], sample]);
    }
  }
  if (right.size === 0) {
    throw new RgxError(`${folder}: none of its ${completions} completions is right`, {
      advice: "There is nothing to learn from: sample more, or from a better model.",
    });
  }
  const rows = [...right.values()].flatMap((samples) => chosen(samples, best === "all"))
    .map((sample) => rowOf(sample, data.add_instructions));
  if (kind === "jsonl") await writeJsonLines(output, rows);
  else {
    const isChat = Array.isArray(rows[0]!["prompt"]);
    const prompt = isChat ? "messages" : "text";
    const columns = { prompt, completion: "text", answer: "text?", metadata: "json" } as const;
    await writeParquet(output, columns, rows);
  }
  print(output);
  log(
    `wrote ${output} (${counted(rows.length, "right answer")} to ${right.size} of the ` +
      `${counted(asked.size, "prompt")}, of ${counted(completions, "completion")})`,
  );
}

/** Of the right answers to a prompt: the one with the fewest tokens, or all that differ. */
function chosen(samples: readonly RewardSample[], all: boolean): RewardSample[] {
  const different = [...new Map(samples.map((one) => [one.completion, one])).values()];
  if (all) return different;
  const length = ({ completionIds }: RewardSample) => completionIds.length;
  return [different.reduce((short, one) => length(one) < length(short) ? one : short)];
}

/** The prompt is the one that the run asked, so it keeps the instruction of the run. */
function rowOf(
  { entry, messages, info, answer, completion }: RewardSample,
  addInstructions: boolean,
): Row {
  const { completion: _, work: __, ...metadata } = info;
  const prompt = messages ?? formatQuestion(entry.question ?? "", { addInstructions });
  return { prompt, completion, answer, metadata };
}
