/** Changes curriculum levels by the scores of completions (reasoning-gym's coach). */
import { UsageError } from "../../core/errors.ts";
import type { CurriculumLevels } from "./levels.ts";

/** When levels change. The names are those of the configuration file. */
export interface CoachRule {
  /** Raise the levels every `update_steps` steps, whatever the scores are. */
  automatic: boolean;
  update_steps: number;
  /** Number of the newest scores that are averaged. With fewer scores nothing changes. */
  last_k: number;
  /** Raise the levels when the mean score is above this. */
  success_threshold: number;
  /** Lower the levels when the mean score is below this. */
  failure_threshold: number;
}

/** A change of a task's levels. */
export interface LevelChange {
  /** Name of the task. */
  task: string;
  /** Whether problems get harder (up) or easier. */
  direction: "up" | "down";
  /** The mean score that caused the change; null for an automatic change. */
  mean: number | null;
  /** The new level of each attribute, counted from 0. */
  levels: Readonly<Record<string, number>>;
}

/** The state that a checkpoint stores. */
export interface CoachState {
  levels: Record<string, Record<string, number>>;
  scores: Record<string, number[]>;
}

/** Changes the levels of one or several tasks by their scores. */
export class CurriculumCoach {
  readonly #levels = new Map<string, CurriculumLevels>();
  readonly #scores = new Map<string, number[]>();

  /** @throws UsageError when `failure_threshold` is above `success_threshold` */
  constructor(levels: readonly CurriculumLevels[], private readonly rule: CoachRule) {
    const { failure_threshold: low, success_threshold: high } = rule;
    if (low > high) {
      throw new UsageError(
        `curriculum: failure_threshold (${low}) is above success_threshold (${high})`,
      );
    }
    for (const taskLevels of levels) {
      this.#levels.set(taskLevels.task.name, taskLevels);
      this.#scores.set(taskLevels.task.name, []);
    }
  }

  /** The levels of a task, or undefined when it has no curriculum. */
  of(task: string): CurriculumLevels | undefined {
    return this.#levels.get(task);
  }

  /** The levels of all tasks. */
  get levels(): Record<string, Readonly<Record<string, number>>> {
    return Object.fromEntries(
      [...this.#levels].map(([task, taskLevels]) => [task, taskLevels.levels]),
    );
  }

  /** Records the score in [0, 1] of a completion. Tasks without a curriculum are ignored. */
  record(task: string, score: number): void {
    const scores = this.#scores.get(task);
    if (scores === undefined) return;
    scores.push(score);
    if (scores.length > this.rule.last_k) scores.shift();
  }

  /**
   * Ends step `step` (counted from 1) and returns what has changed. When a task's levels change,
   * its recorded scores are cleared.
   * @param accept may reject new levels, e.g. because prompts become too long; they are then undone
   */
  endStep(
    step: number,
    accept: (taskLevels: CurriculumLevels) => boolean = () => true,
  ): LevelChange[] {
    const { automatic, update_steps, last_k, success_threshold, failure_threshold } = this.rule;
    const changes: LevelChange[] = [];
    for (const [task, taskLevels] of this.#levels) {
      const scores = this.#scores.get(task)!, before = taskLevels.levels;
      let mean: number | null = null, direction: LevelChange["direction"] | null = null;
      if (automatic) {
        if (step % update_steps === 0) direction = "up";
      } else if (scores.length >= last_k) {
        mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
        if (mean > success_threshold) direction = "up";
        else if (mean < failure_threshold) direction = "down";
      }
      if (direction === null) continue;
      const moved = direction === "up"
        ? taskLevels.incrementGlobal()
        : taskLevels.decrementGlobal();
      if (!moved) continue;
      if (!accept(taskLevels)) {
        for (const [name, level] of Object.entries(before)) taskLevels.set(name, level);
        continue;
      }
      scores.length = 0;
      changes.push({ task, direction, mean, levels: taskLevels.levels });
    }
    return changes;
  }

  get state(): CoachState {
    return {
      levels: Object.fromEntries(
        [...this.#levels].map(([task, taskLevels]) => [task, { ...taskLevels.levels }]),
      ),
      scores: Object.fromEntries([...this.#scores].map(([task, scores]) => [task, [...scores]])),
    };
  }

  /** @throws UsageError when the state belongs to other tasks or attributes */
  restore(state: CoachState): void {
    for (const [task, taskLevels] of this.#levels) {
      for (const [name, level] of Object.entries(state.levels[task] ?? {})) {
        taskLevels.set(name, level);
      }
      this.#scores.set(task, [...(state.scores[task] ?? [])]);
    }
  }
}
