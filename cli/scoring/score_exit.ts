/** How `rgx score` ends, with rewards and without. */
import { EXIT } from "../../core/errors.ts";
import { log } from "../terminal/terminal.ts";

interface Counts {
  scored: number;
  failed: number;
}

/**
 * @param file what was read, "-" for stdin
 * @param line an example of a line, for the message when there was none
 * @returns the exit code: 1 when there were lines and none of them could be scored
 */
export function scoreExit({ scored, failed }: Counts, file: string, line: string): number {
  if (scored > 0) return EXIT.ok;
  if (failed > 0) return EXIT.failure;
  log(
    `nothing was scored: ${file === "-" ? "stdin" : file} has no lines, expected ${line} in each`,
  );
  return EXIT.ok;
}
