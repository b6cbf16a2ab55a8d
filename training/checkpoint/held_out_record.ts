/**
 * Whether a resumed run still holds out the same problems. Each session leaves out its held-out
 * problems when it draws training problems. If a resumed run holds out other problems, an earlier
 * session may have trained on them, and the evaluation before training was on other problems: then
 * the run does not claim that there is no overlap, and does not compare the two evaluations.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { sha256Hex } from "../../core/checksums.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import type { Entry } from "../../tasks/types.ts";
import type { HeldOutRecord, RunState } from "./run_state.ts";

/** All problems that a run is not trained on. */
export function heldApart(
  { heldOut, validation }: Pick<SplitProblems, "heldOut" | "validation">,
): readonly Entry[] {
  return [...heldOut, ...validation];
}

export function heldOutRecord(heldOut: readonly Entry[], changed = false): HeldOutRecord {
  return { sha256: sha256Hex(JSON.stringify(heldOut.map(({ question }) => question))), changed };
}

/**
 * Updates a restored state for this session's held-out problems and evaluation settings. An
 * evaluation before training that cannot be compared with the one after is removed.
 * @returns warnings about it
 */
export function reviseHeldOut(
  state: RunState,
  heldOut: readonly Entry[],
  { training, eval: { temperature } }: RunConfig,
): string[] {
  const now = heldOutRecord(heldOut), then = state.heldOut ?? now;
  const isOther = then.sha256 !== now.sha256;
  state.heldOut = { ...now, changed: then.changed || isOther };
  const notes: string[] = [];
  if (heldOut.length === 0) return notes;
  if (isOther) {
    notes.push(
      "the held-out problems are others than before: some of them may have been trained on already",
    );
  }
  const { evalBefore } = state, sampledAt = temperature ?? training.temperature;
  if (evalBefore !== null && (isOther || evalBefore.temperature !== sampledAt)) {
    const how = isOther
      ? `of ${evalBefore.total} other problems`
      : `at temperature ${evalBefore.temperature}, and is ${sampledAt} now`;
    notes.push(`the evaluation before training was ${how}: it is not compared with the one after`);
    state.evalBefore = null;
  }
  return notes;
}
