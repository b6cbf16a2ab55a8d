/** The flags of `rgx doctor` about the machines of several ranks. */
import { askedPlaces, type RankKeys } from "../../configs/rank_layout.ts";
import { UsageError } from "../../core/errors.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import type { RankLayout } from "../../training/scaling/scaling_plan.ts";
import type { DOCTOR } from "../flag_tables.ts";
import type { Flags } from "../flags.ts";

export type LayoutFlags = Pick<Flags<typeof DOCTOR>, "nodes" | "gpus" | "network" | "mtbf">;

/** @throws UsageError if the flags describe several ranks and no `--gpu NAME` is given */
export function requireCard(flags: LayoutFlags, card: PlanCard | null): void {
  const { nodes, gpus, network, mtbf } = flags;
  if ([nodes, gpus, network, mtbf].every((value) => value === undefined)) return;
  if (card !== null && card.figures !== null) return;
  throw new UsageError("--nodes, --gpus, --network, --mtbf: ranks are planned with --gpu NAME", {
    advice: "For example: rgx doctor --plan my.yaml --gpu a100-80gb --nodes 2 --gpus 4",
  });
}

/**
 * The machines of a plan: those of the flags, else of the configuration. null = one card.
 * @throws UsageError for flags that only several ranks need
 */
export function layoutOf(
  { nodes, gpus, network, mtbf }: LayoutFlags,
  training: RankKeys,
): RankLayout | null {
  const asked = askedPlaces(training);
  if (nodes === undefined && gpus === undefined && asked === null) {
    if (network === undefined && mtbf === undefined) return null;
    throw new UsageError("--network and --mtbf: they are of a plan with --nodes and --gpus");
  }
  return {
    nodes: nodes ?? asked?.nodes ?? 1,
    gpus: gpus ?? asked?.perNode ?? 1,
    ...(network === undefined ? {} : { network: network * 1e9 / 8 }),
    ...(mtbf === undefined ? {} : { nodeFailures: mtbf * 86_400 }),
  };
}
