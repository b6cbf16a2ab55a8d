/**
 * The memory plan of a run with the lengths of its texts. A model that is not on this machine is
 * planned from its sizes alone.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { findModel, missing } from "../../hub/find_model.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { configType } from "../../models/network/weights/weight_storage.ts";
import { loraFromSection } from "../model/adapter_options.ts";
import { openRun } from "../open_run.ts";
import {
  hasWarmStart,
  planModel,
  type PlannedRun,
  type PlannedRunOptions,
  planRun,
} from "./planned_run.ts";
import {
  longestLengths,
  MAX_PROMPTS_MEASURED,
  type MemoryPlan,
  type PlanDevice,
  type TypicalTokens,
  typicalTokens,
} from "./run_memory.ts";
import { parameterCount } from "./fitting_settings.ts";
import { scaledConfig } from "../model/model_source.ts";
import { mean } from "../../core/statistics.ts";
import { askedWhileTraining, type SplitProblems, splitProblems } from "../../data/held_out.ts";
import { isAbsent, openProblems } from "../../data/open_problems.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import { type PromptEncoder, runPrompts } from "../../bench/evaluation/prompt_encoder.ts";
import { runPromptSettings } from "../../bench/evaluation/prompt_settings.ts";
import { plainText, promptMessages } from "../../bench/evaluation/prompt_text.ts";
import { withChatTemplate } from "../../models/tokenizers/chosen_template.ts";
import { hasTokenizer, loadTokenizer } from "../../models/tokenizers/tokenizer.ts";
import type { Lengths } from "./step_size.ts";
import { embeddedShapes, type ModelShape, shapeOf } from "../../configs/model_shapes.ts";
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { folderOf, isFile } from "../../core/paths.ts";

export interface ShapePlan {
  /** Null: the model is made from a seed. */
  name: string | null;
  /** Whether the weights are on this machine. */
  isHere: boolean;
  /** Number of parameters of the model without adapters. */
  parameters: number;
  tokens: PlannedTokens;
  sizes: ModelSizes;
  memory: MemoryPlan;
}

export interface ShapePlanOptions extends Omit<PlannedRunOptions, "planned"> {
  /** Called with the plan, even if it does not fit. */
  onPlan?: (plan: ShapePlan) => void;
}

/**
 * Null: the weights are on this machine, or made from a seed, so the run itself can be planned.
 * @throws UsageError for unknown sizes, or a plan that does not fit
 */
export async function planFromShape(
  config: RunConfig,
  device: PlanDevice,
  options: ShapePlanOptions,
): Promise<ShapePlan | null> {
  const { model } = config, source = await shapeSource(model);
  if (source === null) return null;
  const { name, shape, where } = source;
  const modelConfig = scaledConfig(readHfConfig(shape, where).modelConfig, model);
  const named = model.tokenizer_name_or_path;
  const tokenizer = named === null ? source.tokenizer : (await findModel(named)).path;
  const tokens = await shapeTokens(config, modelConfig.maxPositions, tokenizer);
  return await planned(
    { name, isHere: false, tokens },
    options,
    (options) =>
      planModel(config, device, {
        config: modelConfig,
        trainable: config.lora === null
          ? { trainable: "full" }
          : { trainable: "lora", lora: loraFromSection(config, config.lora, modelConfig) },
        typeOf: (name) => configType(shape, name),
        longest: tokens.longest,
        teacher: null,
        hasAdapter: false,
      }, options),
  );
}

/** The same of a run whose model is on this machine. @throws UsageError when it does not fit */
export async function planFromModel(
  config: RunConfig,
  device: PlanDevice,
  options: ShapePlanOptions,
): Promise<ShapePlan> {
  const run = await openRun(config), { prompts, problems, trainProblems } = run;
  const tokens = tokensOf(config, problems, trainProblems, prompts);
  const about = { name: config.model.model_name_or_path, isHere: true, tokens };
  return await planned(about, options, (options) => planRun(config, device, run, options));
}

async function planned(
  about: Pick<ShapePlan, "name" | "isHere" | "tokens">,
  { onPlan = () => {}, ...others }: ShapePlanOptions,
  plan: (options: PlannedRunOptions) => Promise<PlannedRun>,
): Promise<ShapePlan> {
  const whole = (memory: MemoryPlan, { sizes }: Pick<PlannedRun, "sizes">): ShapePlan => ({
    ...about,
    parameters: parameterCount(sizes.config),
    sizes,
    memory,
  });
  const found = await plan({ ...others, planned: (memory, sizes) => onPlan(whole(memory, sizes)) });
  return whole(found.memory, found);
}

/**
 * The lengths of prompts and answers of a run, with the model's tokenizer if that is here, else
 * estimated from the texts. If a published data set is not here either, prompts have the maximum
 * length of the configuration.
 */
interface PlannedTokens {
  longest: Lengths;
  /** Whether `longest` is an estimate, since there is no tokenizer. */
  estimated: boolean;
  typical: TypicalTokens;
  /** The number of problems; null where the data set is not on this machine. */
  trainProblems: number | null;
  heldOut: number;
  askedBetween: number;
}

function tokensOf(
  config: RunConfig,
  problems: SplitProblems,
  trainProblems: number,
  prompts: PromptEncoder,
): PlannedTokens {
  return {
    longest: longestLengths(prompts, problems, trainProblems, {
      hasAnswers: hasWarmStart(config),
      teacher: null,
      dpo: null,
      sft: config.sft,
    }),
    estimated: false,
    typical: typicalTokens(prompts, problems, trainProblems),
    ...countsOf(problems, trainProblems),
  };
}

function countsOf(problems: SplitProblems, trainProblems: number) {
  const heldOut = problems.heldOut.length, askedBetween = askedWhileTraining(problems).length;
  return { trainProblems, heldOut, askedBetween };
}

/** English text has about four bytes for each token; numbers and names have fewer. */
const BYTES_PER_TOKEN = 3;
/** Tokens that a chat template adds: roles, and often its own system prompt. */
const TEMPLATE_TOKENS = 48;

/** @param tokenizer a folder with the model's tokenizer; null = there is none */
async function shapeTokens(
  config: RunConfig,
  maxPositions: number,
  tokenizer: string | null,
): Promise<PlannedTokens> {
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
  if (tokenizer === null) {
    const count = Math.min(MAX_PROMPTS_MEASURED, trainProblems);
    const texts = fromTexts(config, problems, count, hasWarmStart(config));
    return { ...texts, ...countsOf(problems, trainProblems) };
  }
  const { chat_template: template } = config.model;
  const loaded = await withChatTemplate(await loadTokenizer(tokenizer), template);
  const prompts = runPrompts(loaded, config, loaded.eosId === null ? [] : [loaded.eosId]);
  return tokensOf(config, problems, trainProblems, prompts);
}

function fromTexts(
  config: RunConfig,
  problems: SplitProblems,
  count: number,
  withAnswers: boolean,
): Pick<PlannedTokens, "longest" | "estimated" | "typical"> {
  const { data, training: { max_prompt_length: limit } } = config;
  const settings = runPromptSettings(config);
  const training = Array.from({ length: count }, (_, i) => problems.trainEntry(i));
  const tokens = (text: string) =>
    Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN);
  const prompts = [...training, ...problems.heldOut, ...problems.validation].map((entry) =>
    plainText(promptMessages(entry, [], settings))
  );
  const answers = training
    .filter(({ answer, answerMessages }) => answer !== null || answerMessages !== undefined)
    .map((entry) => {
      const { answerMessages: messages } = entry;
      if (messages === undefined) return tokens(workedAnswer(entry, data.system_prompt));
      return tokens(JSON.stringify(messages)) + messages.length * TEMPLATE_TOKENS;
    });
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

export interface ShapeSource {
  name: string;
  shape: ModelShape;
  /** Where the sizes are from, for messages. */
  where: string;
  /** A folder with the model's tokenizer; null = there is none here. */
  tokenizer: string | null;
}

/** Null: the weights are here, or made from a seed. @throws UsageError for unknown sizes */
export async function shapeSource(model: RunConfig["model"]): Promise<ShapeSource | null> {
  const name = model.model_name_or_path;
  if (name === null) return null;
  const { path, lookedAt } = await findModel(name);
  if (path === null) {
    const shape = shapeOf(model), where = `model.shape of ${name}`;
    if (shape !== null) return { name, shape, where, tokenizer: null };
    const { message, advice } = missing(name, lookedAt);
    const meant = didYouMean(name, [...embeddedShapes().keys()]);
    throw new UsageError(message + meant, {
      advice: `${advice} For a plan (--dry-run), the model's config.json alone is enough: give ` +
        "its path, or write its keys to model.shape.",
    });
  }
  const isConfig = path.endsWith(".json") && await isFile(path);
  if (!isConfig && await hasWeights(path)) return null;
  const file = isConfig ? path : `${path}/config.json`;
  const shape = await readJsonObject(file);
  // Neither weights nor sizes: opening the model says what is wrong with the folder.
  if (shape === null) return null;
  const folder = folderOf(file);
  const tokenizer = await hasTokenizer(folder) ? folder : null;
  return { name, shape, where: file, tokenizer };
}

/** Names of files with weights, of indices that list such files, and of adapters. */
const WEIGHTS = /\.(?:safetensors|bin|gguf|pth?|h5)$|\.index\.json$|^adapter_config\.json$/;

/** Whether a path is a file (a GGUF file), or a folder with weights or an adapter. */
export async function hasWeights(path: string): Promise<boolean> {
  if (await isFile(path)) return true;
  for await (const { name } of Deno.readDir(path)) if (WEIGHTS.test(name)) return true;
  return false;
}
