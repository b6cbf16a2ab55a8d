/**
 * Statistics of evaluations: intervals, paired tests, several samples a problem, many tests.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { accuracyOf, bootstrapInterval, differenceInterval, wilsonInterval } from "@rgx/rgx";
 * import { holmPValues, matchedPairsInterval, mcnemarPValue, pairedTest } from "@rgx/rgx";
 * import { majorityIndex, passAtK } from "@rgx/rgx";
 * const [low, high] = wilsonInterval(8, 10);
 * assert.ok(low > 0.49 && high < 0.95);
 * const before = [0, 0, 1, 0, 0, 1, 0, 0], after = [1, 1, 1, 1, 1, 1, 1, 0];
 * const test = pairedTest(before, after);
 * assert.equal(test.p_value, mcnemarPValue(0, 5));
 * assert.deepEqual(test.ci95, matchedPairsInterval(0, 5, 8));
 * assert.deepEqual(holmPValues([0.01, 0.04]), [0.02, 0.04]);
 * const wide = differenceInterval({ successes: 2, total: 8 }, { successes: 7, total: 8 });
 * assert.ok(wide[0] < 0.625 && wide[1] > 0.625);
 *
 * assert.equal(passAtK(4, 1, 2), 0.5);
 * assert.equal(majorityIndex(["4", "5", "5"]), 1);
 * assert.deepEqual(bootstrapInterval([0.5, 0.5]), [0.5, 0.5]);
 * const answer = { score: 1, formatted: true, truncated: false, tokens: 3 };
 * assert.equal(accuracyOf([[answer], [{ ...answer, score: 0 }]]).accuracy, 0.5);
 * ```
 * @module
 */
export { differenceInterval, wilson as wilsonInterval } from "../core/intervals.ts";
export { holm as holmPValues } from "../core/holm.ts";
export { type Accuracy, accuracyOf, type ScoredAnswer } from "../bench/evaluation/accuracy.ts";
export {
  bootstrapMean as bootstrapInterval,
  matchedPairsInterval,
} from "../bench/evaluation/intervals.ts";
export {
  mcnemarExact as mcnemarPValue,
  type PairedTest,
  pairedTest,
} from "../bench/evaluation/matched_pairs.ts";
export { majorityIndex, passAtK } from "../bench/evaluation/pass_at_k.ts";
