/**
 * Scores by task and difficulty (reasoning-gym's score board): every scored answer is put under its source and the
 * difficulty of its entry, and groups have count, mean, sample standard deviation, minimum and maximum.
 */
import type { ScorableEntry } from "./types.ts";

/** One entry's source and difficulty, sorted by name: `[["source", "chain_sum"], ["num_terms", [2, 2]]]`. */
export type ScoreKey = readonly (readonly [name: string, value: unknown])[];

export interface ScoreGroup {
  key: ScoreKey;
  scores: number[];
}

export interface ScoreStats {
  key: ScoreKey;
  n: number;
  mean: number;
  /** Sample standard deviation; 0 for a single score. */
  deviation: number;
  min: number;
  max: number;
}

export class ScoreBoard {
  readonly #byTask = new Map<string, { key: ScoreKey; score: number }[]>();

  /** Notes a score of an answer to the entry. Entries without a difficulty form one group. */
  add(entry: ScorableEntry, score: number): void {
    const { source_dataset: source, difficulty } = entry.metadata ?? {};
    const task = String(source);
    const pairs = typeof difficulty === "object" && difficulty !== null
      ? Object.entries(difficulty)
      : difficulty === undefined
      ? []
      : [["difficulty", difficulty] as const];
    const sorted = [...pairs].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    const key: ScoreKey = [["source", task], ...sorted];
    const list = this.#byTask.get(task);
    if (list === undefined) this.#byTask.set(task, [{ key, score }]);
    else list.push({ key, score });
  }

  /** Forgets a task's scores: after a change of its difficulty. */
  clear(task: string): void {
    this.#byTask.delete(task);
  }

  /** Number of scores of a task. */
  count(task: string): number {
    return this.#byTask.get(task)?.length ?? 0;
  }

  /** Groups by task, in the order of their first score. @param lastN only the newest N scores of each task */
  groups(lastN?: number): Record<string, ScoreGroup[]> {
    const result: Record<string, ScoreGroup[]> = {};
    for (const [task, scored] of this.#byTask) {
      const found = new Map<string, ScoreGroup>();
      for (const { key, score } of lastN === undefined ? scored : scored.slice(-lastN)) {
        const text = JSON.stringify(key), group = found.get(text);
        if (group === undefined) found.set(text, { key, scores: [score] });
        else group.scores.push(score);
      }
      result[task] = [...found.values()];
    }
    return result;
  }

  /** What the groups amount to. */
  stats(lastN?: number): Record<string, ScoreStats[]> {
    return Object.fromEntries(
      Object.entries(this.groups(lastN)).map(([task, groups]) => [task, groups.map(statsOf)]),
    );
  }
}

function statsOf({ key, scores }: ScoreGroup): ScoreStats {
  const n = scores.length, mean = scores.reduce((sum, x) => sum + x, 0) / n;
  const squares = scores.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  const deviation = n > 1 ? Math.sqrt(squares / (n - 1)) : 0;
  return { key, n, mean, deviation, min: Math.min(...scores), max: Math.max(...scores) };
}
