/**
 * Problems that tasks generate: one task, or several drawn by weight. The training split can change
 * during a run: the parameters of a task (a curriculum raises them) and the weights of several
 * tasks. The held-out splits stay as they were when the source was opened, so that evaluations
 * remain comparable.
 */
import { UsageError } from "../core/errors.ts";
import type { Split } from "../core/philox.ts";
import { didYouMean } from "../core/suggest.ts";
import { CompositeDataset } from "../tasks/composite_dataset.ts";
import { CurriculumLevels } from "../tasks/curriculum/levels.ts";
import { createDataset } from "../tasks/dataset.ts";
import { getTask } from "../tasks/registry.ts";
import type { Entry } from "../tasks/types.ts";
import type { ProblemSource } from "./problem_source.ts";

/** A task of a run, its weight relative to the other tasks, and its parameters. */
export interface TaskShare {
  /** Name of a registered task, or the file of one. */
  task_name: string;
  /** How often it is drawn, relative to the other tasks. */
  weight: number;
  /** The task's parameters. */
  config: Readonly<Record<string, unknown>>;
}

/**
 * Starting levels by task and attribute; `"*"` stands for all attributes that are not named. See
 * tasks/curriculum/levels.ts.
 */
export type StartingLevels = Readonly<
  Record<string, { readonly attribute_levels: Readonly<Record<string, number>> }>
>;

export interface TaskSourceOptions {
  tasks: readonly TaskShare[];
  /** Entries are drawn from the tasks by weight; false: there is only one task. */
  isMixed: boolean;
  /**
   * Tasks that begin at a level. Empty: every task that has levels begins at 0. null: no task has a
   * curriculum.
   */
  curricula: StartingLevels | null;
  seed: number;
  num_examples: number;
}

/** Distance between the indices of an entry and its redraws, larger than any run. */
const REDRAW_STRIDE = 2 ** 40;
/** Number of redraws that stay with the task that was drawn; after that it may be exhausted. */
const SAME_TASK = 100;

/**
 * The levels at which the tasks of a curriculum begin.
 * @throws UsageError for a task that the run does not have
 */
export function startingLevels(
  tasks: readonly TaskShare[],
  curricula: StartingLevels,
): CurriculumLevels[] {
  const names = tasks.map(({ task_name }) => task_name);
  const unknown = Object.keys(curricula).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `curriculum.curricula.${unknown}: not a task of this run${didYouMean(unknown, names)} ` +
        `(its tasks: ${names.join(", ")})`,
    );
  }
  const chosen = Object.keys(curricula).length > 0 ? Object.keys(curricula) : names.filter(
    (name) => getTask(name).curriculum !== undefined,
  );
  if (chosen.length === 0) {
    throw new UsageError(`curriculum: none of the run's tasks has levels: ${names.join(", ")}`, {
      advice: "rgx tasks list shows which tasks have a curriculum",
    });
  }
  return chosen.map((name) =>
    new CurriculumLevels(getTask(name), curricula[name]?.attribute_levels ?? {})
  );
}

/**
 * A task's parameters at its present levels. All other parameters keep the values of the task's
 * share.
 * @param onClamp called for every value that a level asks for and that the task does not accept
 */
export function configAtLevels(
  levels: CurriculumLevels,
  { config }: TaskShare,
  onClamp?: (note: string) => void,
): Record<string, unknown> {
  const { seed, size, ...base } = config;
  return {
    ...levels.config({ base, ...(onClamp && { onClamp }) }),
    ...(seed !== undefined && { seed }),
    ...(size !== undefined && { size }),
  };
}

export class TaskSource implements ProblemSource {
  readonly endless = true;
  readonly name: string;
  readonly mix: CompositeDataset | null;
  readonly #splits: Record<Split, { entry(index: number): Entry }>;
  readonly #open: (config: Readonly<Record<string, unknown>>) => { entry(index: number): Entry };
  readonly #trainLength: number;

  /** @throws UsageError for an unknown task, field, value or level */
  constructor({ tasks, isMixed, curricula, seed, num_examples }: TaskSourceOptions) {
    const levels = curricula === null ? [] : startingLevels(tasks, curricula);
    const parts = tasks.map((share) => {
      const ofTask = levels.find(({ task }) => task.name === share.task_name);
      const config = ofTask === undefined ? share.config : configAtLevels(ofTask, share);
      return { name: share.task_name, weight: share.weight, config };
    });
    const open = (split: Split) =>
      isMixed
        ? new CompositeDataset(parts, { seed, size: num_examples, split })
        : createDataset(first.name, { seed, ...first.config, split });
    const first = parts[0]!, train = open("train");
    this.name = isMixed ? "composite" : first.name;
    this.mix = train instanceof CompositeDataset ? train : null;
    this.#splits = { train, validation: open("validation"), test: open("test") };
    this.#open = (config) => createDataset(first.name, { seed, ...config, split: "train" });
    this.#trainLength = num_examples;
  }

  entry(split: Split, index: number, redraw = 0): Entry {
    const set = this.#splits[split], other = index + redraw * REDRAW_STRIDE;
    // A redraw stays with its task. Otherwise tasks with few problems would be drawn less often.
    return redraw <= SAME_TASK && set instanceof CompositeDataset
      ? set.entry(index, other)
      : set.entry(other);
  }

  length(split: Split): number {
    return split === "train" ? this.#trainLength : Infinity;
  }

  setConfig(task: string, config: Readonly<Record<string, unknown>>): void {
    if (this.mix !== null) return this.mix.updateConfig(task, config);
    if (task !== this.name) {
      throw new UsageError(`the problems are of the task ${this.name}, not of "${task}"`);
    }
    this.#splits.train = this.#open(config);
  }
}
