/**
 * The files of a checkpoint or a run that are uploaded: the model and its tokenizer at the top of
 * the repository, and on request everything that a resume needs in `checkpoint-{step}/`.
 */
import { UsageError } from "../../core/errors.ts";
import { exists, folderOf } from "../../core/paths.ts";
import type { UploadFile } from "../../hub/upload/files.ts";
import { modelInVerlFolder } from "../../hub/verl_folder.ts";
import {
  checkpointDamage,
  findNewestValid,
  listCheckpoints,
} from "../../training/checkpoint/checkpoint_folders.ts";

/** What is uploaded, and where it is from. */
export interface ModelToShare {
  /** Folder with the weights. */
  model: string;
  /** The run that it belongs to; null: none is known. */
  run: string | null;
  /** The checkpoint with the state of the optimizer; null: there is none. */
  checkpoint: string | null;
  step: number | null;
}

const WEIGHTS = /^(adapter_)?model(-\d{5}-of-\d{5})?\.safetensors$/;
const MODEL_FILES = new RegExp(
  [
    WEIGHTS.source,
    String.raw`^model\.safetensors\.index\.json$`,
    String
      .raw`^(adapter_config|config|generation_config|special_tokens_map|added_tokens|vocab)\.json$`,
    String.raw`^tokenizer(_config)?\.(json|model)$`,
    String.raw`^merges\.txt$`,
    String.raw`^chat_template\.jinja$`,
  ].join("|"),
);

/**
 * Finds the model in the folder of a run or of a checkpoint.
 * @param step of a run's checkpoints the one to take; null: the final model, or the newest one
 * @throws UsageError when there is no model, or a damaged one
 */
export async function findModel(folder: string, step: number | null): Promise<ModelToShare> {
  const path = folder.replace(/(?<=.)\/+$/, "");
  const names = await namesIn(path);
  const isRun = names.includes("metrics.jsonl") || names.includes("run.json");
  if (!isRun) return await findInCheckpoint(path, names, step);
  const checkpoints = await listCheckpoints(path);
  if (step !== null) {
    const found = checkpoints.find((checkpoint) => checkpoint.step === step);
    if (found === undefined) {
      const steps = checkpoints.map((one) => one.step).join(", ");
      throw new UsageError(`${path}: there is no checkpoint-${step}`, {
        advice: steps === "" ? "This run has no checkpoint yet." : `Its checkpoints: ${steps}.`,
      });
    }
    return { ...await findInCheckpoint(found.path, await namesIn(found.path), step), run: path };
  }
  const { newest } = await findNewestValid(path);
  if (names.some((name) => WEIGHTS.test(name))) {
    return { model: path, run: path, checkpoint: newest?.path ?? null, step: newest?.step ?? null };
  }
  if (newest === null) {
    throw new UsageError(`${path}: this run has neither a final model nor a whole checkpoint`, {
      advice: "Upload when it has saved one (training.save_steps), or resume it: --resume.",
    });
  }
  return { model: newest.path, run: path, checkpoint: newest.path, step: newest.step };
}

async function findInCheckpoint(
  path: string,
  names: readonly string[],
  step: number | null,
): Promise<ModelToShare> {
  if (!names.some((name) => WEIGHTS.test(name))) {
    const inside = await modelInVerlFolder(path);
    if (inside !== null) return await findInCheckpoint(inside, await namesIn(inside), step);
    const isSharded = names.some((name) => /^model_world_size_\d+_rank_\d+\.pt$/.test(name));
    throw new UsageError(
      isSharded
        ? `${path}: the weights are in parts of several processes (FSDP)`
        : `${path}: no model in this folder (model.safetensors or adapter_model.safetensors)`,
      {
        advice: isSharded
          ? `rgx convert ${path} --output NEW joins them; upload NEW.`
          : "Name the folder of a run or of a checkpoint.",
      },
    );
  }
  const isOurs = names.includes("SHA256SUMS"),
    damage = isOurs ? await checkpointDamage(path) : null;
  if (damage !== null) {
    throw new UsageError(`${path}: this checkpoint is damaged: ${damage}`, {
      advice: "Upload another one: --step N.",
    });
  }
  // "latest" is a link to the checkpoint.
  const real = await Deno.realPath(path).catch(() => path);
  const number = /checkpoint-(\d+)$|global_step_(\d+)/.exec(real);
  const parent = folderOf(real);
  return {
    model: path,
    run: await exists(`${parent}/metrics.jsonl`) ? parent : null,
    checkpoint: isOurs ? path : null,
    step: step ?? (number === null ? null : Number(number[1] ?? number[2])),
  };
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name);
  } catch {
    throw new UsageError(`${path}: there is no such folder`, {
      advice: "Name the folder of a run or of a checkpoint.",
    });
  }
}

/**
 * The model's files, without a card.
 * @param withOptimizer also everything that a resume needs
 */
export async function filesToShare(
  { model, checkpoint, step }: ModelToShare,
  withOptimizer: boolean,
): Promise<UploadFile[]> {
  const files = (await namesIn(model)).filter((name) => MODEL_FILES.test(name)).sort()
    .map((name): UploadFile => ({ path: name, source: `${model}/${name}` }));
  if (withOptimizer && checkpoint !== null) files.push(...await wholeFolder(checkpoint, step));
  return files;
}

/** All files of a checkpoint, below a folder of its name. */
export async function wholeFolder(
  checkpoint: string,
  step: number | null,
  folder = `checkpoint-${step ?? 0}`,
): Promise<UploadFile[]> {
  return (await namesIn(checkpoint)).filter((name) => !name.startsWith(".")).sort()
    .map((name) => ({ path: `${folder}/${name}`, source: `${checkpoint}/${name}` }));
}
