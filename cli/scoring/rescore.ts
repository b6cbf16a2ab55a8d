/** `rgx rescore`: the values that other rewards give to the completions of a run. */
import { writeJsonLines } from "../../data/write_rows.ts";
import { loadConfig } from "../../configs/load.ts";
import { rewardMetrics } from "../../configs/schema/metric_names.ts";
import { counted } from "../../core/counted.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import { createRubric } from "../../rewards/rubric.ts";
import { type Judgement, type RescoreSummary, Rescoring } from "../../training/rescore/rescore.ts";
import { readStoredStep, storedSteps } from "../../training/rescore/stored_steps.ts";
import { log, print, table } from "../terminal/terminal.ts";
import { chosenRewards } from "./reward_flags.ts";
import type { Flags } from "../flags.ts";
import type { RESCORE } from "./score_flags.ts";

type RescoreFlags = Flags<typeof RESCORE>;

/** Maximum number of failures of rewards that are printed. */
const SHOWN_ERRORS = 3;

export async function rescoreRun(given: string, flags: RescoreFlags): Promise<void> {
  const folder = given.replace(/(?<=.)\/+$/, "");
  if (!await exists(`${folder}/config.yaml`)) {
    throw new UsageError(`${folder}: is not the folder of a run: it has no config.yaml`);
  }
  if (flags.output !== undefined && !flags.output.endsWith(".jsonl")) {
    throw new UsageError(`--output ${flags.output}: expected a name that ends in .jsonl`);
  }
  const { config } = await loadConfig(`${folder}/config.yaml`, { env: Deno.env.toObject() });
  const { training } = config, chosen = await chosenRewards(flags);
  const steps = chosenSteps(await storedSteps(folder), flags.steps);
  const rubric = createRubric(chosen?.sections ?? config.rewards, {
    rewardTimeout: chosen?.rewardTimeout ?? training.reward_timeout,
    allowPython: flags.allowPython ?? false,
  });
  const before = {
    names: rewardMetrics(config.rewards),
    weights: config.rewards.map(({ weight }) => weight),
  };
  const rescoring = new Rescoring({
    before,
    rubric,
    groupSize: training.num_generations,
    scale: training.scale_rewards,
    aggregation: training.multi_objective_aggregation,
  });
  const facts = {
    folder,
    rewardNames: before.names,
    maxCompletionLength: training.max_completion_length,
  };
  let shown = 0;
  try {
    await rubric.open();
    for (const step of steps) {
      for (
        const { name, message, completion } of await rescoring.add(
          await readStoredStep(step, facts),
        )
      ) {
        if (shown++ >= SHOWN_ERRORS) break;
        log(
          `reward ${name} failed and counts 0: ${message}; the completion was ` +
            JSON.stringify(completion),
        );
      }
    }
  } finally {
    await rubric.close();
  }
  const summary = rescoring.summary();
  if (flags.output !== undefined) {
    await writeJsonLines(flags.output, rescoring.rows.map((row) => ({ ...row })));
    log(`wrote ${flags.output} (${summary.completions} completions)`);
  }
  print(flags.json ? JSON.stringify(summary) : summaryText(summary));
}

/** @throws UsageError for no range, or none of the run's steps */
function chosenSteps(all: readonly number[], range: string | undefined): readonly number[] {
  if (range === undefined) return all;
  const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
  if (first === undefined) {
    throw new UsageError(`--steps ${range}: expected steps such as 10-20, or one step`);
  }
  const steps = all.filter((step) => step >= Number(first) && step <= Number(last ?? first));
  if (steps.length > 0) return steps;
  throw new RgxError(
    `--steps ${range}: the run has completions of steps ${all[0]} to ${all.at(-1)}`,
  );
}

const number = (value: number) => Number.isNaN(value) ? "–" : value.toFixed(3);
const percent = (share: number) => Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`;

function summaryText(summary: RescoreSummary): string {
  const { before, after, completions } = summary;
  const part = (when: string, { rewards }: Judgement) =>
    rewards.map(({ name, weight, mean, applied }) => [
      when,
      name,
      String(weight),
      number(mean),
      applied === completions ? "all" : String(applied),
    ]);
  const whole = (when: string, { mean, std, without_signal }: Judgement) => [
    when,
    number(mean),
    number(std),
    percent(without_signal),
  ];
  return [
    `${counted(completions, "completion")} of ${counted(summary.groups, "prompt")} in ` +
    counted(summary.steps, "step"),
    "",
    table([
      ["", "reward", "weight", "mean", "applied to"],
      ...part("in the run", before),
      ...part("now", after),
    ]),
    "",
    table([
      ["", "mean reward", "std", "groups without a signal"],
      whole("in the run", before),
      whole("now", after),
    ]),
    "",
    `rank correlation over all completions   ${number(summary.correlation)}`,
    `… within groups (mean over ${summary.groups_compared})`.padEnd(40) +
    number(summary.correlation_in_groups),
    `groups with another best completion     ${percent(summary.other_best)}`,
    `advantages with another sign            ${percent(summary.other_sign)}`,
    ...notApplied([...before.rewards, ...after.rewards]),
    ...(summary.errors === 0 ? [] : ["", `${summary.errors} values failed and count 0`]),
  ].join("\n");
}

/** Advice for a reward that was applied to 0 completions: the reason, and where to look. */
function notApplied(rewards: Judgement["rewards"]): string[] {
  const names = new Set(rewards.filter(({ applied }) => applied === 0).map(({ name }) => name));
  if (names.size === 0) return [];
  return [
    "",
    ...[...names].map((name) =>
      `${name} applies to none of these completions: it gave null for each of them`
    ),
    "A reward gives null where it cannot judge, such as without an answer that it reads.",
    "Its file, or `rgx rewards show NAME`, says when. --output FILE.jsonl writes all values.",
  ];
}
