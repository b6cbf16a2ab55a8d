/**
 * The memory plan that `--dry-run` shows: one line per part, with the alternatives, and the sum.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import type { ShapePlan } from "../../training/memory/shape_plan.ts";
import { table } from "../terminal/terminal.ts";

export function memoryTable({ parts, peak, available }: MemoryPlan): string {
  const { otherwise } = parts, again = parts.activations === otherwise.recomputed;
  const rows: [part: string, bytes: number, note: string][] = [
    ["weights", parts.frozen, `not trained, in ${parts.frozenTypes.join(" and ")}`],
    ["trained values", parts.trained, ""],
    ["gradients", parts.gradients, ""],
    ["optimizer", parts.optimizer, "AdamW's two moments"],
    ["reference", parts.reference, "copies for the KL term"],
    ["packed weights", parts.packed, "for generation, adapters merged in"],
    ["KV cache", parts.caches, "largest wave of generation"],
    ["other inference", parts.inference, "passes without gradient, logits of the next token"],
    [
      "activations",
      parts.activations,
      again
        ? `computed again in the backward; all kept: ${bytesText(otherwise.kept)}`
        : `all kept; computed again: ${bytesText(otherwise.recomputed)}`,
    ],
    ["head", parts.head, `in chunks; all logits at once: ${bytesText(otherwise.allLogits)}`],
    ["other training", parts.scratch, "backward's scratch, merged weights"],
  ];
  const of = Number.isFinite(available) ? `of ${bytesText(available)}` : "";
  return table([
    ["memory plan", "", ""],
    ...rows.filter(([, bytes]) => bytes > 0)
      .map(([part, bytes, note]) => [`  ${part}`, bytesText(bytes), note]),
    ["  together", bytesText(peak), of],
  ]);
}

/** The plan of a model that is not on this machine. */
export function shapePlanText(plan: ShapePlan, { training }: RunConfig): string {
  const millions = (plan.parameters / 1e6).toFixed(1);
  const tokens = `${plan.estimated ? "about " : ""}${plan.prompt}`;
  return [
    `${plan.name}: not on this machine; planned from its sizes, ${millions} M parameters`,
    `longest prompt ${tokens} tokens${plan.estimated ? " (estimated: no tokenizer)" : ""}, ` +
    `completions up to ${training.max_completion_length}`,
    "",
    memoryTable(plan.memory),
    "",
    "dry run: nothing was written",
  ].join("\n");
}
