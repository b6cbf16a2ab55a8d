/**
 * The YAML file of `rgx eval`: a model, and categories of data sets with their parameters. Both styles of the
 * field load: that for a model on this machine (model_path, eval_repeats, developer_prompt, …; only whole scores
 * count) and that for a remote one (model, completions_per_prompt, system_prompt_id, …; partial scores count).
 * Own keys: models, base_url, api_key_env, seed, samples, add_instructions, few_shot, few_shot_as, batch_size.
 */
import {
  type ConfigNode,
  describeNode,
  type Json,
  type MapNode,
  type Position,
  Problems,
  toJson,
} from "../configs/node.ts";
import { decodeUtf8, parseYaml } from "../configs/yaml_source.ts";
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { SYSTEM_PROMPTS } from "../data/prompt.ts";
import { hasTask, taskNames, validateTaskConfig } from "../tasks/registry.ts";
import type { BenchmarkOptions } from "./benchmark.ts";
import { DATASET_NAMES } from "../data/published_sets.ts";
import { REMOTE_PREFIX } from "./model_plan.ts";
import type { RemoteOptions } from "./remote/server.ts";
import type { PromptSettings, Sampling } from "./result_file.ts";
import type { TaskRequest } from "./types.ts";

export interface EvalDescription {
  options: BenchmarkOptions;
  saveMetadata: boolean;
  saveFullResults: boolean;
}

type Kind = "text" | "number" | "integer" | "boolean" | "map" | "list" | "any";

const KEYS: Readonly<Record<string, Kind>> = {
  model_path: "text",
  model: "text",
  models: "list",
  provider: "text",
  max_concurrent: "integer",
  max_tokens: "integer",
  temperature: "number",
  top_p: "number",
  activations: "text",
  dtype: "text",
  developer_prompt: "text",
  developer_role: "text",
  eval_repeats: "integer",
  system_prompt: "text",
  system_prompt_id: "text",
  system_role: "text",
  completions_per_prompt: "integer",
  batch_size: "integer",
  default_size: "integer",
  default_seed: "integer",
  output_dir: "text",
  save_metadata: "boolean",
  save_full_results: "boolean",
  categories: "list",
  base_url: "text",
  api_key_env: "text",
  seed: "integer",
  samples: "integer",
  add_instructions: "boolean",
  few_shot: "integer",
  few_shot_as: "text",
  binary: "boolean",
};
const CATEGORY_KEYS: Readonly<Record<string, Kind>> = { category: "text", datasets: "list" };
const MODEL_KEYS: Readonly<Record<string, Kind>> = { name: "text", system_prompt: "text" };

/** @throws UsageError with file, line and key of everything that is wrong */
export async function readEvalConfig(path: string): Promise<EvalDescription> {
  let bytes: Uint8Array;
  try {
    bytes = await Deno.readFile(path);
  } catch (cause) {
    const why = cause instanceof Deno.errors.NotFound
      ? "there is no such file"
      : (cause as Error).message.replace(/ \(os error \d+\).*$/s, "");
    throw new UsageError(`cannot read ${path}: ${why}`, { cause });
  }
  const problems = new Problems(), source = { name: path, directory: null };
  const text = decodeUtf8(bytes, source, problems);
  const tree = text === null ? null : parseYaml(text, source, problems);
  const description = tree === null ? null : new Reader(tree, problems).description();
  problems.throwIfAny();
  return description!;
}

class Reader {
  readonly #values: Record<string, Json>;

  constructor(readonly tree: MapNode, readonly problems: Problems) {
    this.#values = this.#map(tree, KEYS, "");
  }

  description(): EvalDescription {
    const v = this.#values;
    const { models, systemPrompts } = this.#models();
    // The remote style always has a system prompt, which asks for the answer's form.
    const isRemoteStyle = v["model"] != null;
    const id = v["system_prompt_id"] ?? (isRemoteStyle ? "default" : null);
    if (typeof id === "string" && !Object.hasOwn(SYSTEM_PROMPTS, id)) {
      const names = Object.keys(SYSTEM_PROMPTS);
      this.#complain(
        "system_prompt_id",
        `unknown system prompt${didYouMean(id, names)}` +
          ` (${names.join(", ")})`,
      );
    }
    for (const key of ["system_role", "developer_role"]) {
      if (v[key] != null && v[key] !== "system") {
        this.#complain(key, `expected system, found ${JSON.stringify(v[key])}`);
      }
    }
    const system = v["system_prompt"] ?? v["developer_prompt"] ?? id;
    const shotsAs = v["few_shot_as"];
    if (shotsAs != null && shotsAs !== "prompt" && shotsAs !== "turns") {
      this.#complain("few_shot_as", `expected prompt or turns, found ${JSON.stringify(shotsAs)}`);
    }
    const activations = v["activations"];
    if (activations != null && activations !== "int8" && activations !== "float32") {
      this.#complain(
        "activations",
        `expected int8 or float32, found ${JSON.stringify(activations)}`,
      );
    }
    const batchSize = v["batch_size"];
    if (batchSize === 0) this.#complain("batch_size", "expected an integer of at least 1, found 0");
    const samples = v["samples"] ?? v["completions_per_prompt"] ?? v["eval_repeats"];
    const prompt = present<PromptSettings>({
      system_prompt: system,
      add_instructions: v["add_instructions"] ?? (system == null ? null : false),
      few_shot: v["few_shot"],
      few_shot_as: shotsAs,
    });
    const sampling = present<Sampling>({
      temperature: v["temperature"] ?? (isRemoteStyle ? 0.6 : null),
      top_p: v["top_p"] ?? (isRemoteStyle ? 0.95 : null),
      activations,
      max_new_tokens: v["max_tokens"] ?? (isRemoteStyle ? 32768 : null),
      samples,
    });
    const seed = v["seed"] ?? v["default_seed"];
    return {
      options: {
        models,
        tasks: this.#tasks(typeof v["binary"] === "boolean" ? v["binary"] : !isRemoteStyle),
        numExamples: typeof v["default_size"] === "number" ? v["default_size"] : 500,
        outputDir: typeof v["output_dir"] === "string" ? v["output_dir"] : "results",
        includeBase: false,
        ...(typeof seed === "number" && { seed }),
        ...(typeof batchSize === "number" && { batchSize }),
        sampling,
        prompt,
        systemPrompts,
        remote: present<RemoteOptions>({
          baseUrl: v["base_url"],
          apiKeyEnv: v["api_key_env"],
          concurrency: v["max_concurrent"],
        }),
      },
      saveMetadata: v["save_metadata"] === true,
      saveFullResults: v["save_full_results"] === true,
    };
  }

  #models(): { models: string[]; systemPrompts: Record<string, string | null> } {
    const { model_path: path, model } = this.#values;
    const models: string[] = [], systemPrompts: Record<string, string | null> = {};
    if (typeof path === "string") models.push(path);
    if (typeof model === "string") {
      models.push(model.startsWith(REMOTE_PREFIX) ? model : REMOTE_PREFIX + model);
    }
    for (const node of this.#items("models")) {
      if (node.kind === "scalar" && typeof node.value === "string") {
        models.push(node.value);
      } else if (node.kind === "map") {
        const { name, system_prompt: prompt } = this.#map(node, MODEL_KEYS, "models.");
        if (typeof name !== "string") {
          this.problems.add(node.at, "models", "missing name");
          continue;
        }
        models.push(name);
        if (prompt !== undefined) systemPrompts[name] = typeof prompt === "string" ? prompt : null;
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
    if (categories.length === 0) {
      this.#complain("categories", "missing, expected a list of categories with their datasets");
    }
    for (const node of categories) {
      if (node.kind !== "map") {
        this.problems.add(node.at, "categories", `expected a map, found ${describeNode(node)}`);
        continue;
      }
      const { category = null } = this.#map(node, CATEGORY_KEYS, "categories.");
      const datasets = node.entries.get("datasets")?.node;
      if (datasets?.kind !== "list" || datasets.items.length === 0) {
        this.problems.add(node.at, "categories.datasets", "expected a list of data sets");
        continue;
      }
      for (const dataset of datasets.items) {
        const task = this.#task(dataset, typeof category === "string" ? category : null);
        if (task !== null) tasks.push({ ...task, binary });
      }
    }
    return withLabels(tasks);
  }

  #task(node: ConfigNode, category: string | null): TaskRequest | null {
    const at = node.at;
    const value = toJson(node);
    const fields = typeof value === "string" ? { dataset: value } : value;
    if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
      this.problems.add(at, "datasets", `expected a map with dataset, found ${describeNode(node)}`);
      return null;
    }
    const { dataset, size, seed, params, path, ...others } = fields;
    if (typeof dataset !== "string") {
      this.problems.add(at, "dataset", "missing, expected the name of a task");
      return null;
    }
    const position = node.kind === "map" ? node.entries.get("dataset")!.node.at : at;
    const isFile = DATASET_NAMES.includes(dataset);
    if (!hasTask(dataset) && !isFile) {
      const hint = didYouMean(dataset, [...taskNames(), ...DATASET_NAMES]);
      this.problems.add(position, "dataset", `unknown task "${dataset}"${hint}`);
      return null;
    }
    const own = typeof params === "object" && params !== null && !Array.isArray(params)
      ? params
      : {};
    const parameters = { ...own, ...others };
    if (!isFile) {
      for (const problem of validateTaskConfig(dataset, parameters)) {
        this.problems.add(position, dataset, problem);
      }
    }
    this.#positive(size, "size", at);
    this.#positive(seed, "seed", at, 0);
    return {
      name: dataset,
      category,
      parameters,
      ...(typeof size === "number" && { size }),
      ...(typeof seed === "number" && { seed }),
      ...(typeof path === "string" && { path }),
    };
  }

  #positive(value: Json | undefined, key: string, at: Position, least = 1): void {
    if (value == null || (Number.isInteger(value) && (value as number) >= least)) return;
    const expected = `expected an integer of at least ${least}`;
    this.problems.add(at, key, `${expected}, found ${JSON.stringify(value)}`);
  }

  /** The keys of a map, each of its kind; what is not known or of another kind is a problem. */
  #map(map: MapNode, keys: Readonly<Record<string, Kind>>, prefix: string): Record<string, Json> {
    const values: Record<string, Json> = {};
    for (const [name, { keyAt, node }] of map.entries) {
      const kind = keys[name];
      if (kind === undefined) {
        const hint = didYouMean(name, Object.keys(keys));
        this.problems.add(keyAt, prefix + name, `unknown key${hint}`);
      } else if (!isKind(node, kind)) {
        this.problems.add(
          node.at,
          prefix + name,
          `expected ${NAMES[kind]}, found ${describeNode(node)}`,
        );
      } else {
        values[name] = toJson(node);
      }
    }
    return values;
  }

  #items(key: string): readonly ConfigNode[] {
    const node = this.tree.entries.get(key)?.node;
    return node?.kind === "list" ? node.items : [];
  }

  #complain(key: string, text: string): void {
    this.problems.add(this.tree.entries.get(key)?.node.at ?? this.tree.at, key, text);
  }
}

const NAMES: Readonly<Record<Kind, string>> = {
  text: "a text",
  number: "a number of at least 0",
  integer: "an integer of at least 0",
  boolean: "true or false",
  map: "a map",
  list: "a list",
  any: "a value",
};

function isKind(node: ConfigNode, kind: Kind): boolean {
  if (node.kind !== "scalar") return kind === node.kind || kind === "any";
  const { value } = node;
  if (value === null) return true; // as if it were not there
  switch (kind) {
    case "text":
      return typeof value === "string" || typeof value === "number";
    case "number":
      return typeof value === "number" && value >= 0;
    case "integer":
      return Number.isInteger(value) && (value as number) >= 0;
    case "boolean":
      return typeof value === "boolean";
    default:
      return kind === "any";
  }
}

/** A data set that stands there twice is told by its category, then by a number. */
function withLabels(tasks: readonly TaskRequest[]): TaskRequest[] {
  const taken = new Set<string>();
  return tasks.map((task) => {
    const isTwice = tasks.filter(({ name }) => name === task.name).length > 1;
    const base = isTwice && task.category ? `${task.category}_${task.name}` : task.name;
    let label = base;
    for (let n = 2; taken.has(label); n++) label = `${base}_${n}`;
    taken.add(label);
    return { ...task, label };
  });
}

function present<T>(values: { [K in keyof T]?: unknown }): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as Partial<
    T
  >;
}
