/**
 * Loads the configuration of a run from a file name and the arguments after it. Later sources
 * override earlier ones: built-in defaults, bases, the file, environment variables `RGX_…`, the
 * command line. All errors are reported together, before anything starts.
 */
import { publishedPlace } from "../hub/set_addresses.ts";
import { buildRunConfig } from "./build.ts";
import { type ANY_DATASET, resolveFiles } from "./reading/resolve_paths.ts";
import { withAdapterKeys } from "./reading/adapter_keys.ts";
import { withDatasetConfig, withModelRevision } from "./reading/model_revision.ts";
import { resolveTaskFiles } from "./reading/task_files.ts";
import { reportForeignKeys, translateForeignKeys } from "./foreign/translate_foreign_keys.ts";
import { findConfig, mergedTree, withDefault } from "./merged_tree.ts";
import { variables } from "./reading/inherit.ts";
import type { Environment } from "./reading/interpolation.ts";
import { isNull, type MapNode, nodeAt, Problems, type Source, textAt } from "./documents/node.ts";
import { parseOverrides } from "./reading/overrides.ts";
import { collectOrigins, collectSecrets } from "./dotted_keys.ts";
import {
  noteUnused,
  overridesOf,
  preferenceConfig,
  withPreferenceKeys,
  withSupervisedKeys,
} from "./other_runs.ts";
import { renderYaml } from "./to_yaml.ts";
import { isGame } from "../rewards/environments/boards/board_environment.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { UsageError } from "../core/errors.ts";

/** Options for reading a configuration. */
export interface LoadOptions {
  /** Arguments after CONFIG: `a.b=v`, `+a.b=v`, `~a.b`, `--a-b v`, … */
  overrides?: readonly string[];
  /** Where the overrides come from, for messages; default: the command line. */
  source?: Source;
  /** Options of the command itself (`--resume`), to suggest for a misspelt one. */
  commandOptions?: readonly string[];
  /** Environment variables; default none. */
  env?: Environment;
  /**
   * "sft": only the supervised training will run, so keys that only GRPO needs are not checked.
   * "dpo": the same of a run on preferences. Default: all.
   */
  phases?: RunKind;
  /** Working directory; default the process's. */
  cwd?: string;
  /**
   * A name that data.dataset_name may have although no file has it: a data set that the calling
   * program holds. `ANY_DATASET`: none needs to be here.
   */
  heldDataset?: string | typeof ANY_DATASET;
}

/** The part of a configuration that a command runs: `rgx train`, `rgx sft` or `rgx dpo`. */
export type RunKind = "all" | "sft" | "dpo";

/** A configuration that was read and checked. */
export interface LoadedConfig {
  /** All keys with their values. */
  config: RunConfig;
  /** Remarks for the user about a configuration without mistakes. */
  notes: string[];
  /** Dotted canonical key → `file:line`, `RGX_…`, `command line` or `default`. */
  readonly origins: Map<string, string>;
  /**
   * The merged and resolved configuration. Loading it again gives the same result. It holds no
   * secrets.
   */
  readonly yaml: string;
  /** The `env:` map: variables that the process should set before the run. */
  environment: Record<string, string>;
  /** Dotted key → text before interpolation, for values that contain a secret variable. */
  secrets: Map<string, string>;
}

/**
 * Loads CONFIG: a path, or the name of an embedded experiment, or `rgx:PATH` for any embedded file.
 * A configuration may also be given as an object.
 * @throws UsageError with one line for each error
 */
export async function loadConfig(
  config: string | object,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  const cwd = options.cwd ?? Deno.cwd();
  const { phases = "all" } = options, isSupervised = phases === "sft", isPairs = phases === "dpo";
  const written = parseOverrides(
    options.overrides ?? [],
    options.commandOptions,
    options.source,
  );
  const overrides = phases === "all" ? written : overridesOf(phases, written);
  const file = await findConfig(config, cwd);
  const problems = new Problems();
  if (file.kind === "embedded" && typeof config === "string" && config.includes("/")) {
    const name = `rgx:${file.path}`;
    if (!config.startsWith("rgx:")) {
      problems.notes.push(`${config} is not on disk, ${name} is used`);
    }
  }

  let tree = await mergedTree(file, { overrides, env: options.env ?? {}, cwd }, problems);
  reportForeignKeys(tree, problems);
  tree = translateForeignKeys(tree, problems);
  if (isSupervised) tree = withSupervisedKeys(tree, problems);
  const preferences = nodeAt(tree, "dpo");
  if (!isPairs && preferences?.kind === "map") {
    problems.note(preferences.at, "dpo", "has no effect here: rgx dpo trains on preferences");
  }
  if (isPairs) {
    tree = withPreferenceKeys(tree);
    noteUnused(tree, problems);
  }
  tree = await resolveTaskFiles(tree, cwd, problems);
  tree = await withModelRevision(tree, cwd, problems);
  tree = await withDatasetConfig(tree, cwd, problems);
  tree = await resolveFiles(tree, cwd, problems, options.heldDataset);
  tree = await withAdapterKeys(tree, cwd, problems);
  const game = textAt(tree, "environment.name")?.value ?? textAt(tree, "environment")?.value;
  if (isGame(game) && !isOfATask(tree) && !isOfAFile(tree)) {
    tree = withDefault(tree, "data", "task_name", game!);
  }
  const isOfEnvironment = !isOfATask(tree) && nodeAt(tree, "environment")?.kind === "map";
  if (isOfEnvironment && !isOfAFile(tree)) {
    tree = withDefault(tree, "data", "add_instructions", false);
  }
  // Unless the user writes something else, all rows of a file are used, and unchanged.
  if (isOfAFile(tree)) {
    tree = withDefault(tree, "data", "num_examples", null);
    tree = withDefault(tree, "data", "add_instructions", false);
  }

  const whole = buildRunConfig(tree, problems, phases === "all" ? "all" : "sft");
  const built = isPairs ? preferenceConfig(whole) : { ...whole, dpo: null };
  if (problems.count > 0) throw new ConfigMistakes(problems.lines(), namedParts(tree, problems));
  const secrets = collectSecrets(tree);
  const set = variables(nodeAt(tree, "env"));
  // Few callers ask for these. A program may have changed the configuration by then.
  const read = structuredClone(built);
  let origins: LoadedConfig["origins"] | undefined, yaml: string | undefined;
  return {
    config: built,
    notes: problems.notes,
    get origins() {
      return origins ??= collectOrigins(read, tree);
    },
    get yaml() {
      return yaml ??= renderYaml(read, set, secrets);
    },
    environment: set,
    secrets,
  };
}

/** The names in the tree. Keys with a mistake, which was reported, are left out. */
function namedParts(tree: MapNode, problems: Problems): NamedParts {
  const text = (section: string, name: string) => {
    const key = `${section}.${name}`;
    return problems.has(key) ? null : textAt(tree, key)?.value ?? null;
  };
  return {
    model: {
      model_name_or_path: text("model", "model_name_or_path"),
      adapter_name_or_path: text("model", "adapter_name_or_path"),
      tokenizer_name_or_path: text("model", "tokenizer_name_or_path"),
    },
    data: {
      dataset_name: problems.has("data.dataset_config") ? null : text("data", "dataset_name"),
      dataset_train_split: text("data", "dataset_train_split"),
      eval_dataset_name: text("data", "eval_dataset_name"),
      task_name: text("data", "task_name"),
    },
  };
}

/** Whether a task makes the problems. */
function isOfATask(tree: MapNode): boolean {
  return ["task_name", "tasks"].some((name) => {
    const node = nodeAt(tree, ["data", name]);
    return node !== undefined && !isNull(node);
  });
}

/** Whether the problems come from a file or from a published data set. */
function isOfAFile(tree: MapNode): boolean {
  const file = nodeAt(tree, "data.dataset_name"), task = textAt(tree, "data.task_name");
  return (file?.kind === "scalar" && file.value !== null) ||
    (task !== null && publishedPlace(task.value) !== null);
}

/** Names of the parts of a run that may be missing on this machine; null = none, or a mistake. */
export interface NamedParts {
  model: {
    model_name_or_path: string | null;
    adapter_name_or_path: string | null;
    tokenizer_name_or_path: string | null;
  };
  data: {
    dataset_name: string | null;
    eval_dataset_name?: string | null;
    dataset_train_split: string | null;
    task_name: string | null;
  };
}

/** One line for each mistake. */
export class ConfigMistakes extends UsageError {
  /** @param named the models and data of the configuration; a command may look for them */
  constructor(lines: readonly string[], readonly named: NamedParts) {
    super(lines.join("\n"));
  }
}
