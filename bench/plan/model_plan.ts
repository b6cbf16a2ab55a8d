/**
 * Finds the models that a user names: where each is, how it is asked, and its base. The
 * config.yaml of a checkpoint's run holds the prompts that it was trained with; its base is asked
 * with the same prompts.
 */
import { reworded, UsageError } from "../../core/errors.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { isLocalTime, type LocalTime, localTime } from "../../core/local_time.ts";
import { didYouMean } from "../../core/suggest.ts";
import { loadConfig } from "../../configs/load.ts";
import { ANY_DATASET } from "../../configs/reading/resolve_paths.ts";
import { MULTI_TURN } from "../../configs/schema/multi_turn_keys.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { defaultsOf } from "../../configs/types/key_spec.ts";
import { hasProblems, isDataGone } from "../../data/open_problems.ts";
import { systemPromptText } from "../../data/prompt.ts";
import { checkpointNotes, fetchAdvice, findModel, missing } from "../../hub/find_model.ts";
import { requireInt8Weights } from "../../models/generation/int8_activations.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import { loadTokenizer, noTokenizer } from "../../models/tokenizers/tokenizer.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import {
  fingerprintOf,
  type LocalPlace,
  type ModelRequest,
  type ModelSettings,
  type UntrainedPlace,
} from "./model_request.ts";
import { type DialogueKeys, dialogueKeys, endTokens } from "../dialogue/dialogue.ts";
import { hasChatTemplate, PromptEncoder } from "../evaluation/prompt_encoder.ts";
import {
  DEFAULT_PROMPT_SETTINGS,
  type PromptSettings,
  promptTokensKept,
  runPromptSettings,
} from "../evaluation/prompt_settings.ts";
import type { PromptRecord, Sampling } from "../results/result_file.ts";
import {
  isRemoteName,
  type NamedModel,
  namedModel,
  REMOTE_PREFIX,
} from "../../core/remote/model_names.ts";
import { untrainedFingerprint, untrainedOf, untrainedTokenizer } from "./starting_model.ts";
import {
  environmentTitle,
  hasEnvironments,
  type OpenEnvironments,
  openEnvironments,
} from "../../rewards/environments/open_environments.ts";
import { isAdapterFolder } from "../../models/network/adapters/peft_adapter.ts";

/**
 * The user's settings for all models. Other settings come from the checkpoints' runs, or are the
 * defaults.
 */
export interface AskedModels {
  /** Parts of the prompt that replace those of each model's run. */
  prompt?: Partial<PromptSettings>;
  /**
   * Parts of the sampling that replace those of the models' runs; default: greedy, or at
   * temperature 1 with several samples.
   */
  sampling?: Partial<Sampling>;
  /** Seed of the draws. */
  seed: number;
  /**
   * Maximum number of completions that a model on this machine decodes together; default: as many
   * as are fastest.
   */
  batchSize?: number;
  /** Whether the models that adapters and runs began with are measured too. */
  includeBase: boolean;
  /** Address of the server of remote models, and whether it takes messages or plain text. */
  remote: { address: string; format: PromptSettings["format"] };
  /** System prompts of single models, by the model's name. */
  systemPrompts?: Readonly<Record<string, string | null>>;
  /** Environments and tools; default: those of each model's run. */
  dialogues?: AskedDialogues;
}

/**
 * Environments, tools and limits that replace those of the models' runs; null: an answer is one
 * turn, also where the run had dialogues.
 */
export type AskedDialogues =
  | Partial<
    Omit<DialogueKeys, "limits"> & {
      limits: Partial<DialogueKeys["limits"]>;
      /** Start the programs and ask the servers that a run's own configuration names. */
      allow_commands: boolean;
    }
  >
  | null;

export interface PlannedModel extends ModelRequest {
  /** Configuration of the model's run; null for a model without a run, and for a base. */
  run: RunConfig | null;
  /** Whether another model of the benchmark was trained from this one. */
  isBase: boolean;
}

/** Where a model of this machine is. */
type Here = LocalPlace | UntrainedPlace;

interface Found {
  name: string;
  where: Here;
  /** The tokenizer, where it was read already. */
  tokenizer?: Tokenizer | null;
  run: RunConfig | null;
  /**
   * The time that the run has written into its prompts; null = there is no such time, or no run.
   */
  promptTime: LocalTime | null;
  base: { name: string; where: Here } | null;
}

/**
 * All models in the order given, each followed by its base unless the user names that too.
 * @param texts places, or `NAME=PLACE`
 * @throws UsageError when a model is not there or is named twice
 */
export async function planModels(
  texts: readonly string[],
  asked: AskedModels,
): Promise<{ models: PlannedModel[]; sampling: Sampling; warnings: string[] }> {
  const named = texts.map(namedModel), names = named.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new UsageError(`the model ${twice} is named twice`);
  if (names.length === 0) {
    throw new UsageError("no model is named", {
      advice: "Name one or several: folders, or openai:NAME of a server.",
    });
  }
  const empty = named.find(({ place }) => place === "" || place === REMOTE_PREFIX);
  if (empty !== undefined) {
    const advice = `--models ${empty.place === "" ? "FOLDER" : `${REMOTE_PREFIX}NAME`} …`;
    throw new UsageError("the name of a model is empty", { advice });
  }
  const warnings: string[] = [];
  const found = new Map<string, Found | null>();
  for (const [i, model] of named.entries()) {
    const isRemote = isRemoteName(texts[i]!);
    found.set(model.name, isRemote ? null : await locate(model, asked, warnings));
  }
  const runs = [...found.values()].flatMap((model) => model?.run ?? []);
  const sampling = samplingOf(asked.sampling ?? {}, runs, warnings);
  const local = [...found.values()].filter((model) => model !== null);
  for (
    const [name, value] of [
      ["activations", "int8"],
      ["kv_cache_dtype", "bfloat16"],
      ["compute_dtype", "bfloat16"],
      ["compute_dtype", "float16"],
    ] as const
  ) {
    if (sampling[name] !== value || local.length === found.size) continue;
    throw new UsageError(`${name} ${value}: a remote model computes as its server does`, {
      advice: "Leave the option out, or measure the local models apart.",
    });
  }
  const models: PlannedModel[] = [];
  const opened: Opened = new Map();
  const taken = new Set(local.map(({ where }) => identity(where)));
  const placeOf = (name: string) => named.find((model) => model.name === name)!.place;
  for (const [name, model] of found) {
    if (model === null) {
      const settings = settingsOf(name, null, asked, sampling);
      if (settings.dialogues !== undefined) {
        throw new UsageError(`${name}: environments and tools need a model on this machine`, {
          advice: "Leave them out, or serve the model's folder from here: rgx serve.",
        });
      }
      models.push({
        name,
        where: { kind: "remote", model: placeOf(name).slice(REMOTE_PREFIX.length) },
        settings: {
          ...settings,
          prompt: { ...settings.prompt, format: asked.remote.format },
        },
        fingerprint: asked.remote.address,
        run: null,
        isBase: false,
      });
      continue;
    }
    // A base that the user names is asked like the checkpoint that was trained from it.
    const from = local.find(({ base }) =>
      base !== null && identity(base.where) === identity(model.where)
    );
    const trained = model.run !== null || from === undefined ? model : from;
    const isBase = from !== undefined, { promptTime } = trained;
    const asTrained = settingsOf(name, trained.run, asked, sampling);
    models.push({
      ...await localModel({ ...model, promptTime }, asTrained, opened),
      isBase,
    });
    const { base } = model;
    if (!asked.includeBase || base === null || taken.has(identity(base.where))) continue;
    taken.add(identity(base.where));
    // Two runs with one name in two folders began with two different models.
    const baseName = models.some(({ name }) => name === base.name) || names.includes(base.name)
      ? `${base.name} of ${name}`
      : base.name;
    const settings = settingsOf(baseName, trained.run, asked, sampling);
    const found = { ...base, name: baseName, run: null, promptTime, base: null };
    models.push({ ...await localModel(found, settings, opened), isBase: true });
  }
  for (const { name, settings: { prompt } } of models) checkShots(name, prompt);
  const { limits = {} } = asked.dialogues ?? {};
  const [limit] = Object.keys(limits);
  if (limit !== undefined && models.every(({ settings }) => settings.dialogues === undefined)) {
    throw new UsageError(`${limit} has no effect without environment, environments or tools`);
  }
  warnings.push(...askedOtherwise(local, models, asked));
  return { models, sampling, warnings };
}

/**
 * Notes for models that are asked differently than their base. A base of several models, or with a
 * run of its own, has only one prompt.
 */
function askedOtherwise(
  local: readonly Found[],
  models: readonly PlannedModel[],
  { systemPrompts = {} }: AskedModels,
): string[] {
  const promptOf = ({ settings: { prompt, dialogues } }: PlannedModel) =>
    JSON.stringify([
      dialogues,
      prompt.system_prompt,
      prompt.system_role,
      prompt.add_instructions,
      prompt.format,
    ]);
  const heldAs = ({ where }: PlannedModel) =>
    JSON.stringify(where.kind === "local" && where.storage || null);
  return local.flatMap(({ name, base }) => {
    const model = models.find((one) => one.name === name)!;
    const other = models.find(({ where }) =>
      base !== null && where.kind !== "remote" && identity(where) === identity(base.where)
    );
    if (other !== undefined && heldAs(model) !== heldAs(other)) {
      return [
        `${name} and ${other.name}, from which it was trained, hold weights in different types`,
      ];
    }
    const isSaid = Object.hasOwn(systemPrompts, name) ||
      other !== undefined && Object.hasOwn(systemPrompts, other.name);
    return other === undefined || isSaid || promptOf(other) === promptOf(model) ? [] : [
      `${name} and ${other.name}, from which it was trained, are asked with different prompts`,
    ];
  });
}

/** @throws UsageError when worked examples are to be turns, and the model has no chat template */
function checkShots(name: string, { format, few_shot, few_shot_as }: PromptSettings): void {
  if (few_shot === 0 || few_shot_as !== "turns" || format === "chat") return;
  throw new UsageError(
    `${name}: worked examples as turns need a chat template, and it is asked without one`,
    { advice: "put them into one prompt: --few-shot-as prompt" },
  );
}

/** The same for two places of one model. */
function identity(where: Here): string {
  return where.kind === "local" ? where.path : untrainedFingerprint(where.made);
}

async function localModel(
  found: Found,
  settings: ModelSettings,
  opened: Opened,
): Promise<Omit<PlannedModel, "isBase">> {
  const { name, where, run, promptTime } = found, tokenizer = await tokenizerOf(found);
  if (tokenizer === null) {
    throw noTokenizer(name, "Put the model's tokenizer.json into its folder.");
  }
  if (settings.sampling.activations === "int8" && where.kind === "local") {
    requireInt8Weights(await readModelFolder(where.path), where.storage ?? {});
  }
  const fingerprint = where.kind === "untrained"
    ? untrainedFingerprint(where.made)
    : fingerprintOf(where);
  const isChat = settings.prompt.format === "chat" && hasChatTemplate(tokenizer);
  const values = settings.prompt.chat_template_kwargs ?? {};
  checkVariables(values, isChat ? tokenizer.chatVariables : null, `${name}: chat_template_kwargs`);
  const prompt = {
    ...settings.prompt,
    format: isChat ? "chat" as const : "plain" as const,
    ...(isChat && tokenizer.chatReadsClock && { prompt_time: promptTime ?? localTime() }),
  };
  await checkDialogues(name, new PromptEncoder(tokenizer, prompt, []), settings, opened);
  return { name, where, settings: { ...settings, prompt }, fingerprint, run };
}

/** Environments that a model was checked with, by their keys: they start once for all models. */
type Opened = Map<string, OpenEnvironments | null>;

/** @throws UsageError for files that cannot be used, and tools that the model cannot be shown */
async function checkDialogues(
  name: string,
  prompts: PromptEncoder,
  { dialogues }: ModelSettings,
  opened: Opened,
): Promise<void> {
  if (dialogues === undefined) return;
  const { limits, ...files } = dialogues, key = JSON.stringify(files);
  if (!opened.has(key)) opened.set(key, await openEnvironments(dialogues));
  const environments = opened.get(key)!;
  try {
    endTokens(prompts, environments, limits.format);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw reworded(error, `${name}: ${error.message}`);
  }
}

async function tokenizerOf({ where, tokenizer }: Found): Promise<Tokenizer | null> {
  if (tokenizer !== undefined) return tokenizer;
  if (where.kind === "untrained") return await untrainedTokenizer(where.made);
  if (where.tokenizer !== undefined) return await loadTokenizer(where.tokenizer);
  return (await readModelFolder(where.path)).tokenizer;
}

/** @throws UsageError naming the nearest folder when there is none */
async function locate(
  { name, place }: NamedModel,
  asked: AskedModels,
  warnings: string[],
): Promise<Found> {
  const found = await findModel(place);
  warnings.push(...checkpointNotes(place, found));
  if (found.path === null) throw await notFound(place, found.lookedAt);
  const path = Deno.realPathSync(found.path);
  const unused = asked.dialogues === null
    ? ["environment=null", "environments=null", "tools=[]"]
    : [];
  const { config, name: runName, promptTime } = await runOf(path, warnings, unused);
  if (config !== null && await isDataGone(config.data)) {
    const { dataset_name: data } = config.data;
    warnings.push(
      `${name}: the data that it was trained on is not here (${data}): a file with the same name ` +
        "counts as that one; of others it is not known which questions it was trained on",
    );
  }
  const folder = await readModelFolder(path), weights = Deno.realPathSync(folder.path);
  const basePathOfRun = config === null ? null : config.model.model_name_or_path;
  const continued = config === null || folder.adapter === null
    ? null
    : await continuedAdapter(config, weights);
  const basePath = folder.adapter !== null
    ? continued?.path ?? weights
    : basePathOfRun === null
    ? null
    : realPath((await findModel(basePathOfRun)).path ?? basePathOfRun);
  const made = config !== null && basePathOfRun === null && basePath === null
    ? await untrainedOf(config)
    : null;
  const held = config === null || folder.adapter === null ? {} : storageOf(config);
  const { tokenizer } = folder, where = { kind: "local" as const, path, weights, ...held };
  const known = { name, where, tokenizer, run: config, promptTime };
  if (made !== null) {
    const ownName = name === place ? runName : name;
    const base = { name: `${ownName} (untrained)`, where: { kind: "untrained" as const, made } };
    return { ...known, base };
  }
  if (asked.includeBase && config !== null && basePath === null) {
    warnings.push(
      basePathOfRun === null
        ? `${name}: what its run began with cannot be made again: its tokenizer is not here`
        : `${name}: its base model ${basePathOfRun} is not here and is left out`,
    );
  }
  if (basePath === null || basePath === path) return { ...known, base: null };
  const baseName = continued?.name ?? basePathOfRun ?? folder.adapter?.config.baseModel ?? basePath;
  const baseWeights = continued === null ? basePath : weights;
  const base = { kind: "local" as const, path: basePath, weights: baseWeights, ...held };
  // The run's own chat template is stored with the tokenizer in its folder.
  if (config !== null && config.model.chat_template !== null && tokenizer !== null) {
    return { ...known, base: { name: baseName, where: { ...base, tokenizer: path } } };
  }
  const tokenizerName = config?.model.tokenizer_name_or_path ?? null;
  if (tokenizerName === null) return { ...known, base: { name: baseName, where: base } };
  const beside = (await findModel(tokenizerName)).path;
  if (asked.includeBase && beside === null) {
    warnings.push(
      `${name}: the tokenizer of its run, ${tokenizerName}, is not here: its base has its own`,
    );
  }
  const tokenizerPlace = beside === null ? {} : { tokenizer: beside };
  return { ...known, base: { name: baseName, where: { ...base, ...tokenizerPlace } } };
}

/** The weight types of a run's training; its adapter belongs to weights of these types. */
function storageOf({ model }: RunConfig): { storage?: StorageOptions } {
  const { dtype, load_in_4bit: four, load_in_8bit: eight } = model;
  if (dtype === "auto" && !four && !eight) return {};
  return { storage: { dtype, quantize: four ? "nf4" : eight ? "int8" : null } };
}

async function notFound(name: string, lookedAt: readonly string[]): Promise<UsageError> {
  return new UsageError(`${missing(name, lookedAt).message}${await nearestFolder(name)}`, {
    advice: `${fetchAdvice(name) ?? ""}A model is a Hugging Face folder, a run, a checkpoint, ` +
      "an adapter, or openai:NAME.",
  });
}

/** The run of a folder that is the run's, or a checkpoint's: its configuration and its name. */
async function runOf(
  path: string,
  warnings: string[],
  unused: readonly string[],
): Promise<{ config: RunConfig | null; name: string; promptTime: LocalTime | null }> {
  for (const folder of [path, `${path}/..`, `${path}/../..`]) {
    const isRun = realPath(`${folder}/run.json`) !== null;
    if (!isRun || realPath(`${folder}/config.yaml`) === null) continue;
    try {
      // A benchmark needs no rewards and no data: their files may be elsewhere.
      const { config } = await loadConfig(`${folder}/config.yaml`, {
        overrides: ["rewards=[correctness]", ...unused],
        heldDataset: ANY_DATASET,
      });
      const name = Deno.realPathSync(folder).split(/[/\\]/).at(-1)!;
      return { config, name, promptTime: await promptTimeOf(`${folder}/run.json`) };
    } catch (error) {
      warnings.push(
        `${folder}/config.yaml is not used: ${(error as Error).message}\n` +
          "So it is not known which of the problems it was trained on, nor its prompts.",
      );
      break;
    }
  }
  return { config: null, name: "", promptTime: null };
}

/**
 * The time that a run has written into its prompts, from run.json; null = there is none, or
 * run.json is damaged.
 */
async function promptTimeOf(file: string): Promise<LocalTime | null> {
  const time = (await readJsonObject(file).catch(() => null))?.["prompt_time"];
  return isLocalTime(time) ? time : null;
}

function settingsOf(
  name: string,
  run: RunConfig | null,
  asked: AskedModels,
  sampling: Sampling,
): ModelSettings {
  const known: PromptRecord = run === null
    ? { ...DEFAULT_PROMPT_SETTINGS, from: "default" }
    : { ...runPromptSettings(run), from: "checkpoint" };
  const systemPrompts = asked.systemPrompts ?? {};
  const changes = {
    ...asked.prompt,
    ...(Object.hasOwn(systemPrompts, name) && { system_prompt: systemPrompts[name] ?? null }),
  };
  const isChanged = Object.keys(changes).some((key) =>
    /system_prompt|system_role|add_inst/.test(key)
  );
  const { system_role: role, ...prompt } = {
    ...known,
    ...changes,
    ...(isChanged && { from: "benchmark" as const }),
  };
  const text = prompt.system_prompt === null ? null : systemPromptText(prompt.system_prompt);
  return {
    prompt: {
      ...prompt,
      system_prompt: text,
      ...(role !== undefined && role !== "system" && { system_role: role }),
    },
    sampling,
    seed: asked.seed,
    keepPromptTokens: run === null ? null : promptTokensKept(run.training),
    ...(asked.batchSize !== undefined && { batchSize: asked.batchSize }),
    ...dialoguesOf(run, asked.dialogues),
  };
}

const ONE_TURN: DialogueKeys = {
  environment: null,
  environments: null,
  tools: [],
  limits: { ...defaultsOf(MULTI_TURN), max_tool_calling_iterations: null },
};

/** The dialogues that a model is asked in: those that are asked for, or else those of its run. */
function dialoguesOf(
  run: RunConfig | null,
  asked: AskedDialogues = {},
): Pick<ModelSettings, "dialogues"> {
  if (asked === null) return {};
  // An environment that makes its own problems has nothing to say about others.
  const known = run === null || !hasProblems(run.data) ? ONE_TURN : dialogueKeys(run);
  const { limits, allow_commands = false, ...named } = asked;
  const isReplaced = named.environment !== undefined || named.environments !== undefined;
  const own = [
    ...isReplaced ? [] : [known.environment, ...Object.values(known.environments ?? {})],
    ...named.tools === undefined ? known.tools : [],
  ].find((section) => section !== null && section.path === undefined && section.name === undefined);
  // A run's folder may come from somebody else.
  if (own != null && !allow_commands) {
    throw new UsageError(
      `a model was trained with ${environmentTitle(own)}, which may do anything`,
      {
        advice:
          "Add --allow-commands if you trust it. --environment FILE takes another environment, " +
          "--no-environment none.",
      },
    );
  }
  const dialogues = {
    ...known,
    ...(isReplaced && { environment: null, environments: null }),
    ...named,
    limits: { ...known.limits, ...limits },
  };
  return hasEnvironments(dialogues) ? { dialogues } : {};
}

/**
 * The real path, or null when there is no such file. It is synchronous, since a turn of the event
 * loop takes ten times as long as this look-up.
 */
function realPath(path: string): string | null {
  try {
    return Deno.realPathSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return null;
    }
    throw error;
  }
}

async function nearestFolder(name: string): Promise<string> {
  const at = name.replace(/\/+$/, "").lastIndexOf("/");
  const parent = at < 0 ? "." : name.slice(0, at) || "/", last = name.slice(at + 1);
  const folders: string[] = [];
  try {
    for await (const entry of Deno.readDir(parent)) if (!entry.isFile) folders.push(entry.name);
  } catch {
    return ""; // the parent folder does not exist
  }
  const hint = didYouMean(last, folders.sort());
  return at < 0 ? hint : hint.replace("did you mean ", `did you mean ${parent}/`);
}

/* The sampling of a benchmark: settings of the user, else of the models' runs, else defaults. */

/** Maximum number of tokens of an answer where neither the user nor a run sets it. */
const DEFAULT_MAX_NEW_TOKENS = 512;

/**
 * The sampling of all models. The settings that also shape greedy answers come from the runs, and
 * so does the longest completion length. One greedy sample stands for several: all would be equal.
 */
export function samplingOf(
  asked: Partial<Sampling>,
  runs: readonly RunConfig[],
  warnings: string[],
): Sampling {
  const { samples = 1, ...given } = asked;
  const longest = Math.max(0, ...runs.map(({ training }) => training.max_completion_length));
  const sampling = {
    temperature: samples > 1 ? 1 : 0,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    ...shapeOf(runs, given, warnings),
    max_new_tokens: longest > 0 ? longest : DEFAULT_MAX_NEW_TOKENS,
    samples,
    ...given,
  };
  // The defaults are left out, since the settings are part of the key of stored answers.
  if (sampling.activations === "float32") delete sampling.activations;
  if (sampling.kv_cache_dtype === "float32") delete sampling.kv_cache_dtype;
  if (sampling.compute_dtype === "float32") delete sampling.compute_dtype;
  if (samples === 1 || sampling.temperature !== 0) return sampling;
  warnings.push(
    `at temperature 0 all ${samples} samples of a problem are the same: each is asked once`,
  );
  return { ...sampling, samples: 1 };
}

function shapeOf(
  runs: readonly RunConfig[],
  given: Partial<Sampling>,
  warnings: string[],
): Partial<Sampling> {
  const shapes = runs.map(({ training: { repetition_penalty, stop, min_new_tokens } }) => ({
    repetition_penalty,
    ...(stop.length > 0 && { stop }),
    ...(min_new_tokens > 0 && { min_new_tokens }),
    ...given,
  }));
  if (new Set(shapes.map((shape) => JSON.stringify(shape))).size <= 1) return shapes[0] ?? {};
  warnings.push(
    "the runs differ in repetition_penalty, stop or min_new_tokens: all models are asked without " +
      "them, unless --repetition-penalty and --stop say more",
  );
  return {};
}

/* The adapter that a run began with, to compare the trained one with. */

/**
 * The adapter that a run has trained further; null: the run began with a new adapter, or the old
 * one is gone.
 * @param weights the real path of the run's base model
 */
async function continuedAdapter(
  { model }: RunConfig,
  weights: string,
): Promise<{ name: string; path: string } | null> {
  const name = model.adapter_name_or_path ?? model.model_name_or_path;
  const found = name === null ? null : (await findModel(name)).path;
  if (name === null || found === null || !await isAdapterFolder(found)) return null;
  const path = Deno.realPathSync(found);
  // The adapter may have been trained on another base before.
  const base = await readModelFolder(path).then((folder) => folder.path, () => null);
  return base !== null && Deno.realPathSync(base) === weights ? { name, path } : null;
}
