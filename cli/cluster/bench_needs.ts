/** What the job of a benchmark needs: whether its models and data sets are here, and its memory. */
import { isRemoteName, namedModel } from "../../core/remote/model_names.ts";
import { planModels } from "../../bench/plan/model_plan.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { exists } from "../../core/paths.ts";
import type { ProcessNeeds } from "../../cluster/header.ts";
import { needsCard } from "../../cluster/job_script.ts";
import { missingData, missingModel, type MissingPart } from "../plans/missing_parts.ts";
import {
  CORES_WITH_CARD,
  inFolder,
  type JobPlanOptions,
  MAX_CORES,
  noteOrThrow,
  PROGRAM_BYTES,
  PROGRAM_WITH_CARD_BYTES,
} from "./job_needs.ts";

/** With a card, weights pass through buffers of at most this size, two at a time. */
const STAGED_BYTES = 2 * 2 ** 32;
/** On the CPU: weights, copies of some of them in the layout of the kernels, keys and values. */
const MEMORY_PER_WEIGHT_BYTE = 2;

/**
 * Checks that the benchmark can start.
 * @param tasks as `rgx bench` takes them, one each
 * @param further flags of `rgx bench` after `--`
 * @returns null where nothing can be planned, since a model is still to be made, or is on a server
 * @throws RgxError that names what is not here and the commands that fetch it
 */
export async function planBench(
  models: readonly string[],
  tasks: readonly string[],
  further: readonly string[],
  options: JobPlanOptions,
  notes: string[],
): Promise<ProcessNeeds | null> {
  return await inFolder(options.workDir, async () => {
    const local = models.filter((name) => !isRemoteName(name));
    const missing: MissingPart[] = [];
    for (const { place: name } of local.map(namedModel)) {
      const isRun = await exists(`${name}/run.json`);
      const part = isRun ? null : await missingModel("--models", name, true);
      if (part !== null) missing.push(part);
    }
    for (const task of tasks) {
      const place = publishedPlace(task);
      const part = place === null ? null : await missingData("--tasks", task, place, "test");
      if (part !== null) missing.push(part);
    }
    if (missing.length > 0) noteOrThrow(missing, options, notes);
    if (local.length === 0 || missing.length > 0) return null;
    const planned = await planModels(local, {
      seed: 0,
      remote: { address: "", format: "chat" },
      includeBase: !further.includes("--no-base"),
    });
    notes.push(...planned.warnings);
    let largest = 0;
    for (const { where } of planned.models) {
      if (where.kind === "local") largest = Math.max(largest, await weightBytes(where.weights));
    }
    return needsCard(options.device)
      ? {
        cpus: CORES_WITH_CARD,
        memory: PROGRAM_WITH_CARD_BYTES + Math.min(largest, STAGED_BYTES),
      }
      : { cpus: MAX_CORES, memory: PROGRAM_BYTES + MEMORY_PER_WEIGHT_BYTE * largest };
  });
}

/** Bytes of the weights of a model's folder, or of a GGUF file. */
async function weightBytes(path: string): Promise<number> {
  const info = await Deno.stat(path);
  if (info.isFile) return info.size;
  let sum = 0;
  for await (const { name } of Deno.readDir(path)) {
    if (/\.(?:safetensors|bin|gguf)$/.test(name)) sum += (await Deno.stat(`${path}/${name}`)).size;
  }
  return sum;
}
