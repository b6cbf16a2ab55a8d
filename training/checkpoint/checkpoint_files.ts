/**
 * What a checkpoint of a run holds, and how a run resumes from one. GRPO checkpoints are
 * `checkpoint-{step}` in the run's folder. Those of the warm start are
 * `warm-start/checkpoint-{step}`, so that the former always count GRPO steps; they are used only
 * while there is no valid GRPO checkpoint.
 * `checkpoint_folders.ts` writes, checks and deletes the folders.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { FileContent } from "../../core/atomic_file.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import type { SafetensorsFile } from "../../models/formats/safetensors/safetensors.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import {
  findNewestValid,
  listCheckpoints,
  openCheckpoint,
  WARM_START,
} from "./checkpoint_folders.ts";
import { type DecodedState, decodeState, parseJson } from "./run_state.ts";
import type { RolloutBuffer } from "../step/rollout_buffer.ts";
import { nameAndRevision } from "../../hub/find_model.ts";
import { VERSION } from "../../core/version.ts";

const STATE_FILE = "rgx_state.json";
const TRAINER_STATE_FILE = "trainer_state.json";
const OPTIMIZER_FILE = "optimizer.safetensors";
export const REFERENCE_FILE = "reference.safetensors";
export const ROLLOUT_FILE = "rollout.safetensors";
/** Weights of an older policy that samples for a coming step (`generation.max_staleness`). */
const STALE_FILE = /^stale_policy-(\d+)\.safetensors$/;

/** Encodes the model as files in the format of Hugging Face (or PEFT). */
export interface ModelWriter {
  /** The file with the trained tensors, in F32 under their parameter names. */
  readonly weightsFile: "model.safetensors" | "adapter_model.safetensors";
  /** Weights are read from the model while their file is written. */
  files(): Map<string, FileContent>;
}

/** What a checkpoint holds besides the model and the state, for an exact resume. */
export interface ResumeParts {
  /** null = the next phase starts with a fresh optimizer. */
  optimizer: FileContent | null;
  /** What the ranks after the first do while it writes the optimizer's states. */
  follow: () => Promise<void>;
  reference: FileContent | null;
  rollout: RolloutBuffer | null;
  /** Weights of older policies that still sample, by the optimizer steps that they have done. */
  stale: ReadonlyMap<number, Uint8Array>;
}

/** Adds to the files of the model those of the state; name → content. */
export function addStateFiles(
  files: Map<string, FileContent>,
  texts: { state: string; trainerState: FileContent },
  parts: ResumeParts | null,
): void {
  files.set(STATE_FILE, new TextEncoder().encode(texts.state));
  files.set(TRAINER_STATE_FILE, texts.trainerState);
  if (parts === null) return;
  const { optimizer, reference, rollout, stale } = parts;
  if (optimizer !== null) files.set(OPTIMIZER_FILE, optimizer);
  if (reference !== null) files.set(REFERENCE_FILE, reference);
  if (rollout !== null) files.set(ROLLOUT_FILE, rollout.encode());
  for (const [step, bytes] of stale) files.set(`stale_policy-${step}.safetensors`, bytes);
}

/** The files of the model and its tokenizer, without those that only a resume needs. */
export function finalModelFiles(
  model: ModelWriter,
  tokenizer: Tokenizer,
  config: RunConfig,
): Map<string, FileContent> {
  const files = model.files();
  for (const [name, content] of tokenizer.files()) {
    files.set(name, new TextEncoder().encode(content));
  }
  files.set("README.md", new TextEncoder().encode(modelCard(config)));
  return files;
}

export interface Restored extends DecodedState {
  path: string;
  optimizer: SafetensorsFile | null;
  reference: SafetensorsFile | null;
  rollout: Uint8Array | null;
  /** @see ResumeParts.stale */
  stale: ReadonlyMap<number, Uint8Array>;
  logHistory: Record<string, unknown>[];
  weights: SafetensorsFile;
}

/** Its path, or null. @param onDamaged called for every newer checkpoint that is not valid */
export async function newestCheckpoint(
  outputDir: string,
  onDamaged: (path: string, reason: string) => void,
): Promise<string | null> {
  for (const folder of [outputDir, `${outputDir}/${WARM_START}`]) {
    const { newest, skipped } = await findNewestValid(folder);
    for (const { path, reason } of skipped) onDamaged(path, reason);
    if (newest !== null) return newest.path;
  }
  return null;
}

/** @throws RgxError when it is damaged, UsageError when rgx did not write it */
export async function readCheckpoint(
  path: string,
  weightsFile: ModelWriter["weightsFile"],
): Promise<Restored> {
  const checkpoint = await openCheckpoint(path);
  const { files } = checkpoint;
  if (!files.has(STATE_FILE)) {
    throw new UsageError(`${path}: cannot be resumed: it has no ${STATE_FILE}`, {
      advice: "It comes from another trainer: name it as model_name_or_path of a new run.",
    });
  }
  if (!files.has(weightsFile)) {
    throw new UsageError(`${path}: cannot be resumed: it has no ${weightsFile}`, {
      advice: "The run was made with another kind of model (LoRA or full fine-tuning).",
    });
  }
  const stale = new Map<number, Uint8Array>();
  for (const name of files) {
    const step = STALE_FILE.exec(name)?.[1];
    if (step !== undefined) stale.set(Number(step), await checkpoint.read(name));
  }
  const ifPresent = (name: string) => files.has(name) ? checkpoint.open(name) : null;
  return {
    ...decodeState(await checkpoint.readText(STATE_FILE), `${path}/${STATE_FILE}`),
    path,
    weights: await checkpoint.open(weightsFile),
    optimizer: await ifPresent(OPTIMIZER_FILE),
    reference: await ifPresent(REFERENCE_FILE),
    rollout: files.has(ROLLOUT_FILE) ? await checkpoint.read(ROLLOUT_FILE) : null,
    stale,
    logHistory: files.has(TRAINER_STATE_FILE)
      ? logHistory(
        await checkpoint.readText(TRAINER_STATE_FILE),
        `${path}/${TRAINER_STATE_FILE}`,
      )
      : [],
  };
}

function logHistory(text: string, label: string): Record<string, unknown>[] {
  const json = parseJson(text, label) as { log_history?: unknown } | null;
  const history = json?.log_history;
  if (Array.isArray(history)) return history;
  throw new RgxError(`${label}: log_history is missing, expected a list`);
}

/**
 * By its path, or its name or step in the run's folder.
 * @throws UsageError with those that exist
 */
export async function namedCheckpoint(outputDir: string, name: string): Promise<string> {
  const isFolder = async (path: string) =>
    (await Deno.stat(path).catch(() => null))?.isDirectory ?? false;
  if (/[^\d]/.test(name) && await isFolder(name)) return name;
  for (const inside of [name, `checkpoint-${name}`]) {
    if (await isFolder(`${outputDir}/${inside}`)) return `${outputDir}/${inside}`;
  }
  const steps = (await listCheckpoints(outputDir)).map(({ step }) => step);
  throw new UsageError(`--resume=${name}: there is no such checkpoint`, {
    advice: steps.length === 0
      ? `${outputDir} holds none. --resume alone takes the newest, or starts the run.`
      : `${outputDir} holds those of step ${steps.join(", ")}. --resume alone takes the newest.`,
  });
}

/** @throws UsageError for tensors of another model */
export async function restoreWeights(
  model: CausalLM,
  file: SafetensorsFile,
): Promise<void> {
  const otherModel = (message: string) =>
    new UsageError(`${file.label}: ${message}`, {
      advice: "The checkpoint belongs to a run with another model or other LoRA settings. " +
        "Its own configuration is the config.yaml of that run.",
    });
  for (const { name, shape } of model.trainable) {
    const found = file.tensors.get(name)?.shape;
    if (found === undefined) throw otherModel(`no tensor "${name}", which this run trains`);
    if (found.join() !== shape.join()) {
      throw otherModel(`tensor "${name}" has shape [${found}], this run trains one of [${shape}]`);
    }
  }
  for (const { name } of model.trainable) model.writeParameter(name, await file.float32(name));
}

/** The README.md beside saved weights, with the metadata block that the Hugging Face Hub reads. */
function modelCard(config: RunConfig): string {
  const { model, data, rewards, training, sft, lora } = config;
  const base = model.model_name_or_path === null
    ? null
    : nameAndRevision(model.model_name_or_path).name;
  const problems = data.tasks?.map(({ task_name }) => task_name).join(", ") ?? data.task_name ??
    data.dataset_name;
  const warmStart = sft?.max_steps
    ? `${sft.max_steps} supervised steps on worked answers, then `
    : "";
  const how = config.dpo
    ? `on preferences (DPO, loss ${config.dpo.loss_type}, beta ${config.dpo.beta}, learning rate ` +
      `${training.learning_rate}).`
    : `${warmStart}GRPO (loss ${training.loss_type}, ` +
      `${training.num_generations} completions a prompt, ` +
      `learning rate ${training.learning_rate}), rewarded for ${
        rewards.map(({ name }) => name).join(", ")
      }.`;
  return [
    "---",
    ...(base === null ? [] : [`base_model: ${JSON.stringify(base)}`]),
    `library_name: ${lora === null ? "transformers" : "peft"}`,
    "pipeline_tag: text-generation",
    `tags: [${config.dpo ? "dpo" : "grpo"}, reasoning, rgx]`,
    "---",
    `# ${config.logging.run_name}`,
    "",
    `Trained by rgx ${VERSION} on ${problems}: ${how}`,
    lora === null
      ? "All weights were trained."
      : `A LoRA adapter (r ${lora.r}, alpha ${lora.lora_alpha}) was trained` +
        (lora.modules_to_save.length === 0
          ? "."
          : `, and beside it in full: ${lora.modules_to_save.join(", ")}.`),
    "",
  ].join("\n");
}
