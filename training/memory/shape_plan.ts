/** The memory plan of a run whose model is not on this machine, from the model's sizes alone. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { findModel } from "../../hub/find_model.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { configType } from "../../models/network/weights/weight_storage.ts";
import { loraFromSection } from "../model/adapter_options.ts";
import { hasWarmStart, planModel, type PlannedRun } from "./planned_run.ts";
import {
  longestLengths,
  MAX_PROMPTS_MEASURED,
  type MemoryPlan,
  type PlanDevice,
} from "./run_memory.ts";
import { parameterCount } from "./smaller_model.ts";
import { shapeSource } from "./shape_source.ts";
import { scaledConfig } from "../model/model_source.ts";
import { mean } from "../../core/statistics.ts";
import { askedWhileTraining, type SplitProblems, splitProblems } from "../../data/held_out.ts";
import { isAbsent, openProblems } from "../../data/open_problems.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import { runPrompts } from "../../bench/evaluation/prompt_encoder.ts";
import { runPromptSettings } from "../../bench/evaluation/prompt_settings.ts";
import { plainText, promptMessages } from "../../bench/evaluation/prompt_text.ts";
import { sharedPrefixLength } from "../../models/generation/cache/prefill_batch.ts";
import { withChatTemplate } from "../../models/tokenizers/chosen_template.ts";
import { loadTokenizer } from "../../models/tokenizers/tokenizer.ts";
import type { Lengths } from "./step_size.ts";

/** A memory plan with what it was made from. */
export interface ShapePlan {
  name: string;
  /** Number of parameters of the model without adapters. */
  parameters: number;
  tokens: ShapeTokens;
  sizes: ModelSizes;
  memory: MemoryPlan;
}

/**
 * Returns null if the model's weights are on this machine, or are made from a seed: then the run
 * itself can be planned.
 * @throws UsageError when the model is not here and its sizes are unknown, or when the plan does
 *   not fit
 */
export async function planFromShape(
  config: RunConfig,
  device: PlanDevice,
  options: {
    phases?: "all" | "sft";
    /** Number of ranks of the run; default: one. */
    ranks?: number;
    availableBytes?: number;
    onPlan?: (plan: ShapePlan) => void;
  },
): Promise<ShapePlan | null> {
  const { onPlan, ...others } = options;
  const { model } = config, source = await shapeSource(model);
  if (source === null) return null;
  const { name, shape, where } = source;
  const modelConfig = scaledConfig(readHfConfig(shape, where).modelConfig, model);
  const named = model.tokenizer_name_or_path;
  const tokenizer = named === null ? source.tokenizer : (await findModel(named)).path;
  const tokens = await shapeTokens(
    config,
    modelConfig.maxPositions,
    hasWarmStart(config),
    tokenizer,
  );
  const parameters = parameterCount(modelConfig);
  const planned = (memory: MemoryPlan, { sizes }: Pick<PlannedRun, "sizes">): ShapePlan => ({
    name,
    parameters,
    tokens,
    sizes,
    memory,
  });
  const plan = await planModel(config, device, {
    config: modelConfig,
    trainable: config.lora === null
      ? { trainable: "full" }
      : { trainable: "lora", lora: loraFromSection(config, config.lora, modelConfig) },
    typeOf: () => configType(shape),
    longest: tokens.longest,
    hasAdapter: false,
  }, { ...others, planned: (memory, about) => onPlan?.(planned(memory, about)) });
  return planned(plan.memory, plan);
}

/**
 * The lengths of prompts and answers of a run whose model is not on this machine: with its
 * tokenizer if that is here, else estimated from the texts. If a published data set is not here
 * either, prompts have the maximum length of the configuration.
 */
interface ShapeTokens {
  longest: Lengths;
  /** Whether `longest` is an estimate, since there is no tokenizer. */
  estimated: boolean;
  /** Typical tokens: of a prompt, those that it shares with the next, and of a worked answer. */
  typical: { promptTokens: number; sharedTokens: number; answerTokens: number | null };
  /** The number of problems; null where the data set is not on this machine. */
  trainProblems: number | null;
  heldOut: number;
  askedBetween: number;
}

/** English text has about four bytes for each token; numbers and names have fewer. */
const BYTES_PER_TOKEN = 3;
/** Tokens that a chat template adds: roles, and often its own system prompt. */
const TEMPLATE_TOKENS = 48;

/** @param tokenizer a folder with the model's tokenizer; null = there is none */
async function shapeTokens(
  config: RunConfig,
  maxPositions: number,
  withAnswers: boolean,
  tokenizer: string | null,
): Promise<ShapeTokens> {
  const { data, curriculum, training, eval: heldOut } = config;
  const { max_prompt_length: limit, max_completion_length: answer } = training;
  if (limit !== null && await isAbsent(data)) {
    // As long as the limit and the model allow; a prompt may take at least half of the positions.
    const prompt = Math.min(limit, Math.max(maxPositions - answer, maxPositions / 2));
    return {
      longest: { prompt, answer },
      estimated: false,
      typical: { promptTokens: prompt, sharedTokens: 0, answerTokens: null },
      trainProblems: data.max_examples,
      heldOut: heldOut.num_examples,
      askedBetween: data.validation_examples ?? heldOut.num_examples,
    };
  }
  const source = await openProblems({ ...data, curriculum, hold_out: heldOut.num_examples > 0 });
  const problems = splitProblems({
    source,
    heldOutCount: heldOut.num_examples,
    validationCount: data.validation_examples ?? 0,
  });
  const trainProblems = source.length("train");
  const counts = {
    trainProblems,
    heldOut: problems.heldOut.length,
    askedBetween: askedWhileTraining(problems).length,
  };
  const count = Math.min(MAX_PROMPTS_MEASURED, trainProblems);
  if (tokenizer !== null) {
    const loaded = await withChatTemplate(
      await loadTokenizer(tokenizer),
      config.model.chat_template,
    );
    const prompts = runPrompts(loaded, config, loaded.eosId === null ? [] : [loaded.eosId]);
    const longest = longestLengths(prompts, problems, trainProblems, withAnswers);
    const ids = [0, count - 1].map((i) => prompts.prompt(problems.trainEntry(i)).ids);
    const answers = withAnswers ? [prompts.workedAnswer(problems.trainEntry(0)).length] : [];
    const typical = {
      promptTokens: mean(ids.map(({ length }) => length)),
      sharedTokens: sharedPrefixLength(ids[0]!, ids[1]!),
      answerTokens: answers[0] ?? null,
    };
    return { longest, estimated: false, typical, ...counts };
  }
  return { ...fromTexts(config, problems, count, withAnswers), ...counts };
}

function fromTexts(
  config: RunConfig,
  problems: SplitProblems,
  count: number,
  withAnswers: boolean,
): Pick<ShapeTokens, "longest" | "estimated" | "typical"> {
  const { data, training: { max_prompt_length: limit } } = config;
  const settings = runPromptSettings(config);
  const training = Array.from({ length: count }, (_, i) => problems.trainEntry(i));
  const tokens = (text: string) =>
    Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN);
  const prompts = [...training, ...problems.heldOut, ...problems.validation].map((entry) =>
    plainText(promptMessages(entry, [], settings))
  );
  const answers = training.filter(({ answer }) => answer !== null)
    .map((entry) => tokens(workedAnswer(entry, data.system_prompt)));
  const lengths = prompts.map(tokens).map((n) => Math.min(limit ?? Infinity, n + TEMPLATE_TOKENS));
  const longest = {
    prompt: Math.max(...lengths),
    answer: withAnswers ? Math.max(1, ...answers) : 1,
  };
  const first = prompts[0]!, next = prompts[Math.min(1, count - 1)]!;
  let shared = 0;
  while (shared < first.length && first[shared] === next[shared]) shared++;
  return {
    longest,
    estimated: longest.prompt !== limit,
    typical: {
      promptTokens: mean(lengths.slice(0, count)),
      sharedTokens: count < 2 ? 0 : Math.floor(shared / BYTES_PER_TOKEN),
      answerTokens: answers.length === 0 ? null : mean(answers),
    },
  };
}
