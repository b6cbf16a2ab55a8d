/**
 * The progress of a training run on stderr: first the plan and the estimated time; then a progress
 * line, which is redrawn on a terminal and written now and then elsewhere; samples of a prompt with
 * completions, rewards and advantages; at the end the table of held-out results and what to try
 * next.
 */
import { bestMetric } from "../../configs/best_metric.ts";
import { stepInterval } from "../../configs/step_interval.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { duration } from "../../core/duration.ts";
import { OtherWorkMeter, otherWorkText } from "../../core/machine/other_work.ts";
import type { Device } from "../../kernels/device.ts";
import { describeDevice } from "../../kernels/mod.ts";
import type { Advice } from "../../training/diagnosis/finding.ts";
import type { TrainEvent, TrainPlan, TrainSummary } from "../../training/run/events.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import { bytesOf, dictLine, levelLine, problemsText, promptsText } from "./train_text.ts";
import { summaryTable } from "./train_summary.ts";
import { usableSeconds } from "../stop_control.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import { clip, columns, isInteractive, log, paint, wrap } from "../terminal/terminal.ts";

/** Maximum number of seconds without any output, when stderr is no terminal. */
const QUIET_SECONDS = 30;
/** Milliseconds between redraws of the progress line. */
const REDRAW_MS = 100;
/** Metrics in the line of each logging step. All others are in metrics.jsonl. */
const SHOWN = ["loss", "grad_norm", "learning_rate", "reward", "reward_std", "epoch"];

/** Events without a line of their own in `--log-format json`. */
const UNLOGGED: ReadonlySet<TrainEvent["type"]> = new Set([
  "step",
  "eval_progress",
  "sample",
  "completions",
]);

interface Options {
  quiet?: boolean;
  verbose?: boolean;
  logFormat: string;
}

export class TrainProgress {
  /** Shown in the header once it is known. */
  memory: MemoryPlan | null = null;
  /** The model's longest text and RoPE scaling; null without scaling. */
  context: string | null = null;
  estimatedSeconds: number | null = null;
  /** Seconds to the end of the job that the run is in. Null: no job, or its end is not known. */
  secondsLeft: number | null = null;
  readonly #live: boolean;
  readonly #json: boolean;
  #plan: TrainPlan | null = null;
  readonly #line = new RedrawnLines();
  readonly #others = new OtherWorkMeter();
  #lastDraw = 0;
  #lastPlain = performance.now();
  /** The current phase, its start time, and the step that it started from. */
  #phase = { name: "", begin: performance.now(), step: 0 };
  /** Sums since the last line. */
  #recent = { generations: 0, reward: 0, accuracy: 0, tokens: 0, since: performance.now() };

  constructor(
    private readonly config: RunConfig,
    private readonly device: Device,
    private readonly options: Options,
  ) {
    this.#live = isInteractive() && !options.quiet;
    this.#json = options.logFormat === "json";
  }

  on(event: TrainEvent): void {
    if (event.type === "warning") {
      this.#print(`${paint("yellow", "warning:")} ${event.message}`);
    } else if (!this.options.quiet) {
      if (this.#json) this.#logJson(event);
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
  ): void {
    this.#header(plan);
    log("");
    log(`sample prompt (${sample.tokens} tokens)`);
    for (const line of sample.prompt.split("\n")) log(`  ${line}`);
    const isFile = this.config.data.dataset_name !== null;
    const answer = sample.answer ?? (isFile ? "(none)" : "(any that the task accepts)");
    log(`  expected answer: ${answer.replaceAll("\n", "\n    ")}`);
    log("\ndry run: nothing was written");
    this.#warnOfTime(plan);
  }

  close(): void {
    this.#clear();
  }

  #show(event: TrainEvent): void {
    switch (event.type) {
      case "plan":
        this.#plan = event.plan;
        this.#header(event.plan);
        return;
      case "phase": {
        const plan = this.#plan!;
        const done = event.phase === "warm_start" ? plan.warmStartDone : plan.stepsDone;
        this.#phase = { name: event.phase, begin: performance.now(), step: done };
        this.#resetRecent();
        const title = this.#phaseTitle(event.phase);
        if (title) this.#print(`\n${paint("bold", title)}`);
        return;
      }
      case "step":
        return this.#step(event);
      case "log":
        return this.#printWrapped(dictLine(event.metrics, this.options.verbose ? null : SHOWN));
      case "sample":
        return this.#sample(event);
      case "eval_progress":
        return this.#progress(
          `  held-out ${event.done}/${event.total}`,
          event.done === event.total,
        );
      case "eval":
        return this.#print(
          `  sampled ${percent(event.result)}   greedy ${percent(event.result.greedy)}   ` +
            `answer format ${(100 * event.result.format_rate).toFixed(1)} %`,
        );
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

  #header(plan: TrainPlan): void {
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
    const rows: [string, string][] = [
      ["model", `${from}, ${how}`],
      ...(this.context === null ? [] : [["context", this.context] as [string, string]]),
      ["task", [task, ...settings].join(", ")],
      ["prompts", promptsText(data)],
      ...(rewards.length > 0 ? [["rewards", rewards.join(", ")] as [string, string]] : []),
      ["device", describeDevice(device)],
    ];
    if (memory) {
      const of = Number.isFinite(memory.available) ? ` of ${bytesText(memory.available)}` : "";
      rows.push(["memory", `${bytesText(memory.peak)} planned${of}`]);
    }
    rows.push(["output", plan.outputDir]);
    const steps: string[] = [];
    if (plan.warmStartSteps > 0) steps.push(`${plan.warmStartSteps} supervised steps`);
    if (plan.heldOut > 0) steps.push(`evaluation on ${plan.heldOut} held-out problems`);
    if (plan.phases === "sft") steps.reverse();
    else steps.push(grpoText(plan, "GRPO steps"));
    if (plan.heldOut > 0) steps.push("the same evaluation again");
    rows.push(["plan", steps.join(", ")]);
    if (this.estimatedSeconds !== null && !plan.resumedFrom) {
      rows.push(["time", `about ${duration(this.estimatedSeconds)} on this machine`]);
    }
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
      wrap(value, columns() - 10).forEach((line, i) => {
        log(`${paint("cyan", (i === 0 ? name : "").padEnd(9))} ${line}`);
      });
    }
  }

  /** Shows an observation and what to try, one line each, for copying. */
  #showAdvice({ text, tries }: Advice, step: number): void {
    this.#printWrapped(`${paint("yellow", "advice:")} ${text} (step ${step})`);
    tries.forEach((key, i) => this.#print(`  ${i === 0 ? "try" : " or"} ${key}`));
  }

  /** Warns when the job ends before the run does. */
  #warnOfTime(plan: TrainPlan): void {
    if (this.secondsLeft === null || this.estimatedSeconds === null) return;
    const { stepsDone, steps, warmStartDone, warmStartSteps } = plan;
    const done = plan.phases === "sft" ? warmStartDone / warmStartSteps : stepsDone / steps;
    const needed = this.estimatedSeconds * (1 - done);
    if (needed <= usableSeconds(this.secondsLeft)) return;
    this.#print(
      `${paint("yellow", "warning:")} the run takes about ${duration(needed)}, the job ends in ` +
        `${
          duration(this.secondsLeft)
        }: it will save, end with exit code 75, and go on with --resume`,
    );
  }

  #phaseTitle(phase: string): string | null {
    const plan = this.#plan!;
    switch (phase) {
      case "warm_start":
        return `${
          plan.phases === "sft" ? "Supervised" : "Warm start"
        }: ${plan.warmStartSteps} supervised steps on worked answers`;
      case "eval_before":
        return `Before: ${plan.heldOut} problems that it will not be trained on`;
      case "grpo":
        return `GRPO: ${grpoText(plan, "steps")}`;
      case "eval_after":
        return plan.heldOutChanged
          ? `After: ${plan.heldOut} problems, others than were held out before`
          : "After: the same problems";
      default:
        return null;
    }
  }

  #step(event: Extract<TrainEvent, { type: "step" }>): void {
    const { metrics, step, totalSteps, tokens } = event, recent = this.#recent;
    // Counts generated tokens in GRPO. If a generation serves several steps, the others generate
    // none, so trained tokens are counted.
    const everyStep = (this.#plan?.stepsPerGeneration ?? 1) <= 1;
    recent.tokens += event.phase === "grpo" && everyStep ? tokens.generated : tokens.trained;
    if (typeof metrics["reward"] === "number") {
      recent.generations++;
      recent.reward += metrics["reward"];
      recent.accuracy += metrics["rewards/correctness/mean"] ?? NaN;
    }
    const now = performance.now();
    const perStep = (now - this.#phase.begin) / Math.max(1, step - this.#phase.step);
    const left = duration(perStep * (totalSteps - step) / 1000);
    const rate = recent.tokens / Math.max(1e-3, (now - recent.since) / 1000);
    const parts = [`  step ${step}/${totalSteps}`];
    if (event.phase === "grpo") {
      if (recent.generations > 0) {
        parts.push(`reward ${(recent.reward / recent.generations).toFixed(3)}`);
      } else if (metrics["reward"] === null) parts.push("reward –");
      const accuracy = recent.accuracy / recent.generations;
      const isReward = Math.abs(recent.reward - recent.accuracy) < 1e-9 * recent.generations;
      if (!Number.isNaN(accuracy) && !isReward) {
        parts.push(`correct ${(100 * accuracy).toFixed(1)} %`);
      }
    } else parts.push(`loss ${metrics["loss"]?.toFixed(4)}`);
    parts.push(`${Math.round(rate)} tokens/s`);
    parts.push(`${left} left`);
    const others = otherWorkText(this.#others.current());
    if (others !== null) parts.push(others);
    // Memory of tensors, and of the whole process.
    const { "memory/peak_bytes": tensors, "memory/host_bytes": host } = metrics;
    if (typeof tensors === "number" && typeof host === "number") {
      parts.push(bytesOf(tensors, host));
    }
    const every = this.#loggingSteps(totalSteps);
    const due = step % every === 0 || step === totalSteps;
    this.#progress(parts.join("  "), due);
    if (due) this.#resetRecent();
  }

  #loggingSteps(totalSteps: number): number {
    return stepInterval(this.config.training.logging_steps, totalSteps);
  }

  #heldOut(event: Extract<TrainEvent, { type: "held_out" }>): void {
    const { step, metrics, ci95, improved } = event;
    const accuracy = percent({ accuracy: metrics["eval_accuracy"] ?? NaN, ci95 });
    const reward = metrics["eval_reward"]?.toFixed(3) ?? "–";
    const best = improved ? "   best so far" : "";
    this.#print(`  step ${step}: held-out accuracy ${accuracy}   reward ${reward}${best}`);
  }

  #sample(event: Extract<TrainEvent, { type: "sample" }>): void {
    const count = this.config.training.num_completions_to_print;
    // A sample every few logging steps is enough to see what the model does.
    const every = this.#loggingSteps(this.#plan!.steps);
    if (count <= 0 || (event.step % (5 * every) !== 0 && event.step !== every)) return;
    const width = columns();
    this.#print(paint("dim", clip(`  prompt: ${oneLine(event.prompt)}`, width)));
    const shown = bestAndWorst(event.completions, count);
    for (const { text, rewards, advantage } of shown) {
      const values = rewards.map((r) => r === null ? "–" : r.toFixed(2)).join(" ");
      const sign = advantage < 0 ? "−" : "+";
      const numbers = `  ${values}  ${sign}${Math.abs(advantage).toFixed(2)}  `;
      this.#print(paint("dim", clip(numbers + oneLine(text), width)));
    }
    const more = event.completions.length - shown.length;
    if (more > 0) {
      this.#print(
        paint("dim", `  … ${more} more (columns: ${event.rewardNames.join(", ")}, advantage)`),
      );
    }
  }

  #done(summary: TrainSummary): void {
    this.#clear();
    for (const line of summaryTable(summary, this.config, this.#plan!.phases)) {
      for (const part of this.#live ? wrap(line, columns()) : [line]) log(part);
    }
  }

  /**
   * Shows a progress text. On a terminal it is redrawn; elsewhere it is a line when due, or after a
   * silence.
   */
  #progress(text: string, due: boolean): void {
    const now = performance.now();
    if (this.#live) {
      if (due || now - this.#lastDraw >= REDRAW_MS) {
        this.#line.draw(text);
        this.#lastDraw = now;
      }
    } else if (due || now - this.#lastPlain > 1000 * QUIET_SECONDS) {
      log(text);
      this.#lastPlain = now;
    }
  }

  #print(text: string): void {
    this.#line.say(text);
    this.#lastPlain = performance.now();
  }

  /** Wraps a text on a terminal. In a file a line stays one line, so that it can be parsed. */
  #printWrapped(text: string): void {
    for (const line of this.#live ? wrap(text, columns()) : [text]) this.#print(line);
  }

  #clear(): void {
    this.#line.clear();
  }

  #resetRecent(): void {
    this.#recent = { generations: 0, reward: 0, accuracy: 0, tokens: 0, since: performance.now() };
  }

  #logJson(event: TrainEvent): void {
    if (event.type === "log") log(JSON.stringify({ step: event.step, ...event.metrics }));
    else if (!UNLOGGED.has(event.type)) log(JSON.stringify(event));
  }
}

/** "50 GRPO steps of 4 prompts × 8", or with the number of steps that each generation serves. */
function grpoText(plan: TrainPlan, noun: string): string {
  const { steps, promptsPerGeneration, numGenerations, stepsPerGeneration: each } = plan;
  const prompts = promptsPerGeneration === 1 ? "prompt" : "prompts";
  const size = `${promptsPerGeneration} ${prompts} × ${numGenerations}`;
  const what = `${steps} ${steps === 1 ? noun.replace(/s$/, "") : noun}`;
  if (each === 1) return `${what} of ${size}`;
  return `${what}, ` +
    (each > 1
      ? `${each} on each generation of ${size}`
      : `${1 / each} generations of ${size} each`);
}

function percent({ accuracy, ci95 }: { accuracy: number; ci95: readonly number[] }): string {
  const p = (x: number) => (100 * x).toFixed(1);
  return `${p(accuracy)} % [${p(ci95[0]!)}, ${p(ci95[1]!)}]`;
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

const oneLine = (text: string) => text.replaceAll("\n", "⏎");
