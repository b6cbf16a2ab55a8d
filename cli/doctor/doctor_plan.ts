/** `rgx doctor --plan CONFIG --gpu NAME`: whether a run fits on a card of another machine. */
import { batchSizes } from "../../configs/batch_sizes.ts";
import { loadConfig } from "../../configs/load.ts";
import { askedPlaces, type RankKeys } from "../../configs/rank_layout.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { counted } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { type CardMemory, type CardPlan, planOnCard } from "../../training/card/card_plan.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import { checkRankCount } from "../../training/run/rank_count.ts";
import {
  type RankLayout,
  type ScalingPlan,
  scalingPlan,
} from "../../training/scaling/scaling_plan.ts";
import type { DOCTOR } from "../flag_tables.ts";
import type { Flags } from "../flags.ts";
import {
  cardMemoryJson,
  cardMemoryText,
  cardPlanJson,
  cardVerdictText,
  seconds,
} from "../plans/plan_text.ts";
import {
  missingAdvice,
  missingForRun,
  missingLines,
  namingMissing,
} from "../plans/missing_parts.ts";
import { broken, paragraph, print, table } from "../terminal/terminal.ts";

/**
 * @param flags the nodes and cards of a run on several ranks; otherwise its keys may name them
 * @returns the exit code: 1 when the configuration does not fit on the card.
 * @throws UsageError when the configuration itself is wrong, or the model's sizes are not known
 */
export async function doctorPlan(
  name: string,
  overrides: string[],
  card: PlanCard,
  { json = false, ...flags }: { json?: boolean } & LayoutFlags,
): Promise<number> {
  const { config } = await namingMissing(() =>
    loadConfig(name, { overrides, env: Deno.env.toObject() })
  );
  const layout = layoutOf(flags, config.training);
  let seen: CardMemory | undefined;
  const show = (text: string) => json || print(text);
  let plan: CardPlan;
  try {
    const ranks = layout === null ? 1 : layout.nodes * layout.gpus;
    checkRankCount(config, ranks);
    plan = await planOnCard(config, card, {
      ranks,
      onMemory: (memory) => {
        seen = memory;
        show(cardMemoryText(memory, config));
      },
    });
  } catch (error) {
    if (!(error instanceof UsageError) || seen === undefined) throw error;
    const { message, advice } = error, misfit = `${message}${advice ? `; ${advice}` : ""}`;
    const report = { config: name, fits: false, misfits: [misfit] };
    if (json) print(JSON.stringify({ ...report, ...await cardMemoryJson(seen) }));
    show(`does not fit\n`);
    show(paragraph(`fix: ${misfit}`));
    return EXIT.failure;
  }
  show(await cardVerdictText(plan));
  const scaling = layout === null || plan.time === null || card.figures === null
    ? null
    : await scalingPlan(config, plan, layout, card.figures.bus);
  if (scaling !== null) show(scalingText(scaling, config, plan));
  const missing = await missingForRun(config);
  for (const line of missingLines(missing)) show(`note: ${line}`);
  if (missing.length > 0) show(`before the run, ${missingAdvice(missing)}`);
  const report = { config: name, fits: true, misfits: [], ...await cardPlanJson(plan) };
  if (json) print(JSON.stringify({ ...report, ...scaling !== null && { ranks: scaling } }));
  return EXIT.ok;
}

const days = (value: number) =>
  value < 2 * 86_400 ? duration(value) : `${Math.round(value / 86_400)} days`;
const percent = (share: number) => `${Number((100 * share).toPrecision(2))} %`;

/** A smaller difference in the share of lost time is no reason to change a configuration. */
const WORTH_SAYING = 0.001;

function scalingText(plan: ScalingPlan, { training }: RunConfig, { memory }: CardPlan): string {
  const { wire_bytes_per_step: wire, seconds_per_step: step, save, ranks } = plan;
  const { promptsPerGeneration: prompts } = batchSizes(training);
  const how = { exact: "the same bits as one rank", fast: "in the order that MPI chooses" };
  const waits: [string, number, string][] = [
    [
      "generation",
      step.generation,
      `at most ${plan.prompts_per_rank} of ${prompts} prompts a rank`,
    ],
    [
      "training",
      step.training,
      `at most ${plan.micro_batches_per_rank} of ${training.gradient_accumulation_steps} ` +
      "micro-batches a rank",
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
    [`${ranks} ranks`, `${counted(plan.nodes, "node")} × ${plan.gpus_per_node}`, "one card each"],
    ["memory of a rank", "", ""],
    [
      "  of its card",
      "as above",
      memory.parts.kept.shards > 1
        ? "with its part of the optimizer's states"
        : "each rank has the whole model",
    ],
    [
      "  of its node",
      bytesText(plan.host_bytes_per_rank),
      "sums of gradients, besides the program",
    ],
    ["bytes on the wire a step", "", "sent by a rank, which receives as many"],
    ["  gradients", bytesText(wire.gradients), ""],
    ...(wire.values === 0 ? [] : [["  updated values", bytesText(wire.values), ""]]),
    ["  completions", bytesText(wire.completions), ""],
    ["  out of a node", bytesText(wire.leaves_node), "by all its ranks"],
    ["time of a step", "", ""],
    ...waits.map(([part, value, note]) => [`  ${part}`, seconds(value), note]),
    [
      "  together",
      seconds(step.together),
      `one rank: ${seconds(plan.seconds_per_step_of_one_rank)}`,
    ],
    ["speed", `${plan.speedup.toFixed(2)} ×`, `efficiency ${percent(plan.efficiency)}`],
    ["failures", "", ""],
    ["  one in", days(save.mtbf_seconds), "of all nodes together"],
    ["  a checkpoint takes", seconds(save.checkpoint_seconds), ""],
    ["  a restart takes", seconds(save.restart_seconds), "with the queue"],
    ["  save", every(save.recommended_steps), `loses ${percent(save.lost_with_recommended)}`],
    [
      "  as configured",
      every(save.configured_steps),
      `loses ${percent(save.lost_with_configured)}`,
    ],
  ];
  const notes = [
    ...plan.notes,
    ...(save.lost_with_configured - save.lost_with_recommended < WORTH_SAYING ? [] : [
      `training.save_steps=${save.recommended_steps} loses least (Daly's interval; Young's is ` +
      `${save.young_steps} steps)`,
    ]),
  ];
  return [
    "",
    table(rows),
    ...notes.flatMap((note) => broken("stdout", `try: ${note}`)),
    ...broken(
      "stdout",
      "An estimate: docs/scaling.md has the formulas, and the parts that were measured.",
    ),
  ].join("\n");
}

type LayoutFlags = Pick<Flags<typeof DOCTOR>, "nodes" | "gpus" | "network" | "mtbf">;

/** @throws UsageError if the flags describe several ranks and no `--gpu NAME` is given */
export function requireCard(flags: LayoutFlags, card: PlanCard | null): void {
  const { nodes, gpus, network, mtbf } = flags;
  if ([nodes, gpus, network, mtbf].every((value) => value === undefined)) return;
  if (card !== null && card.figures !== null) return;
  throw new UsageError("--nodes, --gpus, --network, --mtbf: ranks are planned with --gpu NAME", {
    advice: "For example: rgx doctor --plan my.yaml --gpu a100-80gb --nodes 2 --gpus 4",
  });
}

/** The machines of a plan: those of the flags, else of the configuration. null = one card. */
function layoutOf(
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
