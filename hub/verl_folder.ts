/** The model in a checkpoint of verl, which writes folders below that of a step. */
import { readdirSync } from "node:fs";
import { isFile } from "../core/paths.ts";

/** Where verl puts a Hugging Face model, below `global_step_N` or below its `actor`. */
const BELOW = ["huggingface", "actor/huggingface", "actor"];

/**
 * The folder with a model's configuration and weights, below a folder of a checkpoint. Null if verl
 * wrote no such folder; the weights are then in the parts of verl's processes.
 */
export async function modelInVerlFolder(folder: string): Promise<string | null> {
  if (await isFile(`${folder}/config.json`)) return null;
  for (const below of BELOW) {
    const place = `${folder}/${below}`;
    if (!await isFile(`${place}/config.json`)) continue;
    if (readdirSync(place).some((name) => /\.(safetensors|bin)$/.test(name))) return place;
  }
  return null;
}

/** Whether a folder is that of a step or of its `actor`. */
export async function isVerlFolder(folder: string): Promise<boolean> {
  return /(?:^|\/)actor\/*$/.test(folder) || await modelInVerlFolder(folder) !== null;
}
