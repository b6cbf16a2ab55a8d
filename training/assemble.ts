/**
 * Makes the parts of a run from its configuration: model (from a folder or from a seed), tokenizer,
 * problems, rewards, and the writer of the model's files.
 */
import { messageOf, RgxError } from "../core/errors.ts";
import { deviceOfConfig } from "../configs/rank_layout.ts";
import { dialogueKeys } from "../bench/dialogue/dialogue.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import type { Device } from "../kernels/device.ts";
import { type FileTensor, fileTensors, modelTensors } from "../models/architectures/mod.ts";
import { fileValues } from "../models/formats/expert_files.ts";
import { CausalLM } from "../models/causal_lm.ts";
import type { LoadListener } from "../models/network/weights/load_weights.ts";
import { createRubric } from "../rewards/rubric.ts";
import { type OpenedRun, openRun, type OpenRunOptions } from "./open_run.ts";
import { type PlannedRunOptions, planRun } from "./memory/planned_run.ts";
import { type MemoryPlan, promptMisfit } from "./memory/run_memory.ts";
import { peftConfig } from "./model/adapter_options.ts";
import { loadTeacher } from "./model/teacher.ts";
import { runSizes } from "./run/run_sizes.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";
import { modelFolderFiles } from "../models/formats/model_folder_files.ts";
import { ofTensor, refuseInfinite } from "../kernels/weights/finite.ts";
import { type StreamedTensor, tensorInParts } from "../models/formats/tensor_stream.ts";
import { isTaken, type LoraOptions, weightInit } from "../models/network/adapters/lora.ts";
import {
  isAdapterFolder,
  peftAdapterFiles,
  type PeftConfig,
  readPeftAdapter,
} from "../models/network/adapters/peft_adapter.ts";
import type { Parameter } from "../models/network/types.ts";
import { type ModelWriter, newestCheckpoint } from "./checkpoint/checkpoint_files.ts";
import type { ModelSource } from "./model/model_source.ts";

/** The parts of a run, and its memory plan. */
export type TrainingParts =
  & Required<
    Pick<
      TrainerOptions,
      | "modelWriter"
      | "tokenizer"
      | "eosIds"
      | "problems"
      | "trainProblems"
      | "rubric"
      | "continuesAdapter"
      | "promptMisfit"
      | "referenceStorage"
      | "dialogues"
      | "teacher"
    >
  >
  & { model: CausalLM; memory: MemoryPlan };

/** Options of `assemble` besides the configuration. */
export interface AssembleOptions extends PlannedRunOptions, OpenRunOptions {
  /** Called while the model is loaded. */
  onLoad?: LoadListener;
  /** Let rewards in Python run, which have all rights of the user; default false. */
  allowPython?: boolean;
  /** Whether the rewards are tried; default true. Nothing may be scored without. */
  opensRewards?: boolean;
  /** Ends the wait for a server. */
  shouldStop?: () => boolean;
  /** Whether the run in output_dir goes on; default false. */
  resumes?: boolean;
}

/**
 * Makes the parts of a run from its configuration; `train` calls it itself.
 * @throws UsageError or RgxError for what the configuration names and cannot be used, and when the
 *   planned memory is more than there is
 */
export async function assemble(
  config: RunConfig,
  device: Device,
  options: AssembleOptions = {},
): Promise<TrainingParts> {
  deviceOfConfig(config.training, device.name, "device");
  let maxSteps: number | null = null;
  // The cheap parts first, so that their errors are found before a large model is loaded.
  const rubric = createRubric(config.rewards, {
    rewardTimeout: config.training.reward_timeout,
    mayBeEmpty: options.phases === "sft" || config.teacher !== null,
    allowPython: options.allowPython ?? false,
    maxSteps: () => maxSteps,
  });
  if (options.opensRewards ?? true) await rubric.open();
  const run = await openRun(config, options);
  const { opened, problems, trainProblems, trainable } = run;
  const { weights, needs, sizes, memory } = await planRun(config, device, run, options);
  maxSteps = runSizes(config, trainProblems, options.phases ?? "all").totalSteps;
  const continued = opened.adapter;
  device.computeDtype = config.training.compute_dtype;
  if (memory.weightRoom !== null) device.weightRoom = memory.weightRoom;
  const model = await CausalLM.create(device, opened.config, opened.weights(), {
    ...(options.resumes ? await withTaken(trainable, config.training.output_dir) : trainable),
    recompute: sizes.recompute,
    weights,
    ...(options.onLoad === undefined ? {} : { onLoad: options.onLoad }),
  });
  const teacher = config.teacher && options.phases !== "sft"
    ? await loadTeacher(config, device, model, opened, options.shouldStop)
    : null;
  model.generationLimit = memory.generationLimit;
  if (continued !== null) {
    for (const { name } of model.trainable) {
      model.writeParameter(name, await continued.read(name));
    }
  }
  const { environments } = run, { limits } = dialogueKeys(config);
  return {
    model,
    teacher,
    memory,
    dialogues: environments &&
      { environments, limits, maxPositions: opened.config.maxPositions },
    promptMisfit: await promptMisfit(config, sizes, opened.config.maxPositions, needs, memory),
    modelWriter: config.lora === null
      ? fullWriter(model, opened)
      : adapterWriter(model, peftConfig(config, config.lora, opened.config, continued?.config)),
    tokenizer: opened.tokenizer,
    eosIds: run.eosIds,
    problems,
    trainProblems,
    rubric,
    continuesAdapter: continued !== null,
    referenceStorage: needs.referenceStorage,
  };
}

/** An adapter with what its run took out of the weights before, which is not computed again. */
async function withTaken(
  trainable: OpenedRun["trainable"],
  outputDir: string,
): Promise<OpenedRun["trainable"]> {
  if (trainable.trainable === "full" || weightInit(trainable.lora.init) === null) return trainable;
  const path = await newestCheckpoint(outputDir, () => {});
  if (path === null || !await isAdapterFolder(path)) return trainable;
  const { taken, ...saved } = (await readPeftAdapter(path)).config;
  const ranks = ({ r, rankPattern }: LoraOptions) => JSON.stringify([r, rankPattern]);
  if (taken === undefined || ranks(saved) !== ranks(trainable.lora)) return trainable;
  return { ...trainable, lora: { ...trainable.lora, taken } };
}

function adapterWriter(model: CausalLM, config: PeftConfig): ModelWriter {
  const whole = (tensor: Parameter) => streamed(model, tensor.name, { ...tensor, from: 0 });
  return {
    weightsFile: "adapter_model.safetensors",
    files: () =>
      peftAdapterFiles(
        config,
        model.trainable.map(whole),
        model.parameters.filter(({ name }) => isTaken(name)).map(whole),
      ),
  };
}

function fullWriter(model: CausalLM, from: ModelSource): ModelWriter {
  return {
    weightsFile: "model.safetensors",
    files: () =>
      modelFolderFiles(
        {
          config: from.config,
          tokenizer: from.tokenizer,
          generationEosIds: from.eosIds,
          bosId: from.bosId,
          padId: from.padId,
        },
        modelTensors(model.config).flatMap((tensor) =>
          fileTensors(model.config, tensor).map((part) => streamed(model, tensor.name, part))
        ),
      ),
  };
}

/**
 * A parameter as F32, whose values are read from the device when they are written. What could not
 * be loaded again is not written: the training has diverged.
 */
function streamed(
  model: CausalLM,
  of: string,
  tensor: FileTensor,
): StreamedTensor {
  const { name, shape, from: begin } = tensor;
  // A part of a transposed tensor needs all of it.
  let whole: Promise<Float32Array | Float64Array> | null = null;
  const read = async (from: number, count: number) => {
    if (!tensor.transposed) return await model.readParameter(of, begin + from, count);
    whole ??= model.readParameter(of).then((values) => fileValues(values, tensor));
    const values = await whole, end = from + count;
    if (end === values.length) whole = null;
    return values.subarray(from, end);
  };
  return tensorInParts({ name, shape, dtype: "F32" }, async (from, count) => {
    const values = await read(from, count);
    try {
      ofTensor(name, () => refuseInfinite(values, [count], from));
    } catch (error) {
      throw new RgxError(`the training has diverged, nothing is saved: ${messageOf(error)}`, {
        advice: "Go on from an earlier checkpoint, with a lower training.learning_rate.",
        cause: error,
      });
    }
    return values;
  });
}
