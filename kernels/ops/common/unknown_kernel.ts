/** The error for the name of a kernel that an operation does not have. */
import { RgxError } from "../../../core/errors.ts";

/** @param what "tile "1x1"" */
export function unknownKernel(what: string): RgxError {
  return new RgxError(`there is no ${what} among the kernels of this version`, {
    advice: "The name is from a checkpoint or a cache that was changed by hand, or written by " +
      "another state of this version. rgx doctor --tune CONFIG measures a cache's kernels again.",
  });
}
