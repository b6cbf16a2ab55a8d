/**
 * Plans of a run as text and as JSON: its memory part by part, its time, and both on a card of
 * another machine (`--gpu`, `--device-memory`).
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { duration } from "../../core/duration.ts";
import { UsageError } from "../../core/errors.ts";
import {
  cpuTimes,
  type OtherWork,
  otherWork,
  otherWorkText,
} from "../../core/machine/other_work.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import {
  BANDWIDTH_SHARE,
  type CardMemory,
  type CardPlan,
  type CardTime,
  PRODUCT_SHARE,
} from "../../training/card/card_plan.ts";
import { cardDevice, type PlanCard, planCard, usableBytes } from "../../training/card/plan_card.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import type { ShapePlan } from "../../training/memory/shape_plan.ts";
import { diskText } from "../../training/run/disk_plan.ts";
import type { CARD } from "../flag_tables.ts";
import type { Flags } from "../flags.ts";
import { paragraph, table } from "../terminal/terminal.ts";

/** The planned memory, the available memory, and its limit: "243 MB planned of 4.30 GB: …". */
export function memoryText({ peak, available, limit }: MemoryPlan): string {
  const of = Number.isFinite(available) ? ` of ${bytesText(available)}${limitText(limit)}` : "";
  return `${bytesText(peak)} planned${of}`;
}

function limitText(limit: string | null): string {
  return limit === null ? "" : `: ${limit}`;
}

export function memoryTable({ parts, peak, available, limit }: MemoryPlan): string {
  const { otherwise, kept } = parts, again = kept.recompute;
  const rows: [part: string, bytes: number, note: string][] = [
    ["weights", parts.frozen, `not trained, in ${parts.frozenTypes.join(" and ")}`],
    ["trained values", parts.trained, `in ${kept.trained.join(" and ")}`],
    ["gradients", parts.gradients, ""],
    ["optimizer", parts.optimizer, optimizerNote(kept)],
    ["reference", parts.reference, `a copy for the KL term, in ${kept.reference.join(" and ")}`],
    ["teacher", parts.teacher, "its weights"],
    ["packed weights", parts.packed, "copies for generation"],
    ["KV cache", parts.caches, "largest wave of generation"],
    ["other inference", parts.inference, "passes without gradient, logits of the next token"],
    [
      "activations",
      parts.activations,
      again
        ? `computed again in the backward; all kept: ${bytesText(otherwise.kept)}`
        : `all kept; computed again: ${bytesText(otherwise.recomputed)}`,
    ],
    ["of sampling", parts.sampled, "activations that the training pass takes"],
    ["head", parts.head, `in chunks; all logits at once: ${bytesText(otherwise.allLogits)}`],
    ["one operation", parts.panels, "its scratch: packed operands, sums in parts"],
    ["other training", parts.scratch, "backward's scratch, merged weights"],
    ["checkpoint", parts.checkpoint, "while one is written, tensor by tensor"],
  ];
  const of = Number.isFinite(available) ? `of ${bytesText(available)}${limitText(limit)}` : "";
  return table([
    ["memory plan", "", ""],
    ...rows.filter(([, bytes]) => bytes > 0)
      .map(([part, bytes, note]) => [`  ${part}`, bytesText(bytes), note]),
    ["  together", bytesText(peak), of],
  ]);
}

function optimizerNote({ trained, optimizer, shards }: MemoryPlan["parts"]["kept"]): string {
  const { moments, rounding } = optimizer;
  const bits = moments === "8bit" ? ", in 8 bits (those of embeddings in floats)" : "";
  const rest = trained.includes("bf16") && rounding === "kahan" ? ", and Kahan's compensation" : "";
  const part = shards === 1 ? "" : `; this rank's part of ${shards}`;
  return `AdamW's two moments${bits}${rest}${part}`;
}

/** The plan of a model that is not on this machine. */
export function shapePlanText(plan: ShapePlan, { training }: RunConfig): string {
  const millions = (plan.parameters / 1e6).toFixed(1);
  const { longest: { prompt }, estimated } = plan.tokens;
  const context = contextText(plan.sizes.config);
  const tokens = `${estimated ? "about " : ""}${prompt}`;
  return [
    `${plan.name}: not on this machine; planned from its sizes, ${millions} M parameters`,
    `longest prompt ${tokens} tokens${estimated ? " (estimated: no tokenizer)" : ""}, ` +
    `completions up to ${training.max_completion_length}`,
    ...(context === null ? [] : [context]),
    "",
    memoryTable(plan.memory),
    ...(plan.memory.peak > plan.memory.available
      ? ["--gpu NAME plans for a graphics card, which need not be on this machine"]
      : []),
    "",
    "dry run: nothing was written",
  ].join("\n");
}

export interface RunTime {
  seconds: number;
  /** Null when the share of other programs is not known. */
  others: OtherWork | null;
  /** Whether the time was counted from the speed of a few operations, not measured. */
  isRough?: boolean;
}

/** @param estimate measures a part of the run, and returns the seconds of all of it */
export async function measuredRunTime(estimate: () => Promise<number>): Promise<RunTime> {
  const before = cpuTimes();
  const seconds = await estimate();
  return { seconds, others: otherWork(before, cpuTimes()) };
}

/** For example "about 7 min 39 s while others use 63 % of this machine". */
export function runTimeText({ seconds, others, isRough = false }: RunTime): string {
  if (isRough) return `roughly ${duration(seconds)} on this machine; --measure takes real steps`;
  const busy = otherWorkText(others);
  return `about ${duration(seconds)} ${busy === null ? "on this machine" : `while ${busy}`}`;
}

/** The time that a run still takes, by the time of its steps so far. */
export class TimeLeft {
  #phase = "";
  #begin = 0;
  /** When each step of the phase ended, in milliseconds. */
  #ends: number[] = [];
  /** Milliseconds of the evaluation before the training; the one after it takes as long. */
  #evaluation = 0;

  /** @param now in milliseconds */
  phase(name: string, now: number): void {
    if (this.#phase === "eval_before") this.#evaluation = now - this.#begin;
    this.#phase = name;
    this.#begin = now;
    this.#ends = [now];
  }

  /**
   * Seconds after a step. Only the later half of the steps counts: the first ones compile kernels
   * and start the processes of rewards, and completions change their lengths while a model learns.
   * @param stepsLeft number of steps that the phase has left
   */
  step(stepsLeft: number, now: number): number {
    this.#ends.push(now);
    const from = this.#ends.length >> 1;
    const perStep = (now - this.#ends[from - 1]!) / (this.#ends.length - from);
    const after = this.#phase === "grpo" ? this.#evaluation : 0;
    return (perStep * stepsLeft + after) / 1000;
  }
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** The model, the card and the memory part by part; also of a plan that does not fit. */
export function cardMemoryText(plan: CardMemory, { training }: RunConfig): string {
  const { name, isHere, parameters, prompt, estimated, memory } = plan;
  const where = isHere ? "" : ": its weights are not on this machine; planned from its sizes";
  const note = estimated ? " (estimated: no tokenizer)" : "";
  const { bytes, what } = memory.largestBuffer;
  return [
    `${name ?? "a model from a seed"}${where}, ${(parameters / 1e6).toFixed(1)} M parameters`,
    `longest prompt ${estimated ? "about " : ""}${prompt} tokens${note}, completions up to ` +
    `${training.max_completion_length}`,
    ...(plan.context === null ? [] : [plan.context]),
    paragraph(`planned for ${cardText(plan.card)}`),
    "",
    memoryTable(memory),
    `largest buffer: ${bytesText(bytes)} of ${
      bytesText(cardDevice(plan.card).largestTensor ?? Infinity)
    } (${what})`,
  ].join("\n");
}

function cardText(card: PlanCard): string {
  const usable = `${bytesText(usableBytes(card))} of its memory usable`, { figures } = card;
  if (figures === null) return `${card.name}, ${usable}`;
  const tflops = Number((figures.flops / 1e12).toPrecision(4));
  return `${card.name}: ${usable}, ${tflops} TFLOP/s in f32, ${bytesText(figures.bandwidth)}/s`;
}

export async function cardVerdictText({ card, memory, time, disk }: CardPlan): Promise<string> {
  const spare = bytesText(memory.available - memory.peak);
  const { key, now, largest } = await memory.largestBatch();
  const lines = [
    `fits, with ${spare} to spare`,
    `largest batch that fits: ${key}=${largest} (now ${now})`,
    ...(disk === null ? [] : [paragraph(`on the disk ${diskText(disk)}`)]),
    "",
  ];
  if (time !== null) return [...lines, timeTable(time)].join("\n");
  const why = card.figures === null
    ? "--gpu NAME instead of --device-memory also estimates the time"
    : "the time is not known: the number of problems is not, without the data set";
  return [...lines, why].join("\n");
}

/** "0.12 s", "3.4 s", "2 min 5 s". */
export function seconds(value: number): string {
  return value < 10 ? `${Number(value.toPrecision(2))} s` : duration(value);
}

function timeTable(time: CardTime): string {
  const tokens = Math.round(time.completionTokens);
  const rows: [part: string, value: number, note: string][] = [
    [
      "generation",
      time.generation,
      `${time.lanes} completions at a time, ${tokens} tokens each (assumed; at most ` +
      `${time.maxTokens})`,
    ],
    ["training", time.training, "forward and backward passes"],
    ["update", time.update, "AdamW"],
  ];
  const perStep = time.steps === 0 ? [] : [
    ["time of a step", "", ""],
    ...rows.map(([part, value, note]) => [`  ${part}`, seconds(value), note]),
    [
      "  together",
      seconds(time.step),
      `${seconds(time.longestStep)} if all completions are longest`,
    ],
  ];
  const others: [part: string, value: number, note: string][] = [
    ["weights to the card", time.upload, "over its bus, beside reading the files"],
    ["warm start", time.warmStart, ""],
    [`${time.steps} steps`, time.steps * time.step, ""],
    ["evaluations", time.evaluations, ""],
  ];
  return [
    table([
      ...perStep,
      ["time of the run", "", ""],
      ...others.filter(([, value]) => value > 0)
        .map(([part, value, note]) => [`  ${part}`, seconds(value), note]),
      ["  together", seconds(time.run), ""],
    ]),
    paragraph(
      "An estimate from the data sheet, not measured on a card: products at " +
        `${percent(PRODUCT_SHARE)} of the f32 peak, decoding at ${percent(BANDWIDTH_SHARE)} of ` +
        "the bandwidth (docs/cluster.md has the formulas).",
    ),
  ].join("\n");
}

/** The fields of a plan in the JSON documents of `rgx train --dry-run` and `rgx doctor`. */
export async function cardPlanJson({ time, disk, ...plan }: CardPlan) {
  return {
    ...await cardMemoryJson(plan),
    disk_planned_bytes: disk?.total ?? null,
    estimated_seconds: time?.run ?? null,
    estimated_seconds_per_step: time?.step ?? null,
    time: time === null ? null : {
      completion_tokens: time.completionTokens,
      completions_at_once: time.lanes,
      generation: time.generation,
      training: time.training,
      update: time.update,
      longest_step: time.longestStep,
      steps: time.steps,
      warm_start: time.warmStart,
      evaluations: time.evaluations,
      upload: time.upload,
    },
  };
}

/** The fields of a plan that does not fit on the card. */
export async function cardMemoryJson({ card, memory, ...plan }: CardMemory) {
  const { parts, largestBuffer } = memory, largest = await memory.largestBatch();
  return {
    card: {
      id: card.figures?.id ?? null,
      name: card.name,
      memory_bytes: card.memory,
      usable_bytes: usableBytes(card),
      flops: card.figures?.flops ?? null,
      bandwidth: card.figures?.bandwidth ?? null,
      bus: card.figures?.bus ?? null,
    },
    model: plan.name,
    weights_here: plan.isHere,
    parameters: plan.parameters,
    longest_prompt: plan.prompt,
    prompt_is_estimated: plan.estimated,
    context: plan.context,
    memory_planned_bytes: memory.peak,
    memory_available_bytes: memory.available,
    memory_parts_bytes: {
      weights: parts.frozen,
      trained_values: parts.trained,
      gradients: parts.gradients,
      optimizer: parts.optimizer,
      reference: parts.reference,
      packed_weights: parts.packed,
      kv_cache: parts.caches,
      other_inference: parts.inference,
      activations: parts.activations,
      head: parts.head,
      other_training: parts.scratch + parts.panels,
      checkpoint: parts.checkpoint,
    },
    largest_buffer_bytes: largestBuffer.bytes,
    largest_batch: { key: largest.key, value: largest.largest },
  };
}

/**
 * The card that the flags name; null when there are none.
 * @param plans whether the command only plans; `planFlag` makes it do so
 * @throws UsageError for flags that do not go together, and for unknown cards
 */
export function cardFromFlags(
  { gpu, deviceMemory, device }: Flags<typeof CARD> & { device?: string },
  { plans, planFlag }: { plans: boolean; planFlag: string },
): PlanCard | null {
  if (gpu === undefined && deviceMemory === undefined) return null;
  const flag = gpu === undefined ? "--device-memory" : "--gpu";
  if (gpu !== undefined && deviceMemory !== undefined) {
    throw new UsageError("--gpu and --device-memory: give one of them", {
      advice: "--gpu knows the memory of its card; --device-memory is for cards that it does not.",
    });
  }
  const card = gpu !== undefined ? planCard({ gpu }) : planCard({ deviceMemory: deviceMemory! });
  if (!plans) {
    throw new UsageError(`${flag} ${gpu ?? deviceMemory}: only a plan can be for another card`, {
      advice: `Add ${planFlag}. A run uses the card that it finds (rgx doctor shows it).`,
    });
  }
  if (device !== undefined && device !== "auto" && !/^(webgpu|vulkan)(:|$)/.test(device)) {
    throw new UsageError(`${flag} plans for a graphics card, and --device ${device} is none`, {
      advice: `Leave one of them out; ${flag} goes with --device webgpu.`,
    });
  }
  return card;
}
