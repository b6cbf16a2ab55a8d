/**
 * The state of a running benchmark: the answers of each model so far. Every answer is scored and
 * goes to the store. At the end the result is made from the store, with the samples of earlier
 * runs.
 */
import { counted } from "../core/counted.ts";
import { fnv1a } from "../core/philox.ts";
import { VERSION } from "../core/version.ts";
import { DATASET_NAMES } from "../data/dataset_entries.ts";
import { UNIVERSAL_INSTRUCTION } from "../data/prompt.ts";
import { publishedFormat } from "../data/published_formats.ts";
import {
  FILE_SOURCE,
  hasAnswer,
  scoreCompletion,
  type ScoredCompletion,
} from "../data/score_completion.ts";
import { type DialogueKeys, namesOf } from "./dialogue/dialogue.ts";
import type { EnvironmentSection } from "../rewards/environments/open_environments.ts";
import type { RawAnswer, Took } from "./answerer.ts";
import { settingsFor } from "./evaluation/prompt_settings.ts";
import type { PlannedModel } from "./plan/model_plan.ts";
import {
  type AllTasksResultFile,
  type Failure,
  type PromptRecord,
  RESULT_FORMAT,
  type SampleResult,
  samplesOf,
  type Sampling,
  type TaskResults,
} from "./results/result_file.ts";
import { type Job, missingSamples, type OnJobEvent } from "./workers/run_jobs.ts";
import type { Entry } from "../tasks/types.ts";
import type { TestSet } from "./plan/test_set.ts";
import type { SampleLine, SampleStore } from "./results/sample_store.ts";
import { averages, compareModels, summarize } from "./results/summarize.ts";
import { sha256Hex } from "../core/checksums.ts";
import { getTask, hasTask } from "../tasks/registry.ts";
import type { ModelRequest } from "./plan/model_request.ts";
import { messageOf } from "../core/errors.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { splitProblems } from "../data/held_out.ts";
import { hasProblems, isDataGone, openProblems } from "../data/open_problems.ts";

/** One of several parts of a benchmark: every `count`-th combination. */
export interface Shard {
  /** From 0 to count − 1. */
  index: number;
  /** Number of parts. */
  count: number;
}

/** What a benchmark reports while it runs. */
export type BenchEvent =
  | { type: "plan"; models: string[]; tasks: string[]; combinations: number; samples: number }
  | { type: "resumed"; samples: number }
  /** At the beginning with share 0, then while the weights are loaded; `share` from 0 to 1. */
  | { type: "loading"; worker: number; model: string; share: number }
  | { type: "progress"; worker: number; model: string; done: number; total: number }
  /** An answer, as it is stored. */
  | { type: "sample"; model: string; task: string; entry: Entry; result: SampleResult }
  | { type: "failed"; model: string; task: string; error: string }
  | { type: "warning"; message: string };

/** A model and a task that it is asked. */
interface Combination extends Omit<Job, "missing"> {
  model: PlannedModel;
}

export class BenchmarkRun {
  readonly total: number;
  readonly resumed: number;
  /** In the order of the tasks, so that parts and workers get different models. */
  readonly combinations: readonly Combination[];
  /** The combinations that lacked samples at the beginning. */
  readonly jobs: readonly Job[];
  /** Samples that were answered in this call. */
  evaluated = 0;
  /** Samples among them that failed. */
  errors = 0;
  /** Sum over all models of this call. */
  readonly took: Took = { loading: 0, asking: 0, model: 0 };
  readonly #failures: Failure[] = [];
  /** Seconds that asking a model took in this call, by its name. */
  readonly #seconds = new Map<string, number>();

  readonly models: readonly PlannedModel[];

  constructor(
    planned: readonly PlannedModel[],
    readonly sets: readonly TestSet[],
    shard: Shard | null,
    readonly store: SampleStore,
    readonly samples: number,
    readonly emit: (event: BenchEvent) => void,
  ) {
    const models = this.models = planned.map((model) => asBegun(model, sets, store));
    this.combinations = sets.flatMap((set) => models.map((model) => ({ model, set })))
      .filter((_, i) => shard === null || i % shard.count === shard.index)
      .map(({ model, set }) => ({ model, set, key: combinationKey(model, set) }));
    this.total = samples * this.combinations.reduce((sum, { set }) => sum + set.entries.length, 0);
    this.jobs = this.combinations.map((combination) => this.#job(combination))
      .filter(({ missing }) => missing.length > 0);
    this.resumed = this.total - missingSamples(this.jobs);
  }

  get answered(): number {
    return this.resumed + this.evaluated;
  }

  /** @param total number of samples that the worker will answer */
  listener(worker: number, total: number): OnJobEvent {
    let done = 0;
    return (event) => {
      const { model: { name: model }, set: { label: task } } = event.job;
      if (event.type === "loading") {
        this.emit({ type: "loading", worker, model, share: event.share });
      } else if (event.type === "answer") {
        this.#add(event.job, event.index, event.sample, event.raw);
        this.emit({ type: "progress", worker, model, done: ++done, total });
      } else if (event.type === "failed") this.#fail({ model, task, error: event.error });
      else {
        const { took } = event;
        this.#seconds.set(model, (this.#seconds.get(model) ?? 0) + took.asking);
        this.took.loading += took.loading;
        this.took.asking += took.asking;
        this.took.model += took.model;
      }
    };
  }

  /** The parts of one combination fail with the same error, which counts once. */
  #fail(failure: { model: string; task: string; error: string }): void {
    const isKnown = this.#failures.some((one) =>
      one.model === failure.model && one.task === failure.task && one.error === failure.error
    );
    if (isKnown) return;
    this.#failures.push(failure);
    this.emit({ type: "failed", ...failure });
  }

  async result(
    stamp: string,
    seed: number,
    samplingSeed: number,
    sampling: Sampling,
  ): Promise<AllTasksResultFile> {
    const overlap = new OverlapCounter();
    const bases = new Set(this.models.filter(({ isBase }) => isBase).map(({ name }) => name));
    const found = this.combinations.map((one) => ({ ...one, lines: this.#lines(one) }))
      .filter(({ lines }) => lines.length > 0);
    const tokens = new Map<PlannedModel, number>();
    for (const { model, lines } of found) {
      tokens.set(model, (tokens.get(model) ?? 0) + tokensOf(lines));
    }
    const tasks: Record<string, TaskResults> = {};
    for (const set of this.sets) {
      const models: TaskResults["models"] = {};
      for (const { model, lines } of found.filter((one) => one.set === set)) {
        const share = tokensOf(lines) / (tokens.get(model)! || 1);
        const asked = new Set(lines.map(({ index }) => index));
        models[model.name] = summarize(set.entries, lines, {
          prompt: promptRecord(model, set, lines),
          device: [...new Set(lines.map(({ device }) => device))].join("; "),
          overlap: await overlap.count(model.run, set.entries.filter((_, i) => asked.has(i)), {
            model: model.name,
            task: set.label,
          }),
          seconds: (this.#seconds.get(model.name) ?? 0) * share,
          ...(model.settings.dialogues && { dialoguesWith: namesOf(model.settings.dialogues) }),
        });
      }
      if (Object.keys(models).length === 0) continue;
      const { label: task, taskName: task_name, category, parameters, seed } = set;
      const comparisons = compareModels(task, models, (name) => bases.has(name));
      tasks[task] = { task, task_name, category, parameters, seed, models, comparisons };
    }
    for (const message of overlap.warnings) this.emit({ type: "warning", message });
    return {
      format: RESULT_FORMAT,
      kind: "all_tasks",
      created: new Date().toISOString(),
      stamp,
      rgx_version: VERSION,
      deno_version: Deno.version.deno,
      seed,
      sampling_seed: samplingSeed,
      sampling,
      tasks,
      average: averages(tasks),
      parts: [],
      failures: [...this.#failures, ...found.flatMap(failedRequests)],
    };
  }

  /** Warns of problems that were too long for a model, and of a model with only empty answers. */
  warnOfGaps({ tasks }: AllTasksResultFile): void {
    for (const { task, models } of Object.values(tasks)) {
      for (const [model, { examples }] of Object.entries(models)) {
        const long = examples.filter((example) => example.too_long);
        if (long.length === 0) continue;
        const message = `${model} was not asked ${long.length} of ` +
          `${counted(examples.length, "question")} of ${task}: too long for it ` +
          `(${long[0]!.error})`;
        this.emit({ type: "warning", message });
      }
    }
    for (const { name } of this.models) {
      const examples = Object.values(tasks).flatMap(({ models }) => models[name]?.examples ?? []);
      const asked = examples.filter(({ error }) => error === undefined);
      if (asked.length > 0 && asked.every(({ completion }) => completion.trim() === "")) {
        const message = `${name} answered none of ${counted(asked.length, "problem")}: ` +
          "every completion is empty";
        this.emit({ type: "warning", message });
      }
    }
  }

  /** Warns of a model in whose completions for a data set no answer was found at all. */
  warnOfUnread({ tasks }: AllTasksResultFile): void {
    for (const { task, models } of Object.values(tasks)) {
      for (const [model, { examples }] of Object.entries(models)) {
        const all = examples.flatMap(samplesOf).filter(({ completion }) =>
          completion.trim() !== ""
        );
        const { source_dataset: source } = examples[0]?.metadata ?? {};
        if (all.some(({ dialogue }) => dialogue !== undefined)) continue;
        const isData = source === FILE_SOURCE || publishedFormat(source) !== null;
        if (!isData || all.length === 0 || all.some(({ extracted }) => extracted !== null)) {
          continue;
        }
        const how = all.every(({ truncated }) => truncated)
          ? "all were cut off (--max-new-tokens)"
          : "--instructions asks for it between <answer> and </answer>";
        const what = `no answer could be extracted from any of its ${all.length} completions`;
        const message = `${model}, ${task}: ${what}, so its accuracy says nothing: ${how}`;
        this.emit({ type: "warning", message });
      }
    }
  }

  #add(job: Job, index: number, sample: number, raw: RawAnswer): void {
    const { model, set } = job, key = keyOf(set, job.key, index), entry = set.entries[index]!;
    const { prompt_tokens, device, ...answer } = raw;
    const { extracted, formatted, score, error } = scoreOf(
      raw,
      entry,
      model.settings.prompt.system_prompt,
      model.settings.prompt.add_instructions === true ? UNIVERSAL_INSTRUCTION : "",
    );
    if (error !== null) {
      this.emit({ type: "warning", message: `${set.label}, problem ${index}: ${error}` });
    }
    const result: SampleResult = {
      ...answer,
      extracted,
      ...(extracted !== null && !formatted ? { formatted } : {}),
      score: raw.error !== undefined || (set.binary && score < 1) ? 0 : score,
    };
    if (raw.error !== undefined && !raw.too_long) this.errors++;
    const { prompt_time: time } = model.settings.prompt;
    const made = { prompt_tokens, device, ...(time && { prompt_time: time }), result };
    this.store.add({ key, model: model.name, task: set.label, index, sample, ...made });
    this.evaluated++;
    this.emit({ type: "sample", model: model.name, task: set.label, entry, result });
  }

  #job(combination: Combination): Job {
    const { set, key } = combination;
    const missing: Job["missing"] = [];
    for (let index = 0; index < set.entries.length; index++) {
      const samples: number[] = [];
      for (let sample = 0; sample < this.samples; sample++) {
        if (this.store.get(keyOf(set, key, index), index, sample) === undefined) {
          samples.push(sample);
        }
      }
      if (samples.length > 0) missing.push({ index, samples });
    }
    return { ...combination, missing };
  }

  /** The known samples of a combination, in the order of the problems. */
  #lines({ set, key }: Combination): SampleLine[] {
    const lines: SampleLine[] = [];
    for (let index = 0; index < set.entries.length; index++) {
      for (let sample = 0; sample < this.samples; sample++) {
        const line = this.store.get(keyOf(set, key, index), index, sample);
        if (line !== undefined) lines.push(line);
      }
    }
    return lines;
  }
}

/** Where a problem has no right answer, the environment of its dialogue judges it. */
function scoreOf(
  { completion, dialogue }: RawAnswer,
  entry: Entry,
  ...asked: [systemPrompt: string | null, prompt: string]
): ScoredCompletion {
  const scored = scoreCompletion(completion, entry, ...asked);
  if (dialogue === undefined || dialogue.reward === null || hasAnswer(entry)) return scored;
  const score = Math.min(Math.max(dialogue.reward, 0), 1);
  return { extracted: completion, formatted: true, score, error: null };
}

/** The requests of a combination that failed, one entry for each reason. */
function failedRequests(
  { model, set, lines }: Combination & { lines: readonly SampleLine[] },
): Failure[] {
  const problems = new Map<string, Set<number>>();
  for (const { index, result: { error, too_long } } of lines) {
    if (error === undefined || too_long) continue;
    problems.set(error, (problems.get(error) ?? new Set()).add(index));
  }
  return [...problems].map(([error, failed]) => ({
    model: model.name,
    task: set.label,
    error,
    problems: [...failed],
  }));
}

/** How the questions of a set became prompts; of several times in them, the earliest. */
function promptRecord(
  { settings: { prompt } }: PlannedModel,
  { isOwn }: TestSet,
  lines: readonly SampleLine[],
): PromptRecord {
  const [time] = lines.flatMap(({ prompt_time: time }) => time ?? []).sort();
  return { ...settingsFor(prompt, isOwn), ...(time && { prompt_time: time }), from: prompt.from };
}

/** The model, with the time that an earlier call in the folder has written into its prompts. */
function asBegun(
  model: PlannedModel,
  sets: readonly TestSet[],
  store: SampleStore,
): PlannedModel {
  const { settings } = model;
  if (settings.prompt.prompt_time === undefined) return model;
  const times = sets.flatMap((set) => store.promptTime(combinationKey(model, set)) ?? []);
  if (times.length === 0) return model;
  const prompt = { ...settings.prompt, prompt_time: times.sort()[0]! };
  return { ...model, settings: { ...settings, prompt } };
}

function tokensOf(lines: readonly SampleLine[]): number {
  let count = 0;
  for (const { result } of lines) count += result.completion_tokens;
  return count;
}

/**
 * Key of a problem's samples in the store. For problems of a file, the key includes the problem
 * itself, since the contents of the file may have changed. The further columns of its row change no
 * answer, so they are left out.
 */
function keyOf(set: TestSet, key: string, index: number): string {
  if (!DATASET_NAMES.includes(set.taskName)) return key;
  const problem = JSON.stringify({ ...set.entries[index]!, columns: undefined });
  return `${key}-${fnv1a(problem).toString(36)}`;
}

/* The key under which the samples of a model on a task are stored. */

/**
 * A hash of everything that the answers depend on: the model, how it is asked, and the task. The
 * numbers of samples and of problems are not part of it, since a longer benchmark begins with the
 * samples of a shorter one; nor is the time in the prompts, which a resume takes from the samples.
 */
function combinationKey(
  { name, where, settings, fingerprint }: ModelRequest,
  set: TestSet,
): string {
  const { dialogues } = settings;
  const { samples: _, ...sampling } = settings.sampling;
  const { from: __, prompt_time: ____, ...prompt } = settings.prompt;
  const asked = settingsFor(prompt, set.isOwn);
  const { taskName, seed, binary, shots } = set;
  // The path is not a part of the key, since a file may move. The keys of a file's problems contain
  // the problems.
  const { path: ___, ...others } = set.parameters;
  const file = hasTask(taskName) ? getTask(taskName).sha256 : undefined;
  const parameters = DATASET_NAMES.includes(taskName) ? others : set.parameters;
  return sha256Hex(JSON.stringify([
    VERSION,
    // The fingerprint identifies a local model, so the spelling of its path does not matter.
    [where.kind === "remote" ? name : null, fingerprint, asked, sampling],
    [settings.seed, settings.keepPromptTokens],
    [taskName, parameters, seed, binary, shots.map(({ question }) => question)],
    ...(file === undefined ? [] : [file]),
    ...(dialogues === undefined ? [] : [contentOf(dialogues)]),
  ])).slice(0, 32);
}

/** Dialogues without the places of files, whose checksums stand for them. */
function contentOf({ environment, environments, tools, limits }: DialogueKeys): unknown {
  const content = ({ path: _, ...section }: EnvironmentSection) => section;
  return [
    environment && content(environment),
    Object.entries(environments ?? {}).map(([name, section]) => [name, content(section)]),
    tools.map(content),
    limits,
  ];
}

/*
 * Counts the test problems that a checkpoint's run has seen in training. The splits have disjoint
 * keys, but two keys can give the same question, and a file may hold a question twice. So questions
 * are compared, not keys.
 */

/** Time limit for drawing a run's training problems again, in seconds: tasks of files are slow. */
const TIME_LIMIT = 60;

/** The questions of a run's training, or the reason why they are not known. */
type Questions = { questions: Set<string> } | { unknown: string };

async function trainingQuestions(run: RunConfig, seconds: number): Promise<Questions> {
  if (run.curriculum !== null) return { unknown: "the levels of its curriculum moved" };
  if (await isDataGone(run.data)) return { unknown: "its data is not here" };
  const source = await openProblems({
    ...run.data,
    curriculum: null,
    hold_out: run.eval.num_examples > 0,
  });
  const problems = splitProblems({
    source,
    heldOutCount: run.eval.num_examples,
    validationCount: run.data.validation_examples ?? 0,
  });
  const total = source.length("train");
  const questions = new Set<string>(), end = performance.now() + 1000 * seconds;
  for (let i = 0; i < total; i++) {
    if (performance.now() > end) {
      return {
        unknown: `its ${total} training problems take more than ${seconds} s to draw again`,
      };
    }
    questions.add(problems.trainEntry(i).question);
  }
  return { questions };
}

/** Remembers the questions of each run, since several tasks and checkpoints ask for them. */
export class OverlapCounter {
  readonly #known = new Map<string, Questions>();
  readonly #warnings = new Set<string>();

  /** @param seconds time limit for drawing the training problems of a run again */
  constructor(private readonly seconds = TIME_LIMIT) {}

  /** Warnings about the scores. */
  get warnings(): string[] {
    return [...this.#warnings];
  }

  /**
   * How many of these problems the run has seen in training; null = not known.
   * @param model the run's model and the task, for the warnings
   */
  async count(
    run: RunConfig | null,
    problems: TestSet["entries"],
    { model, task }: { model: string; task: string },
  ): Promise<number | null> {
    // An environment without data makes problems of its own.
    if (run === null || !hasProblems(run.data)) return null;
    const key = JSON.stringify([run.data, run.curriculum, run.eval.num_examples]);
    if (!this.#known.has(key)) this.#known.set(key, await this.#questions(run));
    const known = this.#known.get(key)!;
    if ("unknown" in known) {
      this.#warnings.add(
        `whether ${model} was trained on these problems is not known: ${known.unknown}`,
      );
      return null;
    }
    const seen = problems.filter(({ question }) => known.questions.has(question)).length;
    if (seen > 0) {
      this.#warnings.add(
        `${model} was trained on ${seen} of the ${problems.length} questions of ${task}: ` +
          "its score is not one of new problems",
      );
    }
    return seen;
  }

  async #questions(run: RunConfig): Promise<Questions> {
    try {
      return await trainingQuestions(run, this.seconds);
    } catch (error) {
      return { unknown: messageOf(error) };
    }
  }
}
