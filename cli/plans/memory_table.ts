/**
 * The memory plan that `--dry-run` shows: one line per part, with the alternatives, and the sum.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import type { ShapePlan } from "../../training/memory/shape_plan.ts";
import { table } from "../terminal/terminal.ts";

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
