/**
 * How frozen weights are stored: section `model` of a configuration as options of `models/`.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";

export function storageOptions(
  { dtype, load_in_4bit: four, load_in_8bit: eight }: RunConfig["model"],
): StorageOptions {
  return { dtype, quantize: four ? "nf4" : eight ? "int8" : null };
}
