/** How the reference of the KL term is stored when the policy is trained in full. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import {
  ALL_FLOAT,
  type WeightStorage,
  type WeightType,
} from "../../models/formats/stored_weight.ts";
import { copyStorage } from "../../models/network/weights/weight_storage.ts";

/**
 * Halves where the values at the beginning of GRPO are halves: those of the model's file, and those
 * of weights that are trained as halves. A warm start makes floats of the former.
 * @param storage of the trained model
 */
export function referenceStorage(
  { lora, sft, training }: RunConfig,
  model: ModelConfig,
  storage: WeightStorage,
  fileType: (name: string) => WeightType | null,
): WeightStorage {
  if (lora !== null || training.sync_ref_model) return ALL_FLOAT;
  const warmStart = sft !== null && sft.max_steps > 0;
  return copyStorage(model, storage, warmStart ? () => null : fileType);
}
