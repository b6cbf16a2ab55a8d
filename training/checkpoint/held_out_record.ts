/**
 * Which problems a run keeps apart, from its beginning on. Training draws around the held-out problems of
 * its own session; where a resumed run holds out others, an earlier session may have trained on them, and
 * what was measured before was measured on other problems. Neither is claimed then.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { sha256Hex } from "../../core/checksums.ts";
import type { Entry } from "../../tasks/types.ts";
import type { RunState } from "./run_state.ts";

export interface HeldOutRecord {
  /** Of the questions, in their order. */
  sha256: string;
  /** Others were held out in an earlier session: whether these were trained on is not known. */
  changed: boolean;
}

export function heldOutRecord(heldOut: readonly Entry[], changed = false): HeldOutRecord {
  return { sha256: sha256Hex(JSON.stringify(heldOut.map(({ question }) => question))), changed };
}

/**
 * Brings a restored state in line with the problems and the evaluation of this session: an evaluation before
 * that can not be compared with the one after is left out.
 * @returns what is to be said about it
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
