/** The situations in which `deno task bench:steady` measures. */
import { DEMAND, type Kind, KINDS } from "./busy.ts";
import { fairShare } from "./fair_share.ts";

/** The quota that is measured, in CPUs. */
export const QUOTA = 1.5;

const COUNTS = [1, 2, 4];

export interface Situation {
  name: string;
  /** Null: no process, but a quota. */
  kind: Kind | null;
  count: number;
  /** Whether cgroups are needed: one for each process, or one with a quota. */
  groups: boolean;
  /** The share of its throughput that a program with a thread for each core can expect. */
  fair(cores: number): number;
}

/** Linux divides among threads, and first among groups if there are any. */
function fairOf(kind: Kind, count: number, groups: boolean): Situation["fair"] {
  const others = Array<number>(count).fill(DEMAND[kind]);
  return (cores) =>
    fairShare(cores, groups ? [cores, ...others] : [...Array<number>(cores).fill(1), ...others]);
}

function situation(kind: Kind, count: number, groups: boolean): Situation {
  const name = `${count} × ${kind}${groups ? ", each in a group" : ""}`;
  return { name, kind, count, groups, fair: fairOf(kind, count, groups) };
}

export const SITUATIONS: readonly Situation[] = [
  ...KINDS.flatMap((kind) => COUNTS.map((count) => situation(kind, count, false))),
  ...COUNTS.map((count) => situation("loops", count, true)),
  {
    name: `a quota of ${QUOTA} CPUs`,
    kind: null,
    count: 0,
    groups: true,
    fair: (cores) => Math.min(1, QUOTA / cores),
  },
];
