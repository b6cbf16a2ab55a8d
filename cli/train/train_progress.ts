/**
 * The progress of a training run on stderr: first the plan and the estimated time; then a progress
 * line, which is redrawn on a terminal and written now and then elsewhere; samples of a prompt with
 * completions, rewards and advantages; at the end the table of held-out results and what to try
 * next.
 */
import { bestMetric } from "../../configs/schema/metric_names.ts";
import { stepInterval } from "../../configs/step_interval.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";

import { bytesText } from "../../core/bytes.ts";
import { counted } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import { OtherWorkMeter, otherWorkText } from "../../core/machine/other_work.ts";
import type { Device } from "../../kernels/device.ts";
import { describeDevice } from "../../kernels/mod.ts";
import { diskText } from "../../training/run/disk_plan.ts";
import type { Advice } from "../../training/diagnosis/diagnosis.ts";
import { MetricAverager, type Metrics, unfiltered } from "../../training/metrics/metrics.ts";
import type { TrainEvent, TrainPhase, TrainPlan, TrainSummary } from "../../training/run/events.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import type { TrainOptions } from "./load_run.ts";
import { MetricLines } from "./metric_lines.ts";
import {
  accuracyText,
  bytesOf,
  dialogueText,
  evalLines,
  filesText,
  grpoText,
  heldOutText,
  kernelsLine,
  levelLine,
  problemsText,
  promptsText,
  sampleLines,
  summaryTable,
} from "./train_text.ts";
import { memoryText, type RunTime, runTimeText, TimeLeft } from "../plans/plan_text.ts";
import { usableSeconds } from "../stop_control.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import {
  breakWidth,
  broken,
  columns,
  labelled,
  log,
  paint,
  withoutControl,
  wrap,
} from "../terminal/terminal.ts";
import { textWidth } from "../terminal/terminal.ts";

/** Maximum number of milliseconds without any output, when stderr is no terminal. */
const QUIET_MS = 30_000;
/** Parts that every progress line has. Other parts are left out if they do not fit. */
const FIXED_PARTS = 4;
/** Milliseconds between redraws of the progress line. */
const REDRAW_MS = 100;

/** Events without a line of their own in `--log-format json`. */
const UNLOGGED: ReadonlySet<TrainEvent["type"]> = new Set([
  "step",
  "eval_progress",
  "sample",
  "completions",
]);

type Options = Pick<TrainOptions, "quiet" | "verbose" | "logFormat" | "logMetrics">;

export class TrainProgress {
  /** The number of parameters, which the header shows once it is known. */
  memory: MemoryPlan | null = null;
  /** The model's longest text and RoPE scaling; null without scaling. */
  context: string | null = null;
  /** The time of the whole run; null when it was not estimated. */
  time: RunTime | null = null;
  /** Seconds to the end of the job that the run is in. Null: no job, or its end is not known. */
  secondsLeft: number | null = null;
  #plan: TrainPlan | null = null;
  readonly #line = new RedrawnLines(QUIET_MS, REDRAW_MS);
  readonly #others = new OtherWorkMeter();
  #phase = "";
  readonly #timeLeft = new TimeLeft();
  #metricLines: MetricLines | null = null;
  /** How long the phase still takes, with the evaluation after it, as text. */
  #left = "";
  /** Sums of supervised steps since the last line. These steps have no log of their own. */
  #recent!: { averager: MetricAverager; tokens: number; since: number };

  constructor(
    private readonly config: RunConfig,
    private readonly device: Device,
    private readonly options: Options,
  ) {
    this.#resetRecent();
  }

  on(event: TrainEvent): void {
    if (event.type === "warning") {
      this.#warn(event.message);
    } else if (!this.options.quiet) {
      if (this.options.logFormat === "json") this.#logJson(event);
      else this.#show(event);
    }
    if (event.type === "plan") this.#warnOfTime(event.plan);
  }

  /**
   * The output of `--dry-run`: everything that would happen, and one prompt as the model would get
   * it.
   */
  showDryRun(
    plan: TrainPlan,
    sample: { prompt: string; tokens: number; answer: string | null },
    freeDisk: number | null,
  ): void {
    const free = freeDisk === null ? "" : `; ${bytesText(freeDisk)} free`;
    this.#header(plan, [["disk", `${diskText(plan.disk)}${free}`]]);
    log("");
    log(`sample prompt (${counted(sample.tokens, "token")})`);
    for (const line of withoutControl(sample.prompt).split("\n")) log(`  ${line}`);
    const isFile = this.config.data.dataset_name !== null;
    const answer = sample.answer ?? (isFile ? "(none)" : "(any that the task accepts)");
    log(`  expected answer: ${withoutControl(answer).replaceAll("\n", "\n    ")}`);
    log("\ndry run: nothing was written");
    this.#warnOfTime(plan);
  }

  close(): void {
    this.#line.clear();
  }

  #show(event: TrainEvent): void {
    switch (event.type) {
      case "plan":
        this.#plan = event.plan;
        this.#header(event.plan);
        return;
      case "kernels":
        return this.#print(paint("dim", kernelsLine(event)));
      case "phase": {
        this.#phase = event.phase;
        this.#timeLeft.phase(event.phase, performance.now());
        this.#resetRecent();
        this.#metricLines = this.#linesOf(event.phase);
        const title = this.#phaseTitle(event.phase);
        if (title) this.#print(`\n${paint("bold", title)}`);
        return;
      }
      case "step":
        return this.#step(event);
      case "log":
        if (this.#phase === "warm_start") return; // its steps are printed as they come
        return this.#logLines(event.step, event.totalSteps, event.metrics);
      case "sample":
        return this.#sample(event);
      case "eval_progress":
        return this.#line.show(
          () => [`  held-out ${event.done}/${event.total}`],
          event.done === event.total,
        );
      case "eval":
        for (const line of evalLines(event, this.config.data)) this.#print(line);
        return;
      case "held_out":
        return this.#heldOut(event);
      case "curriculum":
        return this.#print(`  step ${event.step}: ${levelLine(event.change)}`);
      case "advice":
        return this.#showAdvice(event.advice, event.step);
      case "checkpoint":
        return this.#print(paint("dim", `saved ${event.path}`));
      case "best_loaded": {
        const { name } = bestMetric(this.config.training);
        return this.#print(
          `The best checkpoint is the result: step ${event.step}, ${name} ${
            event.metric.toFixed(4)
          }`,
        );
      }
      case "done":
        return this.#done(event.summary);
    }
  }

  #header(plan: TrainPlan, more: readonly [name: string, value: string][] = []): void {
    const { config, device, memory } = this, { model, data, training } = config;
    const millions = (n: number) =>
      n >= 1e6 ? `${(n / 1e6).toFixed(1)} M` : `${Math.round(n / 1e3)} K`;
    const from = model.init
      ? `${model.init.architecture}, ${
        millions(plan.parameters)
      } parameters from seed ${training.seed}`
      : `${model.model_name_or_path}, ${millions(plan.parameters)} parameters`;
    const how = config.lora
      ? `LoRA r ${config.lora.r}, ${millions(plan.trainable)} trained`
      : "all trained";
    const rewards = config.rewards.map(({ name, weight, params }) =>
      name + (params["binary"] ? " (binary)" : "") + (weight === 1 ? "" : ` × ${weight}`)
    );
    const task = problemsText(data);
    const settings = Object.entries(data.task_config).map(([k, v]) => `${k} ${JSON.stringify(v)}`);
    if (config.curriculum !== null) settings.push("with a curriculum");
    if (plan.fileHeldOut !== null) {
      settings.push(`${plan.trainProblems} to train on, ${plan.fileHeldOut || "none"} held out`);
    }
    const row = (name: string, value: string | null): [string, string][] =>
      value === null ? [] : [[name, value]];
    const rows: [string, string][] = [
      ["model", `${from}, ${how}`],
      ...row("context", this.context),
      ...row("task", task === "" ? null : [task, ...settings].join(", ")),
      ...row("dialogue", dialogueText(config)),
      ...row("files", plan.files.length > 0 ? filesText(plan.files) : null),
      ...row("prompts", task === "" ? null : promptsText(data, plan.chatTemplate)),
      ...row("rewards", rewards.length > 0 ? rewards.join(", ") : null),
      ["device", describeDevice(device)],
      ...row("memory", memory && memoryText(memory)),
      ["output", plan.outputDir],
      ...more,
    ];
    const steps: string[] = [];
    const kind = this.config.dpo === null ? "supervised step" : "DPO step";
    if (plan.warmStartSteps > 0) steps.push(counted(plan.warmStartSteps, kind));
    if (plan.heldOut > 0) steps.push(`evaluation on ${heldOutText(plan)}`);
    if (plan.phases === "sft") steps.reverse();
    else steps.push(grpoText(plan, "GRPO step"));
    if (plan.heldOut > 0) steps.push("the same evaluation again");
    rows.push(["plan", steps.join(", ")]);
    if (this.time !== null && !plan.resumedFrom) rows.push(["time", runTimeText(this.time)]);
    if (this.secondsLeft !== null) {
      rows.push(["job", `ends in ${duration(this.secondsLeft)}; a checkpoint is written before`]);
    }
    if (plan.resumedFrom) {
      const done = plan.phases === "sft"
        ? `${plan.warmStartDone} of ${plan.warmStartSteps}`
        : `${plan.stepsDone} of ${plan.steps}`;
      rows.push(["resuming", `${plan.resumedFrom} (step ${done})`]);
    }
    for (const [name, value] of rows) {
      wrap(value, breakWidth("stderr") - 10).forEach((line, i) => {
        log(`${paint("cyan", (i === 0 ? name : "").padEnd(9))} ${line}`);
      });
    }
  }

  /** Shows an observation and what to try, one line each, for copying. */
  #showAdvice({ text, tries }: Advice, step: number): void {
    this.#printWrapped(labelled("yellow", "advice:", `${text} (step ${step})`));
    tries.forEach((key, i) => this.#print(`  ${i === 0 ? "try" : " or"} ${key}`));
  }

  /** Warns if the job will end before the run. */
  #warnOfTime(plan: TrainPlan): void {
    if (this.secondsLeft === null || this.time === null) return;
    const { stepsDone, steps, warmStartDone, warmStartSteps } = plan;
    const done = plan.phases === "sft" ? warmStartDone / warmStartSteps : stepsDone / steps;
    const needed = this.time.seconds * (1 - done);
    if (needed <= usableSeconds(this.secondsLeft)) return;
    this.#warn(
      `the run takes about ${duration(needed)}, the job ends in ` +
        `${
          duration(this.secondsLeft)
        }: it will save, end with exit code 75, and go on with --resume`,
    );
  }

  #phaseTitle(phase: string): string | null {
    const plan = this.#plan!;
    switch (phase) {
      case "warm_start":
        if (this.config.dpo !== null) {
          return `Preferences: ${
            counted(plan.warmStartSteps, "step")
          }, loss ${this.config.dpo.loss_type}`;
        }
        return `${plan.phases === "sft" ? "Supervised" : "Warm start"}: ${
          counted(plan.warmStartSteps, "supervised step")
        } on worked answers`;
      case "eval_before":
        return `Before: ${counted(plan.heldOut, "problem")} that it will not be trained on`;
      case "grpo":
        return `GRPO: ${grpoText(plan, "step")}`;
      case "eval_after":
        return plan.heldOutChanged
          ? `After: ${counted(plan.heldOut, "problem")}, other problems than those held out before`
          : `After: the same problem${plan.heldOut === 1 ? "" : "s"}`;
      default:
        return null;
    }
  }

  #step(event: Extract<TrainEvent, { type: "step" }>): void {
    const { metrics, step, totalSteps, tokens } = event, recent = this.#recent;
    // Counts generated tokens in GRPO. If a generation serves several steps, the other steps
    // generate no tokens, so trained tokens are counted.
    const everyStep = (this.#plan?.stepsPerGeneration ?? 1) <= 1;
    recent.tokens += event.phase === "grpo" && everyStep ? tokens.generated : tokens.trained;
    recent.averager.add(metrics);
    const now = performance.now();
    this.#left = duration(this.#timeLeft.step(totalSteps - step, now));
    const rate = recent.tokens / Math.max(1e-3, (now - recent.since) / 1000);
    const parts = [`  step ${step}/${totalSteps}`], means = recent.averager.means();
    const [name, digits] = event.phase === "grpo" ? ["reward", 3] as const : ["loss", 4] as const;
    if (name in means) parts.push(`${name} ${means[name]?.toFixed(digits) ?? "–"}`);
    parts.push(`${Math.round(rate)} tokens/s`);
    parts.push(`${this.#left} left`);
    const others = otherWorkText(this.#others.current());
    if (others !== null) parts.push(others);
    // Memory of tensors, and of the whole process.
    const { "memory/peak_bytes": tensors, "memory/host_bytes": host } = metrics;
    if (event.phase === "grpo" && typeof tensors === "number" && typeof host === "number") {
      parts.push(bytesOf(tensors, host));
    }
    while (parts.length > FIXED_PARTS && textWidth(parts.join("  ")) > columns()) parts.pop();
    const every = this.#loggingSteps(totalSteps);
    const due = step % every === 0 || step === totalSteps;
    if (due && event.phase === "warm_start") this.#logLines(step, totalSteps, means);
    this.#line.show(() => [parts.join("  ")], step === totalSteps);
    if (due) this.#resetRecent();
  }

  #linesOf(phase: TrainPhase): MetricLines | null {
    if (phase !== "warm_start" && phase !== "grpo") return null;
    const chosen = this.options.logMetrics ?? (this.options.verbose ? "all" : null);
    return new MetricLines(this.config, phase, chosen, (message) => this.#warn(message));
  }

  #logLines(step: number, totalSteps: number, metrics: Metrics): void {
    const lines = this.#metricLines?.lines(step, totalSteps, metrics, this.#left) ?? [];
    for (const line of lines) this.#printWrapped(line);
  }

  #warn(message: string): void {
    this.#printWrapped(labelled("yellow", "warning:", message));
  }

  #loggingSteps(totalSteps: number): number {
    return stepInterval(this.config.training.logging_steps, totalSteps);
  }

  #heldOut(event: Extract<TrainEvent, { type: "held_out" }>): void {
    const { step, metrics, ci95, improved } = event;
    const right = metrics["eval_rewards/accuracies"],
      fixed = (name: string) => metrics[`eval_${name}`]?.toFixed(3);
    if (right !== undefined) {
      const accuracy = accuracyText({ accuracy: right ?? NaN, ci95 });
      const rest = `margin ${fixed("rewards/margins")}   loss ${fixed("loss")}`;
      return this.#print(`  step ${step}: held-out pairs ${accuracy}   ${rest}`);
    }
    const accuracy = accuracyText({ accuracy: metrics["eval_accuracy"] ?? NaN, ci95 });
    const reward = metrics["eval_reward"]?.toFixed(3) ?? "–";
    const best = improved ? "   best so far" : "";
    this.#print(`  step ${step}: held-out accuracy ${accuracy}   reward ${reward}${best}`);
  }

  #sample(event: Extract<TrainEvent, { type: "sample" }>): void {
    const count = this.config.training.num_completions_to_print ?? Infinity;
    // A sample every few logging steps is enough to see what the model does.
    const every = this.#loggingSteps(this.#plan!.steps);
    if (count <= 0 || (event.step % (5 * every) !== 0 && event.step !== every)) return;
    for (const line of sampleLines(event, count, columns())) this.#print(paint("dim", line));
    this.#metricLines?.repeatHeading();
  }

  #done(summary: TrainSummary): void {
    this.#line.clear();
    for (const line of summaryTable(summary, this.config, this.#plan!)) {
      for (const part of broken("stderr", line)) log(part);
    }
  }

  #print(text: string): void {
    this.#line.say(text);
  }

  /** Wraps a text on a terminal. In a file a line stays one line, so that it can be parsed. */
  #printWrapped(text: string): void {
    for (const line of broken("stderr", text)) this.#print(line);
  }

  #resetRecent(): void {
    const averager = new MetricAverager({}, unfiltered(this.config.training));
    this.#recent = { averager, tokens: 0, since: performance.now() };
  }

  #logJson(event: TrainEvent): void {
    if (event.type === "log") log(JSON.stringify({ step: event.step, ...event.metrics }));
    else if (!UNLOGGED.has(event.type)) log(JSON.stringify(event));
  }
}
