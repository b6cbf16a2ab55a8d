/**
 * The memory plan of a run whose model is not on this machine, from the model's sizes alone.
 * Without a tokenizer, the lengths of prompts are estimated from their text. If a published data
 * set is not here either, prompts have the maximum length of the configuration.
 */
import { shapeOf } from "../../configs/model_shapes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { splitProblems } from "../../data/held_out.ts";
import { isAbsent, openProblems } from "../../data/open_problems.ts";
import { renderPrompt } from "../../data/prompt.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import type { Device } from "../../kernels/device.ts";
import { findModel, missing } from "../../models/find_model.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import { modelSizes } from "../../models/network/weights/model_sizes.ts";
import { configType, planStorage } from "../../models/network/weights/weight_storage.ts";
import { loraFromSection } from "../model/adapter_options.ts";
import {
  checkPositions,
  MAX_PROMPTS_MEASURED,
  type MemoryPlan,
  needsRecompute,
  planMemory,
} from "./run_memory.ts";
import { parameterCount, smallerModel } from "./smaller_model.ts";
import { storageOptions } from "../model/storage_options.ts";
import type { Lengths } from "./step_memory.ts";

/** A memory plan with what it was made from. */
export interface ShapePlan {
  name: string;
  /** Number of parameters of the model without adapters. */
  parameters: number;
  /** The longest prompt in tokens, and whether that is an estimate. */
  prompt: number;
  estimated: boolean;
  memory: MemoryPlan;
}

/** English text has about four bytes for each token; numbers and names have fewer. */
const BYTES_PER_TOKEN = 3;
/** Tokens that a chat template adds: roles, and often its own system prompt. */
const TEMPLATE_TOKENS = 48;

/**
 * Returns null if the model is on this machine, or is initialised from a seed: then the run itself
 * can be planned.
 * @throws UsageError when the model is not here and its sizes are unknown, or when the plan does
 *   not fit
 */
export async function planFromShape(
  config: RunConfig,
  device: Device,
  options: { phases?: "all" | "sft"; availableBytes?: number; onPlan?: (plan: ShapePlan) => void },
): Promise<ShapePlan | null> {
  const { phases = "all", availableBytes, onPlan = () => {} } = options;
  const { model, training } = config, name = model.model_name_or_path;
  if (name === null) return null;
  const { path, lookedAt } = await findModel(name);
  if (path !== null) return null;
  const shape = shapeOf(model);
  if (shape === null) throw missing(name, lookedAt);
  const { modelConfig } = readHfConfig(shape, `model.shape of ${name}`);
  const withAnswers = config.sft !== null && config.sft.max_steps > 0;
  const limit = training.max_prompt_length;
  const estimate = await estimateLengths(config, modelConfig.maxPositions, withAnswers);
  const lengths = { ...estimate, prompt: Math.min(estimate.prompt, limit ?? Infinity) };
  checkPositions(config, modelConfig.maxPositions, lengths, phases);
  const trained = config.lora === null
    ? { trainable: "full" as const }
    : { trainable: "lora" as const, lora: loraFromSection(config, config.lora, modelConfig) };
  const needs = {
    ...lengths,
    supervisedOnly: phases === "sft",
    copiedReference: phases === "all" && training.beta !== 0 &&
      (config.lora === null || withAnswers),
  };
  const weights = storageOptions(model);
  const storage = planStorage(
    modelConfig,
    trained.trainable,
    weights,
    () => configType(shape),
  );
  const layout = { ...trained, storage };
  const recompute = training.gradient_checkpointing &&
    await needsRecompute(config, device, modelSizes(modelConfig, layout), needs, availableBytes);
  const result = (memory: MemoryPlan): ShapePlan => ({
    name,
    parameters: parameterCount(modelConfig),
    prompt: lengths.prompt,
    estimated: lengths.prompt !== limit,
    memory,
  });
  return result(
    await planMemory(config, device, modelSizes(modelConfig, { ...layout, recompute }), needs, {
      ...(availableBytes === undefined ? {} : { available: availableBytes }),
      onPlan: (memory) => onPlan(result(memory)),
      smaller: (fits) => smallerModel(modelConfig, { ...trained, recompute }, weights, fits),
    }),
  );
}

async function estimateLengths(
  config: RunConfig,
  maxPositions: number,
  withAnswers: boolean,
): Promise<Lengths> {
  const { data, training: limits } = config;
  if (limits.max_prompt_length !== null && await isAbsent(data)) {
    const { max_prompt_length: limit, max_completion_length: answer } = limits;
    // As long as the limit and the model allow; a prompt may take at least half of the positions.
    return { prompt: Math.min(limit, Math.max(maxPositions - answer, maxPositions / 2)), answer };
  }
  const source = await openProblems({ ...data, curriculum: config.curriculum });
  const problems = splitProblems({ source, heldOutCount: config.eval.num_examples });
  const count = Math.min(MAX_PROMPTS_MEASURED, source.length("train"));
  const training = Array.from({ length: count }, (_, i) => problems.trainEntry(i));
  const tokens = (text: string) =>
    Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN);
  const prompts = [...problems.heldOut, ...training].map((entry) =>
    renderPrompt({
      question: entry.question,
      systemPrompt: data.system_prompt,
      addInstructions: data.add_instructions,
    })
  );
  const answers = withAnswers
    ? training.map((entry) => workedAnswer(entry, data.system_prompt))
    : [];
  return {
    prompt: Math.max(...prompts.map(tokens)) + TEMPLATE_TOKENS,
    answer: Math.max(1, ...answers.map(tokens)),
  };
}
