/**
 * Errors. `Interrupted` says that work was ended early on request and can be resumed.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, Interrupted, RgxError, UsageError } from "@rgx/rgx";
 * assert.throws(() => createDataset("chain_sun"), (error) => {
 *   assert.ok(error instanceof UsageError);
 *   assert.match(error.message, /did you mean chain_sum/);
 *   assert.match(error.advice!, /taskNames\(\)/);
 *   return true;
 * });
 * assert.ok(new Interrupted() instanceof RgxError && new Interrupted().exitCode === 75);
 * ```
 * @module
 */
export { Interrupted, RgxError, UsageError } from "../core/errors.ts";
