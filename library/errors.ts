/**
 * Errors. `Interrupted` says that work was ended early on request and can be resumed.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDataset, UsageError } from "@rgx/rgx";
 * assert.throws(
 *   () => createDataset("chain_sun"),
 *   (error) => error instanceof UsageError && /did you mean chain_sum/.test(error.message),
 * );
 * ```
 * @module
 */
export { Interrupted, RgxError, UsageError } from "../core/errors.ts";
