/**
 * The curriculum of a run. After each step the coach (`tasks/curriculum/coach.ts`) gets the scores
 * of the tasks and may change their levels. Training problems that are made from then on have the
 * new levels; held-out problems stay as they are. A new level is refused if the task rejects its
 * parameters or if its prompts do not fit. Each refused level is reported once.
 */
import type { CurriculumSection, RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import type { ProblemSource } from "../../data/problem_source.ts";
import { configAtLevels, startingLevels, type TaskShare } from "../../data/task_source.ts";
import {
  type CoachState,
  CurriculumCoach,
  type LevelChange,
} from "../../tasks/curriculum/coach.ts";
import type { CurriculumLevels } from "../../tasks/curriculum/levels.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { TaskScore } from "../rollout/task_metrics.ts";

export interface LevelChanges {
  changes: LevelChange[];
  /** Messages about levels that were refused and values that were clamped. */
  notes: string[];
}

export class TrainingCurriculum {
  readonly #coach: CurriculumCoach;
  readonly #shares: ReadonlyMap<string, TaskShare>;
  readonly #configs = new Map<string, Record<string, unknown>>();
  readonly #refused = new Set<string>();
  #notes: string[] = [];

  /** @throws UsageError for an unknown task, attribute or level */
  constructor(
    section: CurriculumSection,
    data: RunConfig["data"],
    private readonly source: ProblemSource,
  ) {
    const shares = data.tasks ??
      [{ task_name: data.task_name!, weight: 1, config: data.task_config }];
    this.#shares = new Map(shares.map((share) => [share.task_name, share]));
    const levels = startingLevels(shares, section.curricula);
    this.#coach = new CurriculumCoach(levels, { ...section, ...section.schedule });
    for (const taskLevels of levels) {
      this.#configs.set(taskLevels.task.name, this.#configOf(taskLevels));
    }
  }

  /** About parameters that had to be clamped; each message is returned once. */
  takeNotes(): string[] {
    const notes = this.#notes;
    this.#notes = [];
    return notes;
  }

  /** Levels by task and attribute: `curriculum/{task}/{attribute}`. */
  metrics(): Metrics {
    return Object.fromEntries(
      Object.entries(this.#coach.levels).flatMap(([task, levels]) =>
        Object.entries(levels).map(([name, level]) => [`curriculum/${task}/${name}`, level])
      ),
    );
  }

  record(scores: readonly TaskScore[]): void {
    for (const { task, score } of scores) this.#coach.record(task, score);
  }

  /** @param misfit why the prompts of a task no longer fit, or null; called after a change */
  endStep(step: number, misfit: (task: string) => string | null): LevelChanges {
    const changes = this.#coach.endStep(step, (levels) => this.#tryLevel(levels, misfit));
    return { changes, notes: this.takeNotes() };
  }

  get state(): CoachState {
    return this.#coach.state;
  }

  /** @throws UsageError when the state has other attributes */
  restore(state: CoachState): void {
    this.#notes = [];
    this.#coach.restore(state);
    for (const task of this.#configs.keys()) this.#use(task, this.#configOf(this.#coach.of(task)!));
  }

  #configOf(taskLevels: CurriculumLevels): Record<string, unknown> {
    const { name } = taskLevels.task;
    const note = (text: string) => this.#notes.push(`curriculum: ${name}: ${text}`);
    return configAtLevels(taskLevels, this.#shares.get(name)!, note);
  }

  #use(task: string, config: Record<string, unknown>): void {
    this.source.setConfig(task, config);
    this.#configs.set(task, config);
  }

  #tryLevel(taskLevels: CurriculumLevels, misfit: (task: string) => string | null): boolean {
    const { name } = taskLevels.task, before = this.#configs.get(name)!, notes = [...this.#notes];
    const level = `${name} ${JSON.stringify(taskLevels.levels)}`;
    if (this.#refused.has(level)) return false;
    const reason = reasonOf(() => {
      this.#use(name, this.#configOf(taskLevels));
      return misfit(name);
    });
    if (reason === null) return true;
    this.#use(name, before);
    this.#refused.add(level);
    const levels = Object.entries(taskLevels.levels).map(([key, value]) => `${key} ${value}`).join(
      ", ",
    );
    this.#notes = [...notes, `curriculum: ${name} stays: ${levels} is not taken: ${reason}`];
    return false;
  }
}

/** The result of a check, or the message of the UsageError that it throws. */
function reasonOf(check: () => string | null): string | null {
  try {
    return check();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

/**
 * Task weights that the calling program changed during training, which a checkpoint holds, so that
 * a resumed run draws problems with the same weights; null if there are none.
 */
export function changedWeights(
  { mix }: ProblemSource,
  { tasks }: RunConfig["data"],
): Record<string, number> | null {
  const configured = new Map(tasks?.map(({ task_name, weight }) => [task_name, weight]));
  const changed =
    mix?.parts.filter(({ name, weight }) =>
      configured.has(name) && configured.get(name) !== weight
    ) ?? [];
  if (changed.length === 0) return null;
  return Object.fromEntries(changed.map(({ name, weight }) => [name, weight]));
}

/** Sets the weights again. Unknown tasks are ignored. */
export function restoreTaskWeights(
  { mix }: ProblemSource,
  weights: Record<string, number>,
): void {
  const names = new Set(mix?.parts.map(({ name }) => name));
  // The largest first, since a mixture whose weights are all 0 is refused.
  for (const [name, weight] of Object.entries(weights).sort(([, a], [, b]) => b - a)) {
    if (names.has(name)) mix!.updateWeight(name, weight);
  }
}
