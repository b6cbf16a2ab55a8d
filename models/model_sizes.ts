/** What of a model decides its memory and the copies that pay; computed before the model exists. */
import type { DropoutShape } from "./dropout.ts";
import { linearDims, modulesOf } from "./architectures/mod.ts";
import { type LoraPlacement, placeLora } from "./llama_weights.ts";
import { checkLoraOptions, type LoraOptions } from "./lora.ts";
import type { LlamaConfig } from "./types.ts";

export interface ModelSizes {
  config: LlamaConfig;
  lora: readonly LoraPlacement[];
  trainable: "lora" | "full" | "none";
  recompute: boolean;
  /** Of the adapters; null = none. */
  dropout: DropoutShape | null;
  /** Bytes of a float: 4, or 8 on an f64 device. */
  floatBytes: number;
}

/**
 * Sizes of a model that need not exist yet.
 * @throws UsageError for LoRA options that cannot be honoured
 */
export function modelSizes(
  config: LlamaConfig,
  options: { lora?: LoraOptions; trainable: "lora" | "full" | "none"; recompute?: boolean },
  floatBytes = 4,
): ModelSizes {
  const { lora, trainable, recompute = false } = options;
  if (lora !== undefined) checkLoraOptions(lora, modulesOf(config));
  const placed = lora === undefined ? [] : placeLora(config, lora);
  const width = Math.max(0, ...placed.map(({ module }) => linearDims(config, module)[0]));
  const p = lora?.dropout ?? 0, dropout = p === 0 ? null : { p, width };
  return { config, lora: placed, trainable, recompute, dropout, floatBytes };
}
