/**
 * Reads the YAML file of `rgx eval`: a model, and categories of data sets with their parameters.
 * Two common styles are accepted: that for a model on this machine (model_path, eval_repeats,
 * developer_prompt, …; only full scores count) and that for a remote model (model,
 * completions_per_prompt, system_prompt_id, …; partial scores count). Additional keys of rgx:
 * models, base_url, api_key_env, seed, samples, add_instructions, chat_template_kwargs, few_shot,
 * few_shot_as, batch_size, environment, environments, tools, multi_turn,
 * max_tool_calling_iterations.
 */
import { dirname, resolve } from "node:path";
import { findFile, resolveEnvironments } from "../../configs/reading/resolve_paths.ts";
import {
  asText,
  describeNode,
  emptyMap,
  formatPosition,
  isNull,
  type Json,
  type MapEntry,
  type MapNode,
  Problems,
  toJson,
  withEntry,
} from "../../configs/documents/node.ts";
import { fileName } from "../../core/paths.ts";
import { didYouMean, nearest } from "../../core/suggest.ts";
import { SYSTEM_PROMPTS } from "../../data/prompt.ts";
import { hasTask, taskNames, validateTaskConfig } from "../../tasks/registry.ts";
import type { BenchmarkOptions } from "../benchmark.ts";
import { DATASET_NAMES } from "../../data/dataset_entries.ts";
import { isRemoteName, namedModel, REMOTE_PREFIX } from "../../core/remote/model_names.ts";
import type { RemoteOptions } from "../../core/remote/server.ts";
import type { AskedDialogues } from "../plan/model_plan.ts";
import type { PromptSettings } from "../evaluation/prompt_settings.ts";
import type { TaskRequest } from "../plan/test_set.ts";
import type { Sampling } from "../results/result_file.ts";
import { EMBEDDED, evaluationNames } from "../../configs/documents/embedded.ts";
import { decodeUtf8 } from "../../configs/documents/yaml_source.ts";
import { type ConfigFile, loadInherited } from "../../configs/reading/inherit.ts";
import { ENVIRONMENTS, MULTI_TURN } from "../../configs/schema/multi_turn_keys.ts";
import { isGame } from "../../rewards/environments/boards/board_environment.ts";
import { interpolate } from "../../configs/reading/interpolation.ts";
import { meaningOf } from "../../configs/reading/key_names.ts";
import { TaskFiles } from "../../configs/reading/task_files.ts";
import { UsageError } from "../../core/errors.ts";
import { whyUnreadable } from "../../core/text_file.ts";
import {
  below,
  bool,
  choice,
  float,
  freeMap,
  int,
  listOf,
  nullable,
  text,
  type ValueType,
} from "../../configs/types/value_types.ts";
import { PROMPT_ROLES } from "../../data/prompt_roles.ts";

export interface EvalDescription {
  options: BenchmarkOptions;
  saveMetadata: boolean;
  saveFullResults: boolean;
  /** Notes for the user. */
  notes: string[];
}

/** The options of the command line about the tasks of a file. */
export interface ChosenTasks {
  /** The file may be without tasks, because the command line names tasks. */
  tasksElsewhere?: boolean;
  /** Only the tasks of this category. */
  category?: string;
}

/** @throws UsageError that lists everything that is wrong, with file, line and key */
export async function readEvalConfig(
  path: string,
  chosen: ChosenTasks = {},
): Promise<EvalDescription> {
  const problems = new Problems(), tree = await readEvalTree(path, problems);
  const description = tree === null ? null : describe(tree, problems, chosen);
  problems.throwIfAny();
  return await withPlaces(description!, dirname(path));
}

/** Looks for models and data files in the folder of the description too. */
async function withPlaces(
  { options, ...rest }: EvalDescription,
  folder: string,
): Promise<EvalDescription> {
  const place = async (path: string) => await findFile(path, folder, Deno.cwd()) ?? path;
  const models = await Promise.all(options.models.map(place));
  const systemPrompts = Object.fromEntries(
    Object.entries(options.systemPrompts ?? {}).map(([name, prompt]) => [
      models[options.models.indexOf(name)]!,
      prompt,
    ]),
  );
  const tasks = await Promise.all(
    options.tasks.map(async (task) =>
      typeof task === "string" || task.path === undefined
        ? task
        : { ...task, path: await place(task.path) }
    ),
  );
  return { ...rest, options: { ...options, models, systemPrompts, tasks } };
}

/** Whatever is wrong goes to `problems`. */
function describe(tree: MapNode, problems: Problems, chosen: ChosenTasks): EvalDescription {
  const v = KEYS.read(tree, (at, text, sub = ".") => problems.add(at, sub.slice(1), text))!;
  const at = (key: string) => tree.entries.get(key)?.node.at ?? tree.at;
  const note = (key: string, text: string) =>
    problems.note(tree.entries.get(key)!.keyAt, key, text);
  for (const names of SAME) {
    const [first, second] = names.filter((name) => v[name] != null);
    if (second === undefined) continue;
    const where = formatPosition(tree.entries.get(first!)!.keyAt);
    const { keyAt } = tree.entries.get(second)!;
    problems.add(keyAt, second, `the same as ${first}, which is given at ${where}`);
  }
  // The remote style always has a system prompt; it asks for the answer's form.
  const isRemoteStyle = v.model != null;
  const id = v.system_prompt_id ?? (isRemoteStyle ? "default" : null);
  if (id !== null && !Object.hasOwn(SYSTEM_PROMPTS, id)) {
    const names = Object.keys(SYSTEM_PROMPTS), hint = didYouMean(id, names);
    const text = `unknown system prompt${hint} (${names.join(", ")})`;
    problems.add(at("system_prompt_id"), "system_prompt_id", text);
  }
  const system = v.system_prompt ?? v.developer_prompt ?? id;
  if (v.system_prompt != null && v.system_prompt_id != null) {
    note("system_prompt_id", "no effect beside system_prompt");
  }
  if (v.dtype != null && v.dtype !== "auto") {
    note("dtype", "no effect: weights stay as they are stored, products are in float32");
  }
  const prompt = present<PromptSettings>({
    system_prompt: system,
    system_role: v.system_role ?? v.developer_role,
    add_instructions: v.add_instructions ?? (system ? false : null),
    few_shot: v.few_shot,
    few_shot_as: v.few_shot_as,
    chat_template_kwargs: v.chat_template_kwargs,
  });
  // An empty system prompt means none, whatever the checkpoint's run had.
  if (system === "") prompt.system_prompt = null;
  const sampling = present<Sampling>({
    temperature: v.temperature ?? (isRemoteStyle ? 0.6 : null),
    top_p: v.top_p ?? (isRemoteStyle ? 0.95 : null),
    activations: v.activations,
    kv_cache_dtype: v.kv_cache_dtype,
    compute_dtype: v.compute_dtype,
    max_new_tokens: v.max_tokens ?? (isRemoteStyle ? 32768 : null),
    samples: v.samples ?? v.completions_per_prompt ?? v.eval_repeats,
  });
  const { model_path: path, model, models = [] } = v;
  const makesProblems = v.environment?.path !== undefined || isGame(v.environment?.name);
  const isElsewhere = chosen.tasksElsewhere || makesProblems;
  if (v.categories?.length === 0 || isMissing(tree, "categories") && !isElsewhere) {
    const what = isMissing(tree, "categories") ? "missing" : "empty";
    const text = `${what}, expected a list of categories with their datasets`;
    problems.add(at("categories"), "categories", text);
  }
  const binary = v.binary ?? !isRemoteStyle;
  const tasks = (v.categories ?? []).flat().map((task) => ({ ...task, binary }));
  const { category: wanted } = chosen;
  const asked = tasks.filter(({ category }) => wanted === undefined || category === wanted);
  if (tasks.length > 0 && asked.length === 0) {
    const names = [...new Set(tasks.flatMap(({ category }) => category ?? []))];
    const text = `none is named "${wanted}"${didYouMean(wanted!, names)} (${names.join(", ")})`;
    problems.add(at("categories"), "categories", text);
  }
  const dialogues = dialoguesOf(v);
  return {
    options: {
      models: [
        ...path === undefined ? [] : [path],
        ...model === undefined ? [] : [isRemoteName(model) ? model : REMOTE_PREFIX + model],
        ...models.map(({ name }) => name),
      ],
      tasks: withLabels(asked),
      numExamples: v.default_size ?? 500,
      outputDir: v.output_dir ?? "results",
      includeBase: false,
      ...present<BenchmarkOptions>({ seed: v.seed ?? v.default_seed, batchSize: v.batch_size }),
      sampling,
      prompt,
      systemPrompts: Object.fromEntries(
        models.filter((one) => one.system_prompt !== undefined)
          .map(({ name, system_prompt }) => [namedModel(name).name, system_prompt || null]),
      ),
      ...(Object.keys(dialogues).length > 0 && { dialogues }),
      remote: present<RemoteOptions>({
        baseUrl: v.base_url,
        apiKeyEnv: v.api_key_env,
        concurrency: v.max_concurrent,
        provider: v.provider,
      }),
    },
    saveMetadata: v.save_metadata ?? false,
    saveFullResults: v.save_full_results ?? false,
    notes: problems.notes,
  };
}

function dialoguesOf(
  { environment, environments, tools, multi_turn, max_tool_calling_iterations }: EvalValues,
): Exclude<AskedDialogues, null> {
  const limits = { ...multi_turn, ...written({ max_tool_calling_iterations }) };
  return written({
    environment,
    environments,
    tools,
    limits: Object.keys(limits).length > 0 ? limits : undefined,
  });
}

function isMissing(map: MapNode, key: string): boolean {
  const node = map.entries.get(key)?.node;
  return node === undefined || isNull(node);
}

/** Gives data sets that are named twice different labels, by their category or a number. */
function withLabels(tasks: readonly TaskRequest[]): TaskRequest[] {
  const taken = new Set<string>();
  return tasks.map((task) => {
    const isTwice = tasks.filter(({ name }) => name === task.name).length > 1;
    const base = isTwice && task.category ? `${task.category}_${task.name}` : task.name;
    let label = base;
    for (let n = 2; taken.has(fileName(label)); n++) label = `${base}_${n}`;
    taken.add(fileName(label));
    return { ...task, label };
  });
}

/** The values that are written: null takes away what the run of a model had. */
function written<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function present<T>(values: { [K in keyof T]?: unknown }): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as Partial<
    T
  >;
}

// Reads the file of `rgx eval` as a tree: with its bases (`_base_`), and with the texts in `${…}`
// filled in, as configurations of training have them.

/**
 * The tree of a file, or of an embedded evaluation with this name. Null: the file cannot be read as
 * a whole; `problems` then says why.
 * @throws UsageError when there is no such file
 */
async function readEvalTree(path: string, problems: Problems): Promise<MapNode | null> {
  const file = await fileOf(path, problems);
  if (file === null) return null;
  const env = Deno.env.toObject();
  const tree = await loadInherited(file, env, problems, { isRun: false });
  if (problems.incomplete) return null;
  refuseTraining(tree, path);
  const filled = interpolate(tree, env, problems);
  return await withTaskFiles(await resolveEnvironments(filled, Deno.cwd(), problems), problems);
}

/** @throws UsageError for a configuration of training */
function refuseTraining(tree: MapNode, path: string): void {
  if (tree.entries.has("categories")) return;
  const ofTraining = [...tree.entries].find(([name, { node }]) => {
    if (Object.hasOwn(TYPES, name)) return false;
    const meaning = meaningOf(name, node);
    return meaning.kind === "prefix" ||
      (meaning.kind === "key" && /^(rewards$|data\.)/.test(meaning.path));
  });
  if (ofTraining === undefined) return;
  const at = formatPosition(ofTraining[1].keyAt);
  throw new UsageError(`${at}: ${ofTraining[0]}: this is a configuration of training`, {
    advice: `rgx train ${path} trains. An evaluation has categories of data sets, and a model.`,
  });
}

async function fileOf(path: string, problems: Problems): Promise<ConfigFile | null> {
  let bytes: Uint8Array;
  try {
    bytes = await Deno.readFile(path);
  } catch (cause) {
    const name = path.replace(/^rgx:(evaluations\/)?/, "").replace(/\.ya?ml$/, "");
    const embedded = `evaluations/${name}.yaml`;
    if (EMBEDDED.has(embedded)) return { kind: "embedded", path: embedded };
    throw new UsageError(
      `cannot read ${path}: ${whyUnreadable(cause)}${didYouMean(name, evaluationNames())}`,
      { advice: `embedded evaluations: ${evaluationNames().join(", ")}`, cause },
    );
  }
  const text = decodeUtf8(bytes, { name: path, directory: dirname(path) }, problems);
  return text === null ? null : { kind: "text", path: resolve(path), shown: path, text };
}

/** The tree with names of tasks in place of the paths of their files. */
async function withTaskFiles(tree: MapNode, problems: Problems): Promise<MapNode> {
  const categories = tree.entries.get("categories")?.node;
  if (categories?.kind !== "list") return tree;
  const files = new TaskFiles(Deno.cwd(), problems);
  const items = await Promise.all(
    categories.items.map(async (item, i) =>
      item.kind === "map" ? await files.inEntry(item, "datasets", `categories.${i}.datasets`) : item
    ),
  );
  return withEntry(tree, "categories", { ...categories, items });
}

// The keys of the YAML file of `rgx eval`, and the values that each accepts.

type Types = Readonly<Record<string, ValueType<unknown>>>;

/** A map with these keys. A null is like a key that is not there, unless the key takes it. */
function map<const K extends Types>(
  keys: K,
  expected = "a map",
): ValueType<{ [N in keyof K]?: K[N] extends ValueType<infer T> ? T : never }> {
  return {
    expected,
    ts: "unknown",
    read(node, complain) {
      if (node.kind !== "map") {
        return complain(node.at, `expected ${expected}, found ${describeNode(node)}`);
      }
      const values: Record<string, unknown> = {};
      for (const [name, { keyAt, node: value }] of node.entries) {
        const type = Object.hasOwn(keys, name) ? keys[name] : undefined;
        const say = below(name, complain);
        if (type === undefined) {
          const known = Object.keys(keys), hint = didYouMean(name, known);
          const all = hint === "" && known.length < 6 ? `, expected ${known.join(" or ")}` : hint;
          say(keyAt, `unknown key${all}`);
        } else if (type.nullable || !isNull(value)) {
          const read = type.read(value, say);
          if (read !== undefined) values[name] = read;
        }
      }
      return values as never;
    },
  };
}

const COUNT = int({ min: 1 });
const SEED = int({ min: 0 });
const SAMPLES = int({ min: 1, max: 4096 });

const MODEL_MAP = map(
  { name: text(), system_prompt: nullable(text()) },
  "a name, or name and system_prompt",
);

/** A model by its name, or with a system prompt of its own. */
const MODEL: ValueType<{ name: string; system_prompt?: string | null }> = {
  ...MODEL_MAP,
  read(node, complain) {
    const name = asText(node)?.value;
    if (name !== undefined) return { name };
    const values = MODEL_MAP.read(node, complain);
    if (node.kind === "map" && isMissing(node, "name")) complain(node.at, "missing name");
    return values?.name === undefined ? undefined : { ...values, name: values.name };
  },
};

/** The keys of a data set. Any other key is a parameter of the task. */
const DATASET_KEYS = { dataset: text(), size: COUNT, seed: SEED, params: freeMap(), path: text() };
const DATASET_MAP = map(DATASET_KEYS);

/** A data set by its name, or with its parameters. */
const DATASET: ValueType<TaskRequest> = {
  ...DATASET_MAP,
  read(given, complain) {
    const node = asText(given) === null ? given : withEntry(emptyMap(given.at), "dataset", given);
    if (node.kind !== "map") {
      return complain(node.at, `expected a map with dataset, found ${describeNode(node)}`);
    }
    const { known = [], others = [] } = Object.groupBy(
      node.entries,
      ([name]) => Object.hasOwn(DATASET_KEYS, name) ? "known" : "others",
    );
    const { dataset, size, seed, path } = DATASET_MAP.read(
      { ...node, entries: new Map(known) },
      complain,
    )!;
    if (dataset === undefined) {
      if (!isMissing(node, "dataset")) return;
      return complain(node.at, "missing, expected the name of a task", ".dataset");
    }
    const position = node.entries.get("dataset")!.node.at, isFile = DATASET_NAMES.includes(dataset);
    if (!hasTask(dataset) && !isFile) {
      const hint = didYouMean(dataset, [...taskNames(), ...DATASET_NAMES]);
      return complain(position, `unknown task "${dataset}"${hint}`, ".dataset");
    }
    const params = node.entries.get("params")?.node;
    const inParams = params?.kind === "map" ? params.entries : new Map<string, MapEntry>();
    const entries = new Map([...inParams, ...others]);
    for (const [name, { keyAt }] of others) {
      if (inParams.has(name)) complain(keyAt, "also in params", `.${name}`);
    }
    const parameters = toJson({ ...node, entries }) as Record<string, Json>;
    if (isFile) {
      for (const [name, { keyAt }] of entries) {
        complain(keyAt, "a data set has no parameters", `.${name}`);
      }
    } else {
      for (const problem of validateTaskConfig(dataset, parameters)) {
        const name = /^\w+/.exec(problem)?.[0] ?? "", at = entries.get(name)?.keyAt ?? position;
        const isTypo = / unknown field /.test(problem) && !/did you mean/.test(problem);
        const key = isTypo ? nearest(name, Object.keys(DATASET_KEYS)) : null;
        if (key === null) complain(at, problem);
        else complain(at, `unknown key, did you mean ${key}?`, `.${name}`);
      }
      if (path !== undefined) {
        const sets = DATASET_NAMES.join(", ");
        complain(node.entries.get("path")!.keyAt, `only data sets have one (${sets})`, ".path");
      }
    }
    return { name: dataset, parameters, ...present<TaskRequest>({ size, seed, path }) };
  },
};

const CATEGORY_MAP = map({ category: text(), datasets: listOf(DATASET, "a list") });

/** The data sets of a category. */
const CATEGORY: ValueType<TaskRequest[]> = {
  ...CATEGORY_MAP,
  read(node, complain) {
    const { category = null, datasets } = CATEGORY_MAP.read(node, complain) ?? {};
    if (node.kind === "map" && (datasets?.length === 0 || isMissing(node, "datasets"))) {
      const what = datasets === undefined ? "missing" : "empty";
      complain(node.at, `${what}, expected a list of data sets`, ".datasets");
    }
    return datasets?.map((task) => ({ ...task, category }));
  },
};

const { environment, environments, tools } = ENVIRONMENTS.keys;
const LIMITS = Object.fromEntries(
  Object.entries(MULTI_TURN.keys).map(([name, { type }]) => [name, type]),
) as { [N in keyof typeof MULTI_TURN.keys]: typeof MULTI_TURN.keys[N]["type"] };

const TYPES = {
  environment: environment.type,
  environments: environments.type,
  tools: tools.type,
  multi_turn: map(LIMITS),
  max_tool_calling_iterations: nullable(int({ min: 0 })),
  model_path: text(),
  model: text(),
  models: listOf(MODEL, "a list"),
  provider: text(),
  max_concurrent: int({ min: 1, max: 1024 }),
  max_tokens: COUNT,
  temperature: float({ min: 0, max: 100 }),
  top_p: float({ above: 0, max: 1 }),
  activations: choice(["int8", "float32"]),
  kv_cache_dtype: choice(["bfloat16", "float32"]),
  compute_dtype: choice(["bfloat16", "float16", "float32"]),
  // This key has no effect: weights stay in their storage type, and computations are in float32.
  dtype: choice(["auto", "float32", "bfloat16", "float16", "float", "half"]),
  developer_prompt: text(),
  developer_role: choice(PROMPT_ROLES),
  eval_repeats: SAMPLES,
  system_prompt: text(),
  system_prompt_id: text(),
  system_role: choice(PROMPT_ROLES),
  completions_per_prompt: SAMPLES,
  batch_size: COUNT,
  default_size: COUNT,
  default_seed: SEED,
  output_dir: text(),
  save_metadata: bool(),
  save_full_results: bool(),
  categories: listOf(CATEGORY, "a list"),
  base_url: text(),
  api_key_env: text(),
  seed: SEED,
  samples: SAMPLES,
  add_instructions: bool(),
  chat_template_kwargs: freeMap(),
  few_shot: int({ min: 0, max: 64 }),
  few_shot_as: choice(["prompt", "turns"]),
  binary: bool(),
};
const KEYS = map(TYPES);
type EvalValues = NonNullable<ReturnType<typeof KEYS.read>>;

/** Keys with the same meaning, of the two styles and of rgx. A file may have only one of them. */
const SAME: readonly (readonly (keyof EvalValues)[])[] = [
  ["samples", "completions_per_prompt", "eval_repeats"],
  ["seed", "default_seed"],
  ["system_prompt", "developer_prompt"],
  ["system_role", "developer_role"],
];
