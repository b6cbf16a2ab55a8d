/**
 * The newest checkpoint of a run that has no final model: one that goes on, or was stopped. Before
 * the first step of GRPO it is one of the warm start.
 */
import { exists, isAbsent } from "../core/paths.ts";

/** Files of which a model's folder has one. */
const MODEL_FILES = ["config.json", "adapter_config.json"];
/** Folders in a run that hold its checkpoints; the first that has any counts. */
const PLACES = ["", "/warm-start"];

/** Null for a folder that is a model itself, or holds no checkpoint, and for a file. */
export async function newestCheckpoint(folder: string): Promise<string | null> {
  if (await isModel(folder)) return null;
  const run = folder.replace(/(.)\/+$/, "$1");
  for (const place of PLACES) {
    for (const step of await stepsIn(run + place)) {
      const path = `${run}${place}/checkpoint-${step}`;
      if (await isModel(path)) return path;
    }
  }
  return null;
}

async function isModel(folder: string): Promise<boolean> {
  for (const name of MODEL_FILES) if (await exists(`${folder}/${name}`)) return true;
  return false;
}

/** The steps of the checkpoints in a folder, newest first. */
async function stepsIn(folder: string): Promise<number[]> {
  const steps: number[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      const match = /^checkpoint-(\d+)$/.exec(name);
      if (match !== null) steps.push(Number(match[1]));
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return steps.sort((a, b) => b - a);
}
