/** The adapter that a run began with, to compare the trained one with. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { findModel } from "../../hub/find_model.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { isAdapterFolder } from "../../models/network/adapters/peft_adapter.ts";

/**
 * The adapter that a run trained further; null: it began with a new one, or that one is gone.
 * @param weights the real path of the run's base model
 */
export async function continuedAdapter(
  { model }: RunConfig,
  weights: string,
): Promise<{ name: string; path: string } | null> {
  const name = model.adapter_name_or_path ?? model.model_name_or_path;
  const found = name === null ? null : (await findModel(name)).path;
  if (name === null || found === null || !await isAdapterFolder(found)) return null;
  const path = Deno.realPathSync(found);
  // It may have been trained on another base first.
  const base = await readModelFolder(path).then((folder) => folder.path, () => null);
  return base !== null && Deno.realPathSync(base) === weights ? { name, path } : null;
}
