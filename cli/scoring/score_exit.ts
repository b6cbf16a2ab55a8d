/** How `rgx score` ends, with rewards and without. */
import { EXIT } from "../../core/errors.ts";
import { log } from "../terminal/terminal.ts";

/** @returns the exit code: 1 when there were lines and none of them could be scored */
export function scoreExit({ scored, failed }: { scored: number; failed: number }): number {
  if (scored === 0 && failed === 0) log("nothing was scored: the input has no lines");
  return scored === 0 && failed > 0 ? EXIT.failure : EXIT.ok;
}
