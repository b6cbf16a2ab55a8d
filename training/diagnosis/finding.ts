/** The kinds of findings, and the form of an advice; `diagnosis.ts` decides and words them. */

export type Finding =
  | "no_reward"
  | "empty"
  | "supervised"
  | "collapsed"
  | "no_signal"
  | "solved"
  | "truncated"
  | "format"
  | "clipped"
  | "kl"
  | "entropy"
  | "warm_up"
  | "gradient";

/** Why a run does not get better, and what to try. */
export interface Advice {
  /** What was found, for programs. */
  finding: Finding;
  /** One or two sentences: what was observed, and what it means. */
  text: string;
  /** `key=value` to try, the most promising first. */
  tries: string[];
}

/** An advice as one text. */
export function adviceText({ text, tries }: Advice): string {
  return tries.length === 0 ? text : `${text} Try: ${tries.join(", ")}`;
}
