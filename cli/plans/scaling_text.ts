/** The plan of a run on several ranks, as text and as JSON. */
import { bytesText } from "../../core/bytes.ts";
import { duration } from "../../core/duration.ts";
import type { RankLayout } from "../../training/scaling/layout.ts";
import type { ScalingPlan } from "../../training/scaling/scaling_plan.ts";
import { broken, table } from "../terminal/terminal.ts";

const seconds = (value: number) =>
  value < 10 ? `${Number(value.toPrecision(2))} s` : duration(value);
const days = (value: number) =>
  value < 2 * 86_400 ? duration(value) : `${Math.round(value / 86_400)} days`;
const percent = (share: number) => `${Number((100 * share).toPrecision(2))} %`;

/** A smaller difference in the share of lost time is no reason to change a configuration. */
const WORTH_SAYING = 0.001;

export function scalingText(plan: ScalingPlan, layout: RankLayout): string {
  const { wire, step, save, ranks } = plan;
  const nodes = `${layout.nodes} node${layout.nodes === 1 ? "" : "s"}`;
  const how = { exact: "the same bits as one rank", fast: "in the order that MPI chooses" };
  const waits: [string, number, string][] = [
    ["generation", step.generation, `at most ${plan.prompts} of ${plan.allPrompts} prompts a rank`],
    [
      "training",
      step.training,
      `at most ${plan.microBatches} of ${plan.allMicroBatches} micro-batches a rank`,
    ],
    ["sum of gradients", step.reduction, `${plan.reduction}: ${how[plan.reduction]}`],
    ["completions", step.exchange, "exchanged"],
    [
      "update",
      step.update,
      wire.values === 0 ? "the same one on every rank" : "of its part; sends the values",
    ],
    ["waiting", step.waiting, "for the slowest rank"],
  ];
  const every = (steps: number) => `every ${steps} steps (${seconds(steps * step.together)})`;
  const rows: string[][] = [
    [`${ranks} ranks`, `${nodes} × ${layout.gpus}`, "one card each"],
    ["memory of a rank", "", ""],
    [
      "  of its card",
      "as above",
      plan.divided ? "with its part of the optimizer's states" : "each rank has the whole model",
    ],
    ["  of its node", bytesText(plan.hostBytes), "sums of gradients, besides the program"],
    ["bytes on the wire a step", "", "sent by a rank, which receives as many"],
    ["  gradients", bytesText(wire.gradients), ""],
    ...(wire.values === 0 ? [] : [["  updated values", bytesText(wire.values), ""]]),
    ["  completions", bytesText(wire.completions), ""],
    ["  out of a node", bytesText(wire.leavesNode), "by all its ranks"],
    ["time of a step", "", ""],
    ...waits.map(([part, value, note]) => [`  ${part}`, seconds(value), note]),
    ["  together", seconds(step.together), `one rank: ${seconds(plan.single)}`],
    ["speed", `${plan.speedup.toFixed(2)} ×`, `efficiency ${percent(plan.efficiency)}`],
    ["failures", "", ""],
    ["  one in", days(save.betweenFailures), "of all nodes together"],
    ["  a checkpoint takes", seconds(save.checkpoint), ""],
    ["  a restart takes", seconds(save.restart), "with the queue"],
    ["  save", every(save.recommended), `loses ${percent(save.lostWithRecommended)}`],
    ["  as configured", every(save.now), `loses ${percent(save.lostWithNow)}`],
  ];
  const notes = [
    ...plan.notes,
    ...(save.lostWithNow - save.lostWithRecommended < WORTH_SAYING ? [] : [
      `training.save_steps=${save.recommended} loses least (Daly's interval; Young's is ` +
      `${save.young} steps)`,
    ]),
  ];
  return [
    "",
    table(rows),
    ...notes.flatMap((note) => broken("stdout", `try: ${note}`)),
    ...broken(
      "stdout",
      "An estimate: docs/scaling.md has the formulas and says what of it was measured.",
    ),
  ].join("\n");
}

export function scalingJson(plan: ScalingPlan, layout: RankLayout) {
  const { wire, step, save } = plan;
  return {
    ranks: plan.ranks,
    nodes: layout.nodes,
    gpus_per_node: layout.gpus,
    network_bytes_per_second: layout.network,
    node_mtbf_seconds: layout.nodeFailures,
    reduction: plan.reduction,
    host_bytes_per_rank: plan.hostBytes,
    wire_bytes_per_step: {
      gradients: wire.gradients,
      values: wire.values,
      completions: wire.completions,
      leaves_node: wire.leavesNode,
    },
    seconds_per_step: step,
    seconds_per_step_of_one_rank: plan.single,
    speedup: plan.speedup,
    efficiency: plan.efficiency,
    prompts_per_rank: plan.prompts,
    micro_batches_per_rank: plan.microBatches,
    save: {
      mtbf_seconds: save.betweenFailures,
      checkpoint_seconds: save.checkpoint,
      restart_seconds: save.restart,
      recommended_steps: save.recommended,
      young_steps: save.young,
      configured_steps: save.now,
      lost_with_recommended: save.lostWithRecommended,
      lost_with_configured: save.lostWithNow,
    },
    notes: plan.notes,
  };
}
