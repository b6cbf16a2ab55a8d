/** How many problems each split gets, where a configuration says so. */
import { UsageError } from "../core/errors.ts";

/** The sizes that section `data` asks for; null and absent ask for none. */
export interface SplitSizes {
  /** Share of the problems that is trained on. */
  train_ratio?: number | null;
  /** Problems that are asked while training. */
  validation_examples?: number | null;
  /** Problems that are asked before and after training. */
  test_examples?: number | null;
}

/** Numbers of problems; no problem is in two splits, and some may be in none. */
export interface SplitCounts {
  train: number;
  validation: number;
  test: number;
}

export function hasSplitSizes(sizes: SplitSizes): boolean {
  return (sizes.train_ratio ?? sizes.validation_examples ?? sizes.test_examples ?? null) !== null;
}

/** The number of problems of a share of `total`: rounded down, as in `datasets`. */
export function trainShare(total: number, ratio: number): number {
  // 0.29 × 100 is a little less than 29 in floating point.
  return Math.floor(total * ratio + 1e-9);
}

/**
 * The sizes of the splits of `total` different problems. Without `train_ratio`, all problems that
 * are not set apart are trained on. With it, all others are for the test, except those for the
 * validation.
 * @param name the source of the problems, for messages
 * @param test size of the test split where no key says it; null: the test problems lie elsewhere
 *   and take none of these
 * @throws UsageError when the splits ask for more problems than there are
 */
export function splitCounts(
  total: number,
  sizes: SplitSizes,
  { name, test: otherTest }: { name: string; test: number | null },
): SplitCounts {
  const { train_ratio: ratio = null, validation_examples, test_examples } = sizes;
  const isElsewhere = otherTest === null;
  const rest = ratio === null ? total : total - trainShare(total, ratio);
  const validation = validation_examples ?? (isElsewhere && ratio !== null ? rest : 0);
  const test = isElsewhere
    ? 0
    : test_examples ?? (ratio === null ? otherTest : Math.max(0, rest - validation));
  const asked = [
    validation_examples == null ? "" : `data.validation_examples ${validation_examples}`,
    test === 0 ? "" : test_examples == null ? `${test} for the test` : `data.test_examples ${test}`,
  ].filter((text) => text !== "").join(" and ");
  const train = ratio === null ? total - validation - test : total - rest;
  const of = `${total} different problem${total === 1 ? "" : "s"} of ${name}`;
  if (validation + test > rest) {
    const room = ratio === null ? `the ${of}` : `the ${rest} that train_ratio ${ratio} leaves`;
    const more = ratio === null ? "" : ` of the ${of}`;
    throw new UsageError(`${asked}: more than ${room}${more}`, {
      advice: "Ask for fewer problems, or use more data.",
    });
  }
  if (train < 1) {
    const why = ratio === null ? asked : `data.train_ratio ${ratio}`;
    throw new UsageError(`${why}: none of the ${of} is left to train on`, {
      advice: "Ask for fewer problems, or use more data.",
    });
  }
  return { train, validation, test };
}
