/**
 * How a run's configuration wants frozen weights to be held: section `model` in the words of
 * models/.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";

export function storageOptions(
  { dtype, load_in_4bit: four, load_in_8bit: eight }: RunConfig["model"],
): StorageOptions {
  return { dtype, quantize: four ? "nf4" : eight ? "int8" : null };
}
