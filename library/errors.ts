/**
 * Errors.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, UsageError } from "@rgx/rgx";
 * assert.throws(() => createDataset("chain_sun"), (error) => {
 *   assert.ok(error instanceof UsageError);
 *   assert.match(error.message, /did you mean chain_sum/);
 *   assert.equal(error.advice, "rgx tasks list shows all tasks");
 *   return true;
 * });
 * ```
 * @module
 */
export { RgxError, UsageError } from "../core/errors.ts";
