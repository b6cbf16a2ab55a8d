/** The plan of a run on a card of another machine, as text and as JSON. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { duration } from "../../core/duration.ts";
import {
  BANDWIDTH_SHARE,
  type CardMemory,
  type CardPlan,
  type CardTime,
  PRODUCT_SHARE,
} from "../../training/card/card_plan.ts";
import { cardDevice, type PlanCard, usableBytes } from "../../training/card/plan_card.ts";
import { diskText } from "../../training/run/disk_plan.ts";
import { paragraph, table } from "../terminal/terminal.ts";
import { memoryTable } from "./memory_table.ts";

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

/** The verdict, the largest batch and the times of a plan that fits. */
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
function seconds(value: number): string {
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
