/**
 * A data set that mixes several tasks and scores their answers. Weights and parameters can be
 * changed while it is in use.
 */
import type { CompositeOptions, CompositePart } from "./categories/other/composite_parts.ts";
import { CompositeParts } from "./categories/other/composite_parts.ts";
import { createDataset } from "./dataset.ts";
import { scoreAnswer } from "./registry.ts";
import type { ScorableEntry } from "./types.ts";

/**
 * The inherited methods are described at {@link CompositeParts}: `entry`, `addDataset`,
 * `removeDataset`, `updateConfig` and `updateWeight`.
 *
 *     const mixed = new CompositeDataset([
 *       { name: "chain_sum", weight: 2, config: {} },
 *       { name: "leg_counting", weight: 1, config: { max_animals: 5 } },
 *     ], { seed: 42, size: 500, split: "train", versions: true });
 *     const entry = mixed.entry(0);
 *     mixed.scoreAnswer(entry.answer, entry); // 1
 */
export class CompositeDataset extends CompositeParts {
  /**
   * Opens the data sets of a mixture.
   * @throws UsageError for an unknown task, field or value, an empty list, or a repeated name
   */
  constructor(parts: readonly CompositePart[], options: Omit<CompositeOptions, "create">) {
    super(parts, { ...options, create: createDataset });
  }

  /** Returns the score in [0, 1] of an answer to an entry of one of the tasks. */
  scoreAnswer(answer: string | null, entry: ScorableEntry): number {
    return scoreAnswer(answer, entry);
  }

  /**
   * Scores an answer to the entry with this `entry_id`, also after the parameters have changed.
   * @throws UsageError for an unknown id
   */
  scoreAnswerById(answer: string | null, entryId: string): number {
    return scoreAnswer(answer, this.entryById(entryId));
  }
}
