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
  type ConfigNode,
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
  anything,
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
  const description = tree === null ? null : new Reader(tree, problems, chosen).description();
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

type Types = Readonly<Record<string, ValueType<unknown>>>;

/** The values of keys that are written. */
type Values<K extends Types> = {
  [N in keyof K]?: K[N] extends ValueType<infer T> ? T : never;
};

class Reader {
  readonly #values: Values<typeof KEYS>;

  constructor(
    readonly tree: MapNode,
    readonly problems: Problems,
    readonly chosen: ChosenTasks,
  ) {
    this.#values = this.#map(tree, KEYS, "");
    for (const names of SAME) {
      const [first, second] = names.filter((name) => this.#values[name] != null);
      if (second === undefined) continue;
      const where = formatPosition(tree.entries.get(first!)!.keyAt);
      const { keyAt } = tree.entries.get(second)!;
      problems.add(keyAt, second, `the same as ${first}, which is given at ${where}`);
    }
  }

  description(): EvalDescription {
    const v = this.#values;
    const { models, systemPrompts } = this.#models();
    // The remote style always has a system prompt; it asks for the answer's form.
    const isRemoteStyle = v.model != null;
    const id = v.system_prompt_id ?? (isRemoteStyle ? "default" : null);
    if (id !== null && !Object.hasOwn(SYSTEM_PROMPTS, id)) {
      const names = Object.keys(SYSTEM_PROMPTS);
      this.#complain(
        "system_prompt_id",
        `unknown system prompt${didYouMean(id, names)}` +
          ` (${names.join(", ")})`,
      );
    }
    const system = v.system_prompt ?? v.developer_prompt ?? id;
    const samples = v.samples ?? v.completions_per_prompt ?? v.eval_repeats;
    if (v.system_prompt != null && v.system_prompt_id != null) {
      this.#note("system_prompt_id", "no effect beside system_prompt");
    }
    if (v.dtype != null && v.dtype !== "auto") {
      this.#note("dtype", "no effect: weights stay as they are stored, products are in float32");
    }
    const role = v.system_role ?? v.developer_role;
    const prompt = present<PromptSettings>({
      system_prompt: system,
      system_role: role,
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
      compute_dtype: v.compute_dtype,
      max_new_tokens: v.max_tokens ?? (isRemoteStyle ? 32768 : null),
      samples,
    });
    const seed = v.seed ?? v.default_seed;
    const dialogues = this.#dialogues();
    return {
      options: {
        models,
        tasks: this.#tasks(v.binary ?? !isRemoteStyle),
        numExamples: v.default_size ?? 500,
        outputDir: v.output_dir ?? "results",
        includeBase: false,
        ...present<BenchmarkOptions>({ seed, batchSize: v.batch_size }),
        sampling,
        prompt,
        systemPrompts,
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
      notes: this.problems.notes,
    };
  }

  #dialogues(): Exclude<AskedDialogues, null> {
    const { environment, environments, tools, max_tool_calling_iterations } = this.#values;
    const node = this.tree.entries.get("multi_turn")?.node;
    const limits = {
      ...(node?.kind === "map" && this.#map(node, LIMITS, "multi_turn.")),
      ...written({ max_tool_calling_iterations }),
    };
    return written({
      environment,
      environments,
      tools,
      limits: Object.keys(limits).length > 0 ? limits : undefined,
    });
  }

  #models(): { models: string[]; systemPrompts: Record<string, string | null> } {
    const { model_path: path, model } = this.#values;
    const models: string[] = [], systemPrompts: Record<string, string | null> = {};
    if (path !== undefined) models.push(path);
    if (model !== undefined) models.push(isRemoteName(model) ? model : REMOTE_PREFIX + model);
    for (const node of this.#items("models")) {
      if (node.kind === "scalar" && typeof node.value === "string") {
        models.push(node.value);
      } else if (node.kind === "map") {
        const { name, system_prompt: prompt } = this.#map(node, MODEL_KEYS, "models.");
        if (name === undefined) {
          if (isMissing(node, "name")) this.problems.add(node.at, "models", "missing name");
          continue;
        }
        models.push(name);
        if (prompt !== undefined) {
          systemPrompts[namedModel(name).name] = prompt || null;
        }
      } else {
        const found = describeNode(node);
        this.problems.add(
          node.at,
          "models",
          `expected a name, or name and system_prompt, found ${found}`,
        );
      }
    }
    return { models, systemPrompts };
  }

  #tasks(binary: boolean): TaskRequest[] {
    const tasks: TaskRequest[] = [];
    const categories = this.#items("categories");
    const isAbsent = isMissing(this.tree, "categories");
    const isEmpty = categories.length === 0 && isListOrNothing(this.tree, "categories");
    const { environment } = this.#values;
    const makesProblems = environment?.path !== undefined || isGame(environment?.name);
    const isElsewhere = this.chosen.tasksElsewhere || makesProblems;
    if (isEmpty && !(isElsewhere && isAbsent)) {
      const what = isAbsent ? "missing" : "empty";
      this.#complain("categories", `${what}, expected a list of categories with their datasets`);
    }
    for (const node of categories) {
      if (node.kind !== "map") {
        this.problems.add(node.at, "categories", `expected a map, found ${describeNode(node)}`);
        continue;
      }
      const { category = null } = this.#map(node, CATEGORY_KEYS, "categories.");
      const datasets = node.entries.get("datasets")?.node;
      const items = datasets?.kind === "list" ? datasets.items : [];
      if (items.length === 0 && isListOrNothing(node, "datasets")) {
        const what = isMissing(node, "datasets") ? "missing" : "empty";
        const text = `${what}, expected a list of data sets`;
        this.problems.add(node.at, "categories.datasets", text);
      }
      for (const dataset of items) {
        const task = this.#task(dataset, category);
        if (task !== null) tasks.push({ ...task, binary });
      }
    }
    return withLabels(this.#chosenOf(tasks));
  }

  #chosenOf(tasks: readonly TaskRequest[]): readonly TaskRequest[] {
    const { category: wanted } = this.chosen;
    if (wanted === undefined || tasks.length === 0) return tasks;
    const chosen = tasks.filter(({ category }) => category === wanted);
    if (chosen.length === 0) {
      const names = [...new Set(tasks.flatMap(({ category }) => category ?? []))];
      const hint = didYouMean(wanted, names);
      this.#complain("categories", `none is named "${wanted}"${hint} (${names.join(", ")})`);
    }
    return chosen;
  }

  #task(node: ConfigNode, category: string | null): TaskRequest | null {
    const isName = node.kind === "scalar" && typeof node.value === "string";
    const map = isName ? withEntry(emptyMap(node.at), "dataset", node) : node;
    if (map.kind !== "map") {
      this.problems.add(
        node.at,
        "datasets",
        `expected a map with dataset, found ${describeNode(node)}`,
      );
      return null;
    }
    const known: [string, MapEntry][] = [], others: [string, MapEntry][] = [];
    for (const entry of map.entries) {
      (Object.hasOwn(DATASET_KEYS, entry[0]) ? known : others).push(entry);
    }
    const values = this.#map({ ...map, entries: new Map(known) }, DATASET_KEYS, "datasets.");
    const { dataset, size, seed, path } = values;
    if (dataset === undefined) {
      if (isMissing(map, "dataset")) {
        this.problems.add(node.at, "dataset", "missing, expected the name of a task");
      }
      return null;
    }
    const position = map.entries.get("dataset")!.node.at;
    const isFile = DATASET_NAMES.includes(dataset);
    if (!hasTask(dataset) && !isFile) {
      const hint = didYouMean(dataset, [...taskNames(), ...DATASET_NAMES]);
      this.problems.add(position, "dataset", `unknown task "${dataset}"${hint}`);
      return null;
    }
    const params = map.entries.get("params")?.node;
    const inParams = params?.kind === "map" ? params.entries : new Map<string, MapEntry>();
    const entries = new Map([...inParams, ...others]);
    for (const [name, { keyAt }] of others) {
      if (inParams.has(name)) this.problems.add(keyAt, `datasets.${name}`, "also in params");
    }
    const parameters = toJson({ ...map, entries }) as Record<string, Json>;
    if (isFile) {
      for (const [name, { keyAt }] of entries) {
        this.problems.add(keyAt, `datasets.${name}`, `a data set has no parameters`);
      }
    } else {
      for (const problem of validateTaskConfig(dataset, parameters)) {
        const name = /^\w+/.exec(problem)?.[0] ?? "", at = entries.get(name)?.keyAt ?? position;
        const isTypo = / unknown field /.test(problem) && !/did you mean/.test(problem);
        const key = isTypo ? nearest(name, Object.keys(DATASET_KEYS)) : null;
        if (key === null) this.problems.add(at, dataset, problem);
        else this.problems.add(at, `datasets.${name}`, `unknown key, did you mean ${key}?`);
      }
      if (path !== undefined) {
        const sets = DATASET_NAMES.join(", ");
        this.problems.add(
          map.entries.get("path")!.keyAt,
          "path",
          `only data sets have one (${sets})`,
        );
      }
    }
    return {
      name: dataset,
      category,
      parameters,
      ...present<TaskRequest>({ size, seed, path }),
    };
  }

  /** The values of a map. Unknown keys and values of a wrong type are reported as problems. */
  #map<K extends Types>(map: MapNode, keys: K, prefix: string): Values<K> {
    const values: Record<string, unknown> = {};
    for (const [name, { keyAt, node }] of map.entries) {
      const type = Object.hasOwn(keys, name) ? keys[name] : undefined;
      if (type === undefined) {
        const known = Object.keys(keys), hint = didYouMean(name, known);
        const all = hint === "" && known.length < 6 ? `, expected ${known.join(" or ")}` : hint;
        this.problems.add(keyAt, prefix + name, `unknown key${all}`);
      } else if (type.nullable || !isNull(node)) { // null is like a key that is not there
        const value = type.read(node, (at, text) => this.problems.add(at, prefix + name, text));
        if (value !== undefined) values[name] = value;
      }
    }
    return values as Values<K>;
  }

  #items(key: string): readonly ConfigNode[] {
    const node = this.tree.entries.get(key)?.node;
    return node?.kind === "list" ? node.items : [];
  }

  #complain(key: string, text: string): void {
    this.problems.add(this.tree.entries.get(key)?.node.at ?? this.tree.at, key, text);
  }

  #note(key: string, text: string): void {
    this.problems.note(this.tree.entries.get(key)!.keyAt, key, text);
  }
}

function isMissing(map: MapNode, key: string): boolean {
  const node = map.entries.get(key)?.node;
  return node === undefined || isNull(node);
}

/** False for a value of another type; the problem was already reported. */
function isListOrNothing(map: MapNode, key: string): boolean {
  return isMissing(map, key) || map.entries.get(key)!.node.kind === "list";
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
    if (Object.hasOwn(KEYS, name)) return false;
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

// The keys of the YAML file of `rgx eval`, the values that each accepts, and their descriptions.

const COUNT = int({ min: 1 });
const SEED = int({ min: 0 });
const SAMPLES = int({ min: 1, max: 4096 });
const LIST = listOf(anything("anything"), "a list");

const { environment, environments, tools } = ENVIRONMENTS.keys;
const LIMITS = Object.fromEntries(
  Object.entries(MULTI_TURN.keys).map(([name, { type }]) => [name, type]),
);

const KEYS = {
  environment: environment.type,
  environments: environments.type,
  tools: tools.type,
  multi_turn: freeMap(),
  max_tool_calling_iterations: nullable(int({ min: 0 })),
  model_path: text(),
  model: text(),
  models: LIST,
  provider: text(),
  max_concurrent: int({ min: 1, max: 1024 }),
  max_tokens: COUNT,
  temperature: float({ min: 0, max: 100 }),
  top_p: float({ above: 0, max: 1 }),
  activations: choice(["int8", "float32"]),
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
  categories: LIST,
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
const CATEGORY_KEYS = {
  category: text(),
  datasets: LIST,
};
const MODEL_KEYS = { name: text(), system_prompt: nullable(text()) };
/** Keys with the same meaning, of the two styles and of rgx. A file may have only one of them. */
const SAME: readonly (readonly (keyof typeof KEYS)[])[] = [
  ["samples", "completions_per_prompt", "eval_repeats"],
  ["seed", "default_seed"],
  ["system_prompt", "developer_prompt"],
  ["system_role", "developer_role"],
];
/** Any other key is a parameter of the task. */
const DATASET_KEYS = {
  dataset: text(),
  size: COUNT,
  seed: SEED,
  params: freeMap(),
  path: text(),
};
