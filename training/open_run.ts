/** The model and problems of a run as they are opened: no weights are read, nothing is planned. */
import type { RunConfig } from "../configs/schema/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { type HeldOutOptions, type SplitProblems, splitProblems } from "../data/held_out.ts";
import { emptySource } from "../data/empty_source.ts";
import { hasProblems, openProblems } from "../data/open_problems.ts";
import {
  checkPreference,
  type PromptEncoder,
  runPrompts,
} from "../bench/evaluation/prompt_encoder.ts";
import {
  environmentName,
  type OpenEnvironments,
  openEnvironments,
} from "../rewards/environments/open_environments.ts";
import { endTokens } from "../bench/dialogue/dialogue.ts";
import { observationTokens, sampleStart } from "../bench/dialogue/play_dialogues.ts";
import type { LoraOptions } from "../models/network/adapters/lora.ts";
import { loraOptions } from "../models/network/adapters/peft_adapter.ts";
import type { Entry } from "../tasks/types.ts";
import { dropoutOf, loraFromSection } from "./model/adapter_options.ts";
import { openTeacher, type TeacherSizes } from "./model/teacher.ts";
import { type ModelSource, openModel } from "./model/model_source.ts";

/** What opening a run depends on besides its configuration. */
export interface OpenRunOptions {
  /** The problems of `data.dataset_name`; default: they are read from its file. */
  entries?: readonly Entry[];
  /** Called while many held-out problems are drawn. */
  onDraw?: HeldOutOptions["onDraw"];
}

/** A run whose model is on this machine, or is initialised from a seed. */
export interface OpenedRun {
  opened: ModelSource;
  problems: SplitProblems;
  trainProblems: number;
  prompts: PromptEncoder;
  /** Tokens that end a completion. */
  eosIds: readonly number[];
  /** null: a completion is one turn of text. */
  environments: OpenEnvironments | null;
  /** The most tokens that the environment's start adds to a prompt. */
  observationTokens: number;
  /** Null: there is none. */
  teacher: TeacherSizes | null;
  trainable: { trainable: "full" } | { trainable: "lora"; lora: LoraOptions };
}

/** @throws UsageError or RgxError for what the configuration names and cannot be used */
export async function openRun(
  config: RunConfig,
  { entries, onDraw }: OpenRunOptions = {},
): Promise<OpenedRun> {
  const { data, curriculum } = config;
  const environments = await openEnvironments(config);
  const source = hasProblems(data) || config.environment === null
    ? await openProblems({
      ...data,
      curriculum,
      entries: entries ?? null,
      comparesAnswers: config.dpo !== null,
      hold_out: config.eval.num_examples > 0,
    })
    : emptySource(
      environmentName(config.environment),
      data.num_examples!,
      await sampleStart(environments!, config),
    );
  const problems = splitProblems({
    source,
    heldOutCount: config.eval.num_examples,
    validationCount: data.validation_examples ?? 0,
    ...(onDraw === undefined ? {} : { onDraw }),
  });
  if (config.dpo !== null) {
    for (let i = 0; i < source.length("train"); i++) checkPreference(problems.trainEntry(i));
    for (const entry of problems.heldOut) checkPreference(entry);
  }
  checkOwnTeacher(config, problems, source.length("train"));
  const opened = await openModel(config), lora = loraOf(config, opened);
  const plain = runPrompts(opened.tokenizer, config, opened.eosIds);
  const eosIds = endTokens(plain, environments, config.multi_turn.format);
  const prompts = runPrompts(opened.tokenizer, config, eosIds);
  const trainProblems = source.length("train");
  return {
    opened,
    problems,
    teacher: config.teacher && await openTeacher(config, opened),
    trainProblems,
    prompts,
    eosIds,
    environments,
    observationTokens: environments === null ? 0 : await observationTokens(
      environments,
      problems,
      trainProblems,
      prompts,
      config,
      opened.config.maxPositions,
    ),
    trainable: lora === null ? { trainable: "full" } : { trainable: "lora", lora },
  };
}

/** @throws UsageError for a policy that would learn from itself what it knows already */
function checkOwnTeacher({ teacher }: RunConfig, problems: SplitProblems, count: number): void {
  if (teacher === null || teacher.base_url !== null || teacher.model_name_or_path !== null) return;
  if (teacher.teacher_prompt_template !== null) return;
  for (let i = 0; i < count; i++) if (problems.trainEntry(i).teacherPrompt !== undefined) return;
  throw new UsageError("teacher: the policy is its own teacher, and sees no other prompt", {
    advice: "Give the data a column teacher_prompt, set teacher.teacher_prompt_template, or name " +
      "a model with teacher.model_name_or_path.",
  });
}

/** The adapter that is trained; null = the whole model is. */
function loraOf(config: RunConfig, { adapter, config: model }: ModelSource): LoraOptions | null {
  if (adapter === null) return config.lora && loraFromSection(config, config.lora, model);
  if (config.lora === null) {
    throw new UsageError(
      `model.model_name_or_path: ${config.model.model_name_or_path} is an adapter, and there is ` +
        `no lora section to continue it`,
      { advice: "Add a lora section, or name the base model for full fine-tuning." },
    );
  }
  return { ...loraOptions(adapter.config), dropout: dropoutOf(config) };
}
