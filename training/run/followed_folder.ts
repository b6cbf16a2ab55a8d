/**
 * The folder of a run as the ranks after the first see it: the first rank writes all files, the
 * others none. They read checkpoints, which may appear on their machine a moment later.
 */
import { RgxError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import type { RunFiles } from "./run_folder.ts";

/** How long a folder that the first rank sees may be missing on this machine, in milliseconds. */
const APPEARS_WITHIN = 60_000, LOOK_EVERY = 200;

const nothing = () => Promise.resolve();

/** A folder that nothing is written to. */
export function followedFolder(path: string): RunFiles {
  return {
    path,
    rewind: nothing,
    metrics: { bytes: 0, append: nothing, flush: nothing },
    writeText: nothing,
    writeFiles: nothing,
    updateRun: nothing,
    readRun: () => Promise.resolve(null),
    log: nothing,
    writeCompletions: nothing,
    isOurs: () => Promise.resolve(true),
    isThere: () => Promise.resolve(true),
    lost: () => Promise.resolve(new RgxError(`${path}: the files of this run are gone`)),
    keepAlive: () => {},
    close: nothing,
  };
}

/**
 * Waits until a folder that another rank has written is there: file servers may be slow.
 * @throws RgxError when it does not appear
 */
export async function waitForFolder(path: string): Promise<void> {
  for (let waited = 0; !await exists(path); waited += LOOK_EVERY) {
    if (waited > APPEARS_WITHIN) {
      throw new RgxError(`${path}: rank 0 has it, this rank does not see it`, {
        advice: "All ranks need the run's folder on a file system that their machines share.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}
