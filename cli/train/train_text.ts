/** Numbers and metrics of a training run as text, and its end: results and the next commands. */
import type { Accuracy, TaskAccuracy } from "../../bench/evaluation/accuracy.ts";
import { shellWord } from "../../cluster/quote.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { counted, percentDigits } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { isPython } from "../../rewards/custom/reward_file.ts";
import { environmentTitle, hasEnvironments } from "../../rewards/environments/open_environments.ts";
import type { LevelChange } from "../../tasks/curriculum/coach.ts";
import {
  type EvalResult,
  type RewardMean,
  shownRewards,
} from "../../training/evaluation/before_and_after.ts";
import type { TrainEvent, TrainPlan, TrainSummary } from "../../training/run/events.ts";
import {
  broken,
  clip,
  clipStart,
  paint,
  table,
  textWidth,
  withoutControl,
} from "../terminal/terminal.ts";

/** A log line in the usual style: {'loss': 0.0123, 'reward': 0.41, …}. */
export function dictLine(
  metrics: Readonly<Record<string, number | null>>,
  keys: readonly string[] | null,
): string {
  const shown = Object.entries(metrics).filter(([key]) => keys === null || keys.includes(key));
  if (keys) shown.sort(([a], [b]) => keys.indexOf(a) - keys.indexOf(b));
  return `{${shown.map(([key, value]) => `'${key}': ${significant(value)}`).join(", ")}}`;
}

/** The task, the file, or the tasks with their weights. */
export function problemsText({ tasks, task_name, dataset_name }: RunConfig["data"]): string {
  if (tasks === null) return task_name ?? dataset_name ?? "";
  return tasks.map(({ task_name, weight }) => `${task_name} × ${weight}`).join(", ");
}

/** The environments and tools of dialogues, and their limit; null without dialogues. */
export function dialogueText(config: RunConfig): string | null {
  if (!hasEnvironments(config)) return null;
  const { environment, environments, tools, multi_turn: { max_assistant_turns: turns } } = config;
  const sections = [
    ...environment === null ? [] : [environment],
    ...Object.values(environments ?? {}),
  ];
  return [
    ...sections.map(environmentTitle),
    ...(tools.length > 0 ? [`tools of ${tools.map(environmentTitle).join(", ")}`] : []),
    ...(turns === null ? [] : [`at most ${counted(turns, "answer")} of the model`]),
  ].join(", ");
}

/** Number of files that are named in one line. */
const FILES_SHOWN = 6;

/** "train.jsonl (40 rows); held out: test.jsonl (12 rows)". */
export function filesText(files: TrainPlan["files"]): string {
  const { trained = [], heldOut = [] } = Object.groupBy(
    files,
    ({ heldOut }) => heldOut ? "heldOut" : "trained",
  );
  const list = (some: TrainPlan["files"]) => {
    const shown = some.length > FILES_SHOWN ? some.slice(0, FILES_SHOWN - 1) : some;
    const left = some.slice(shown.length), rows = left.reduce((sum, { rows }) => sum + rows, 0);
    return [
      ...shown.map(({ path, rows }) => `${path} (${counted(rows, "row")})`),
      ...(left.length > 0 ? [`${left.length} more files (${counted(rows, "row")})`] : []),
    ].join(", ");
  };
  return list(trained) + (heldOut.length > 0 ? `; held out: ${list(heldOut)}` : "");
}

/**
 * The source of the questions, and whether rgx's instruction stands before them.
 * @param template whether the model has a chat template
 */
export function promptsText(
  { tasks, dataset_name, ...data }: RunConfig["data"],
  template = true,
): string {
  const isOwn = tasks !== null || dataset_name === null && publishedPlace(data.task_name!) === null;
  const questions = isOwn ? "rgx's own questions" : "the data's own, as they are";
  const instruction = data.add_instructions
    ? "with rgx's instruction about the answer's form before them"
    : `without rgx's instruction about the answer's form (data.add_instructions=true adds it)`;
  const kind = data.prompt_format === "plain"
    ? "; they are continued as plain text, without the chat template"
    : isOwn
    ? ""
    : !template
    ? "; they are continued as plain text, for the model has no chat template"
    : "; a text is a user's message (data.prompt_format=plain continues it, as TRL does)";
  return `${questions}, ${instruction}${kind}`;
}

/** "kernels: 24 shapes measured in 8 s, another kernel for 5; 3 known from before". */
export function kernelsLine(
  { measured, known, left, changed, seconds }: Omit<
    Extract<TrainEvent, { type: "kernels" }>,
    "type"
  >,
): string {
  const parts = [
    `${counted(measured, "shape")} measured in ${seconds.toFixed(1)} s`,
    ...(known > 0 ? [`${known} known from before`] : []),
    ...(left > 0 ? [`${left} not measured in the time`] : []),
  ];
  return `kernels: ${parts.join(", ")}; ${changed} with another kernel than by the rule`;
}

/** "chain_sum up: num_terms 2, num_digits 1 (score 0.83)". */
export function levelLine({ task, direction, mean, levels }: LevelChange): string {
  const now = Object.entries(levels).map(([name, level]) => `${name} ${level}`).join(", ");
  const why = mean === null ? "it was time" : `score ${significant(mean)}`;
  return `${task} ${direction}: ${now} (${why})`;
}

/** "1.37/216 MB": the unit is written once if both have the same. */
export function bytesOf(part: number, whole: number): string {
  const [a, b] = [bytesText(part), bytesText(whole)], unit = b.slice(b.indexOf(" "));
  return `${a.endsWith(unit) ? a.slice(0, -unit.length) : a}/${b}`;
}

/** Four significant digits, as short as possible; "–" where there is no value. */
export function significant(value: number | null): string {
  if (value === null) return "–";
  if (Number.isNaN(value)) return "nan";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return String(Number(value.toPrecision(4)));
}

/** "50 GRPO steps of 4 prompts × 8", or with the number of steps that each generation serves. */
export function grpoText(plan: TrainPlan, noun: string): string {
  const { steps, promptsPerGeneration, numGenerations, stepsPerGeneration: each } = plan;
  const size = `${counted(promptsPerGeneration, "prompt")} × ${numGenerations}`;
  const what = counted(steps, noun), asked = validationText(plan);
  if (each === 1) return `${what} of ${size}${asked}`;
  return `${what}, ` +
    (each > 1
      ? `${significant(each)} on each generation of ${size}`
      : `${significant(1 / each)} generations of ${size} each`) +
    asked;
}

export function accuracyText(
  { accuracy, ci95 }: { accuracy: number; ci95: readonly number[] },
): string {
  const p = percentDigits;
  return `${p(accuracy)} % [${p(ci95[0]!)}, ${p(ci95[1]!)}]`;
}

/** "0.417 [0.350, 0.483]". */
const rewardText = ({ mean, ci95 }: RewardMean): string =>
  `${mean.toFixed(3)} [${ci95.map((end) => end.toFixed(3)).join(", ")}]`;

/** Problems of a data set that are shown with their completions, and the width of a text. */
const SHOWN = 2, WIDTH = 72;
const clipped = (text: string) => clip(withoutControl(text).replaceAll(/\s+/g, " ").trim(), WIDTH);

/** The results of an evaluation, and for a data set some of the completions. */
export function evalLines(
  { result, items }: Pick<Extract<TrainEvent, { type: "eval" }>, "result" | "items">,
  { dataset_name, task_name }: Pick<RunConfig["data"], "dataset_name" | "task_name">,
): string[] {
  const measured = result.total === 0 ? ["no problem has an answer to compare with"] : [
    ...(result.temperature === 0 ? [] : [`sampled ${accuracyText(result)}`]),
    `greedy ${accuracyText(result.greedy)}`,
    `answer format ${(100 * result.format_rate).toFixed(1)} %`,
  ];
  const lines = [`  ${measured.join("   ")}`];
  for (const [name, reward] of shownRewards(result)) lines.push(`  ${name} ${rewardText(reward)}`);
  if (dataset_name === null && publishedPlace(task_name ?? "") === null) return lines;
  for (const { question, expected, completion, extracted } of items.slice(0, SHOWN)) {
    lines.push(
      `  ${clipped(question)}`,
      `    completion ${clipped(JSON.stringify(completion))}`,
    );
    if (expected === null) continue;
    const answer = extracted === null ? "none found" : clipped(extracted);
    lines.push(`    answer ${answer}   expected ${clipped(expected)}`);
  }
  return lines;
}

/** The number of problems that are used only by evaluations during the training. */
function validationText({ validation }: TrainPlan): string {
  return validation === 0 ? "" : ` (meanwhile ${counted(validation, "validation problem")})`;
}

/** "150 held-out problems (count_letter 81, spell_backward 69)". */
export function heldOutText({ heldOut, heldOutTasks }: TrainPlan): string {
  const tasks = Object.entries(heldOutTasks ?? {}).map(([name, count]) => `${name} ${count}`);
  const parts = tasks.length > 1 ? ` (${tasks.join(", ")})` : "";
  return counted(heldOut, "held-out problem") + parts;
}

const PROMPT = "  prompt: ";

const oneLine = (text: string) => withoutControl(text).replaceAll("\n", "⏎");

/** A prompt with up to `count` completions, their rewards and advantages. */
export function sampleLines(
  { question, answer, completions, rewardNames }: Omit<
    Extract<TrainEvent, { type: "sample" }>,
    "type" | "step"
  >,
  count: number,
  width: number,
): string[] {
  const expected = answer === null ? "" : `  expected: ${oneLine(answer)}`;
  // The end is the question; the beginning may be the same instruction in every prompt.
  const room = width - textWidth(expected) - PROMPT.length;
  const asked = clipStart(oneLine(question.trimEnd()), Math.max(room, width >> 1));
  const shown = bestAndWorst(completions, count), more = completions.length - shown.length;
  return [
    clip(PROMPT + asked + expected, width),
    ...shown.map(({ text, rewards, advantage }) => {
      const values = rewards.map((r) => r === null ? "–" : r.toFixed(2)).join(" ");
      const sign = advantage < 0 ? "−" : "+";
      const numbers = `  ${values}  ${sign}${Math.abs(advantage).toFixed(2)}  `;
      return clip(numbers + oneLine(text), width);
    }),
    ...(more > 0 ? [`  … ${more} more (columns: ${rewardNames.join(", ")}, advantage)`] : []),
  ];
}

/**
 * Distinct texts with the highest and the lowest advantages, best first: what is reinforced and
 * what is suppressed.
 */
function bestAndWorst<T extends { text: string; advantage: number }>(
  completions: readonly T[],
  count: number,
): T[] {
  const different = [
    ...new Map(completions.map((completion) => [completion.text, completion])).values(),
  ]
    .sort((a, b) => b.advantage - a.advantage);
  if (different.length <= count) return different;
  const best = Math.ceil(count / 2);
  return [...different.slice(0, best), ...different.slice(different.length - (count - best))];
}

type Measured = Pick<TaskAccuracy, "ci95" | "total">;
const p = percentDigits;
const interval = ({ ci95: [low, high] }: TaskAccuracy) => `[${p(low)}, ${p(high)}]`;

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
  const isSampled = after.temperature !== 0;
  return table([
    ["held-out", "before", "95 %", "after", "95 %", "n"],
    ...(after.total === 0 || !isSampled
      ? []
      : [row(`accuracy, sampled at T ${after.temperature}`, before, after)]),
    ...Object.entries(before.tasks ?? {}).map(([task, measured]) =>
      row(`  ${task}`, measured, after.tasks?.[task] ?? measured)
    ),
    ...(after.total === 0 ? [] : [
      row("accuracy, greedy", before.greedy, after.greedy),
      format(`answer format, ${isSampled ? "sampled" : "greedy"}`, before, after),
    ]),
    ...shownRewards(after).map(([name, b]) => {
      const a = new Map(shownRewards(before)).get(name) ?? b;
      const ends = ({ ci95 }: RewardMean) => `[${ci95.map((end) => end.toFixed(3)).join(", ")}]`;
      return [name, a.mean.toFixed(3), ends(a), b.mean.toFixed(3), ends(b), `${b.total}`];
    }),
  ]).split("\n");
}
