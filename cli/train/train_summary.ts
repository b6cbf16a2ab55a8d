/**
 * The end of a run: the held-out results before and after, with n and intervals, and the next
 * commands.
 */
import { shellWord } from "../../cluster/quote.ts";
import { isPython } from "../../rewards/custom/reward_file.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { counted, percentDigits } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import type { Accuracy, TaskAccuracy } from "../../bench/evaluation/accuracy.ts";
import {
  type EvalResult,
  type RewardMean,
  shownRewards,
} from "../../training/evaluation/before_and_after.ts";
import type { TrainPlan, TrainSummary } from "../../training/run/events.ts";
import { broken, paint, table } from "../terminal/terminal.ts";

type Measured = Pick<TaskAccuracy, "ci95" | "total">;
const p = percentDigits;
const interval = ({ ci95: [low, high] }: TaskAccuracy) => `[${p(low)}, ${p(high)}]`;

/** The lines for the terminal. */
export function summaryTable(
  summary: TrainSummary,
  config: RunConfig,
  { phases, resumedFrom }: Pick<TrainPlan, "phases" | "resumedFrom">,
): string[] {
  const lines: string[] = [""];
  const { eval_before: before, eval_after: after } = summary;
  if (summary.status === "stopped") {
    lines.push(
      summary.checkpoint === null
        ? "Stopped before a step was done: there is nothing to save."
        : `Stopped after step ${summary.steps}; everything is saved in ${summary.checkpoint}.`,
      `Continue with: ${rerun(summary, config, phases)} --resume`,
    );
    return lines;
  }
  if (before && after) {
    lines.push(...evalTable(before, after), "");
    const signed = (gain: number, digits: number) =>
      `${gain >= 0 ? "+" : "−"}${Math.abs(gain).toFixed(digits)}`;
    const line = (what: string, a: Measured, b: Measured) => {
      const apart = b.ci95[0] > a.ci95[1] || b.ci95[1] < a.ci95[0];
      const on = counted(b.total, "held-out problem");
      const text = `${what} on ${on}; the 95 % intervals ${apart ? "do not overlap" : "overlap"}.`;
      lines.push(paint("bold", text));
    };
    if (after.total > 0) {
      line(`Accuracy ${signed(100 * (after.accuracy - before.accuracy), 1)} points`, before, after);
    }
    const [a, b] = [before, after].map((result) => shownRewards(result).at(-1));
    if (a !== undefined && b !== undefined) {
      const name = b[0] === "weighted sum" ? "Reward" : `Reward ${b[0]}`;
      line(`${name} ${signed(b[1].mean - a[1].mean, 3)}`, a[1], b[1]);
    }
  }
  if (after) lines.push(separation(summary, resumedFrom !== null));
  lines.push(...broken("stderr", timeLine(summary)));
  const { memory_planned_bytes: planned, peak_memory_bytes: peak } = summary;
  if (planned !== null) {
    lines.push(
      `Memory ${bytesText(peak)} at most (planned for completions of full length: ${
        bytesText(planned)
      }).`,
    );
  }
  lines.push("", `Checkpoint: ${summary.checkpoint ?? "none (save_strategy)"}`, "Next:");
  const again = rerun(summary, config, phases), seed = config.training.seed + 1;
  const other = shellWord(`${summary.output_dir.replace(/\/+$/, "")}-seed${seed}`);
  if (phases === "sft" && config.rewards.length > 0) {
    lines.push(
      `  ${rerun(summary, config, "all")} --resume`,
      paint("dim", "      go on with GRPO"),
    );
  }
  const steps = phases === "sft" && config.dpo === null ? "sft.max_steps" : "training.max_steps";
  if (summary.checkpoint !== null) {
    lines.push(
      `  ${again} --resume ${steps}=${summary.steps * 2}`,
      paint("dim", "      go on from here"),
    );
  }
  lines.push(
    `  ${again} training.seed=${seed} --output-dir ${other}`,
    paint("dim", "      the same with another seed"),
    "  rgx tasks list",
    paint("dim", "      other tasks to train on"),
  );
  return lines;
}

/**
 * Says whether any problem was both trained on and held out. The number of problems that were drawn
 * again is known only for a run without a break.
 */
function separation(
  { item_overlap: both, items_redrawn: redrawn }: TrainSummary,
  resumed: boolean,
): string {
  if (both === null) {
    return "Whether held-out problems were trained on is not known: others were held out before.";
  }
  const again = redrawn === 0 || resumed
    ? ""
    : `; ${redrawn} ${redrawn === 1 ? "was" : "were"} drawn again for that`;
  return both === 0
    ? `No held-out problem was trained on${again}.`
    : `${both} of the training problems were held out too${again}.`;
}

/** The command that repeats a run from its merged configuration. */
function rerun(
  summary: TrainSummary,
  { dpo, rewards }: RunConfig,
  phases: TrainPlan["phases"],
): string {
  return `rgx ${phases === "all" ? "train" : dpo === null ? "sft" : "dpo"} ${
    shellWord(`${summary.output_dir}/config.yaml`)
  }${
    rewards.some(({ file }) => file !== undefined && isPython(file.path)) ? " --allow-python" : ""
  }`;
}

/** How long the run took, and its parts of at least 0.05 s. */
export function timeLine(
  { seconds, seconds_by_phase: phases }: Pick<TrainSummary, "seconds" | "seconds_by_phase">,
): string {
  const named = Object.values(phases).reduce((a, b) => a + b, 0);
  const parts = [...Object.entries(phases), ["other", seconds - named] as const]
    .filter(([, s]) => s >= 0.05)
    .map(([name, s]) => `${name.replace("_", "+")} ${s.toFixed(1)}`);
  return `Time ${duration(seconds)}${parts.length === 0 ? "" : ` (seconds: ${parts.join(", ")})`}.`;
}

function evalTable(before: EvalResult, after: EvalResult): string[] {
  const row = (name: string, a: TaskAccuracy, b: TaskAccuracy): string[] => [
    name,
    `${p(a.accuracy)} %`,
    interval(a),
    `${p(b.accuracy)} %`,
    interval(b),
    `${a.total}`,
  ];
  const format = (name: string, a: Accuracy, b: Accuracy): string[] => [
    name,
    `${p(a.format_rate)} %`,
    "",
    `${p(b.format_rate)} %`,
    "",
    `${a.total}`,
  ];
  return table([
    ["held-out", "before", "95 %", "after", "95 %", "n"],
    ...(after.total === 0
      ? []
      : [row(`accuracy, sampled at T ${after.temperature}`, before, after)]),
    ...Object.entries(before.tasks ?? {}).map(([task, measured]) =>
      row(`  ${task}`, measured, after.tasks?.[task] ?? measured)
    ),
    ...(after.total === 0 ? [] : [
      row("accuracy, greedy", before.greedy, after.greedy),
      format("answer format, sampled", before, after),
    ]),
    ...shownRewards(after).map(([name, b]) => {
      const a = new Map(shownRewards(before)).get(name) ?? b;
      const ends = ({ ci95 }: RewardMean) => `[${ci95.map((end) => end.toFixed(3)).join(", ")}]`;
      return [name, a.mean.toFixed(3), ends(a), b.mean.toFixed(3), ends(b), `${b.total}`];
    }),
  ]).split("\n");
}
