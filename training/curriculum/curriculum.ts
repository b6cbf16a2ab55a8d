/**
 * The curriculum of a run: after each step the coach (`tasks/curriculum/coach.ts`) looks at the
 * tasks' scores and may move their levels; then the training problems are those of the new levels,
 * from the next ones that are made. Problems that were held out stay as they are. A level is not
 * taken when the task refuses what it asks for, or when its prompts do not fit; that is said once.
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

/** What came of a step. */
export interface StepMoves {
  changes: LevelChange[];
  /** Levels that were not taken and values that were clamped, in words. */
  notes: string[];
}

export class TrainingCurriculum {
  readonly #coach: CurriculumCoach;
  readonly #shares: ReadonlyMap<string, TaskShare>;
  /** Parameters as they are now. */
  readonly #configs = new Map<string, Record<string, unknown>>();
  /** Levels that are known not to fit. */
  readonly #refused = new Set<string>();
  #notes: string[] = [];

  /** @throws UsageError for a task, attribute or level that there is not */
  constructor(
    section: CurriculumSection,
    data: RunConfig["data"],
    private readonly source: ProblemSource,
  ) {
    const shares = data.tasks ??
      [{ task_name: data.task_name!, weight: 1, config: data.task_config }];
    this.#shares = new Map(shares.map((share) => [share.task_name, share]));
    const levels = startingLevels(shares, section.curricula);
    this.#coach = new CurriculumCoach(levels, {
      automatic: section.schedule.automatic,
      update_steps: section.schedule.update_steps,
      last_k: section.last_k,
      success_threshold: section.success_threshold,
      failure_threshold: section.failure_threshold,
    });
    for (const own of levels) this.#configs.set(own.task.name, this.#configOf(own));
  }

  /**
   * Values that the starting (or restored) levels ask for and the tasks do not take; each is said
   * once.
   */
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

  /**
   * After step `step` (from 1).
   * @param misfit asked with the new level's problems in place: why a task's prompts do not fit, or
   *   null
   */
  endStep(step: number, misfit: (task: string) => string | null): StepMoves {
    const changes = this.#coach.endStep(step, (own) => this.#take(own, misfit));
    return { changes, notes: this.takeNotes() };
  }

  get state(): CoachState {
    return this.#coach.state;
  }

  /** @throws UsageError when the state is of other attributes */
  restore(state: CoachState): void {
    this.#notes = [];
    this.#coach.restore(state);
    for (const task of this.#configs.keys()) this.#use(task, this.#configOf(this.#coach.of(task)!));
  }

  #configOf(own: CurriculumLevels): Record<string, unknown> {
    const { name } = own.task;
    const note = (text: string) => this.#notes.push(`curriculum: ${name}: ${text}`);
    return configAtLevels(own, this.#shares.get(name)!, note);
  }

  #use(task: string, config: Record<string, unknown>): void {
    this.source.setConfig(task, config);
    this.#configs.set(task, config);
  }

  #take(own: CurriculumLevels, misfit: (task: string) => string | null): boolean {
    const { name } = own.task, before = this.#configs.get(name)!, notes = [...this.#notes];
    const level = `${name} ${JSON.stringify(own.levels)}`;
    if (this.#refused.has(level)) return false;
    const reason = reasonOf(() => {
      this.#use(name, this.#configOf(own));
      return misfit(name);
    });
    if (reason === null) return true;
    this.#use(name, before);
    this.#refused.add(level);
    const levels = Object.entries(own.levels).map(([key, value]) => `${key} ${value}`).join(", ");
    this.#notes = [...notes, `curriculum: ${name} stays: ${levels} is not taken: ${reason}`];
    return false;
  }
}

/** What a check says, or the mistake that it finds. */
function reasonOf(check: () => string | null): string | null {
  try {
    return check();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}
