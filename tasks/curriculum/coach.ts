/** Moves the levels of a curriculum by the scores of the completions (reasoning-gym's coach). */
import { UsageError } from "../../core/errors.ts";
import type { CurriculumLevels } from "./levels.ts";

/** When to move: the settings of a curriculum, by their names in a configuration. */
export interface CoachRule {
  /** Move up every `update_steps` steps, whatever the scores. */
  automatic: boolean;
  update_steps: number;
  /** Scores that are looked at, the newest; fewer move nothing. */
  last_k: number;
  /** Up when their mean is above. */
  success_threshold: number;
  /** Down when it is below. */
  failure_threshold: number;
}

/** A level that has changed. */
export interface LevelChange {
  task: string;
  direction: "up" | "down";
  /** Mean of the scores that decided; null when it was time. */
  mean: number | null;
  levels: Readonly<Record<string, number>>;
}

/** What a checkpoint keeps. */
export interface CoachState {
  levels: Record<string, Record<string, number>>;
  scores: Record<string, number[]>;
}

/** Moves the levels of one or several tasks by their scores (reasoning-gym's coach). */
export class CurriculumCoach {
  readonly #levels = new Map<string, CurriculumLevels>();
  readonly #scores = new Map<string, number[]>();

  /** @throws UsageError for thresholds that cross */
  constructor(levels: readonly CurriculumLevels[], private readonly rule: CoachRule) {
    const { failure_threshold: low, success_threshold: high } = rule;
    if (low > high) {
      throw new UsageError(
        `curriculum: failure_threshold (${low}) is above success_threshold (${high})`,
      );
    }
    for (const own of levels) {
      this.#levels.set(own.task.name, own);
      this.#scores.set(own.task.name, []);
    }
  }

  /** The levels of a task; undefined when it has no curriculum here. */
  of(task: string): CurriculumLevels | undefined {
    return this.#levels.get(task);
  }

  /** Levels of all tasks. */
  get levels(): Record<string, Readonly<Record<string, number>>> {
    return Object.fromEntries([...this.#levels].map(([task, own]) => [task, own.levels]));
  }

  /** A score in [0, 1] of a completion. Tasks without a curriculum are ignored. */
  record(task: string, score: number): void {
    const scores = this.#scores.get(task);
    if (scores === undefined) return;
    scores.push(score);
    if (scores.length > this.rule.last_k) scores.shift();
  }

  /**
   * After step `step` (from 1): what has moved. A task that moves begins with no scores.
   * @param accept may refuse a level (say, because its prompts are too long); it is taken back then
   */
  endStep(step: number, accept: (own: CurriculumLevels) => boolean = () => true): LevelChange[] {
    const { automatic, update_steps, last_k, success_threshold, failure_threshold } = this.rule;
    const changes: LevelChange[] = [];
    for (const [task, own] of this.#levels) {
      const scores = this.#scores.get(task)!, before = own.levels;
      let mean: number | null = null, direction: LevelChange["direction"] | null = null;
      if (automatic) {
        if (step % update_steps === 0) direction = "up";
      } else if (scores.length >= last_k) {
        mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
        if (mean > success_threshold) direction = "up";
        else if (mean < failure_threshold) direction = "down";
      }
      if (direction === null) continue;
      const moved = direction === "up" ? own.incrementGlobal() : own.decrementGlobal();
      if (!moved) continue;
      if (!accept(own)) {
        for (const [name, level] of Object.entries(before)) own.set(name, level);
        continue;
      }
      scores.length = 0;
      changes.push({ task, direction, mean, levels: own.levels });
    }
    return changes;
  }

  get state(): CoachState {
    return {
      levels: Object.fromEntries([...this.#levels].map(([task, own]) => [task, { ...own.levels }])),
      scores: Object.fromEntries([...this.#scores].map(([task, scores]) => [task, [...scores]])),
    };
  }

  /** @throws UsageError when the state is of other tasks or attributes */
  restore(state: CoachState): void {
    for (const [task, own] of this.#levels) {
      for (const [name, level] of Object.entries(state.levels[task] ?? {})) own.set(name, level);
      this.#scores.set(task, [...(state.scores[task] ?? [])]);
    }
  }
}
