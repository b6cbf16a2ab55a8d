/**
 * Loads the configuration of a run from a file name and the arguments after it. Later sources
 * override earlier ones: built-in defaults, bases, the file, environment variables `RGX_…`, the
 * command line. All errors are reported together, before anything starts.
 */
import { readdir } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { stringify } from "yaml";
import { messageOf, UsageError } from "../core/errors.ts";
import { ConfigMistakes, type NamedParts } from "./config_mistakes.ts";
import { fileName } from "../core/paths.ts";
import { nearest } from "../core/suggest.ts";
import { publishedPlace } from "../hub/set_addresses.ts";
import { buildRunConfig } from "./build.ts";
import { experimentNames } from "./documents/embedded.ts";
import { type ANY_DATASET, resolveFiles } from "./reading/resolve_paths.ts";
import { withDatasetConfig } from "./reading/dataset_config.ts";
import { withFilesOfRun } from "./reading/run_files.ts";
import { resolveTaskFiles } from "./reading/task_files.ts";
import { reportForeignKeys } from "./foreign/report_foreign_keys.ts";
import { translateForeignKeys } from "./foreign/translate_foreign_keys.ts";
import {
  type ConfigFile,
  embeddedFile,
  isFile,
  loadInherited,
  variables,
} from "./reading/inherit.ts";
import { type Environment, interpolate, stem } from "./reading/interpolation.ts";
import {
  DEFAULTS,
  emptyMap,
  isNull,
  type MapNode,
  nodeAt,
  nowhere,
  Problems,
  type Scalar,
  type Source,
  withEntry,
} from "./documents/node.ts";
import { applyOverride, environmentOverrides, parseOverrides } from "./reading/overrides.ts";
import { supervisedOverrides, withSupervisedKeys } from "./reading/supervised_keys.ts";
import { collectOrigins, collectSecrets } from "./dotted_keys.ts";
import { renderYaml, textOfRead } from "./to_yaml.ts";
import type { RunConfig } from "./schema/run_config.ts";

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
   * Default: all.
   */
  phases?: "all" | "sft";
  /** Working directory; default the process's. */
  cwd?: string;
  /**
   * A name that data.dataset_name may have although no file has it: a data set that the calling
   * program holds. `ANY_DATASET`: none needs to be here.
   */
  heldDataset?: string | typeof ANY_DATASET;
}

/** A configuration that was read and checked. */
export interface LoadedConfig {
  /** All keys with their values. */
  config: RunConfig;
  /** What the user should know although nothing is wrong. */
  notes: string[];
  /** Dotted canonical key → `file:line`, `RGX_…`, `command line` or `default`. */
  origins: Map<string, string>;
  /**
   * The merged and resolved configuration. Loading it again gives the same result. It holds no
   * secrets.
   */
  yaml: string;
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
  const isSupervised = options.phases === "sft";
  const written = parseOverrides(
    options.overrides ?? [],
    options.commandOptions,
    options.source,
  );
  const overrides = isSupervised ? supervisedOverrides(written) : written;
  const file = typeof config === "string" ? await locateConfig(config, cwd) : inMemory(config, cwd);
  const problems = new Problems();

  let tree = await loadInherited(file, options.env ?? {}, problems);
  if (file.kind === "disk") tree = await withFilesOfRun(tree, file.path, cwd);
  let environment = withVariables(options.env ?? {}, tree, problems);
  for (const override of [...environmentOverrides(environment, problems), ...overrides]) {
    tree = applyOverride(tree, override, problems);
  }
  environment = withVariables(options.env ?? {}, tree, problems);
  const name = file.kind === "text" ? "run" : stem(file.path);
  tree = withDefault(tree, "logging", "run_name", name, { forNull: true });
  tree = interpolate(tree, environment, problems);
  const runName = nodeAt(tree, ["logging", "run_name"]);
  if (runName?.kind === "scalar" && runName.value !== null) {
    const folder = fileName(String(runName.raw ?? runName.value)).replace(/^\.\.?$/, "_");
    const path = `./experiments/${folder}`;
    tree = withDefault(tree, "training", "output_dir", path, { forNull: true });
  }
  reportForeignKeys(tree, problems);
  tree = translateForeignKeys(tree, problems);
  if (isSupervised) tree = withSupervisedKeys(tree, problems);
  tree = await resolveTaskFiles(tree, cwd, problems);
  tree = await withDatasetConfig(tree, cwd, problems);
  tree = await resolveFiles(tree, cwd, problems, options.heldDataset);
  // All rows of a file are used, and as they are, unless something else is written.
  if (isOfAFile(tree)) {
    tree = withDefault(tree, "data", "num_examples", null);
    tree = withDefault(tree, "data", "add_instructions", false);
  }

  const built = buildRunConfig(tree, problems, options.phases);
  if (problems.count > 0) throw new ConfigMistakes(problems.lines(), namedParts(tree, problems));
  const secrets = collectSecrets(tree);
  const set = variables(nodeAt(tree, ["env"]));
  return {
    config: built,
    notes: problems.notes,
    origins: collectOrigins(built, tree),
    yaml: renderYaml(built, set, secrets),
    environment: set,
    secrets,
  };
}

/** The environment, overridden by the `env:` map of the tree. */
function withVariables(base: Environment, tree: MapNode, problems: Problems): Environment {
  const env = tree.entries.get("env")?.node;
  if (env?.kind !== "map") return base;
  const only = withEntry(emptyMap(env.at), "env", env);
  return { ...base, ...variables(nodeAt(interpolate(only, base, problems, tree), ["env"])) };
}

/**
 * The tree with a key set if it is unset. Its position says that it is a default.
 * @param options.forNull null is no value of the key: it takes the default too
 */
function withDefault(
  tree: MapNode,
  section: string,
  name: string,
  value: Scalar,
  { forNull = false } = {},
): MapNode {
  const at = nowhere(DEFAULTS);
  const map = tree.entries.get(section)?.node;
  if (map !== undefined && map.kind !== "map") return tree;
  const given = map?.entries.get(name)?.node;
  if (given !== undefined && !(forNull && isNull(given))) return tree;
  const filled = withEntry(map ?? emptyMap(at), name, { kind: "scalar", value, at });
  return withEntry(tree, section, filled);
}

/** What the tree names, but for keys with a mistake: it was reported. */
function namedParts(tree: MapNode, problems: Problems): NamedParts {
  const text = (section: string, name: string) => {
    const node = nodeAt(tree, [section, name]);
    const isText = node?.kind === "scalar" && typeof node.value === "string";
    return isText && !problems.has(`${section}.${name}`) ? node.value as string : null;
  };
  return {
    model: {
      model_name_or_path: text("model", "model_name_or_path"),
      tokenizer_name_or_path: text("model", "tokenizer_name_or_path"),
    },
    data: {
      dataset_name: problems.has("data.dataset_config") ? null : text("data", "dataset_name"),
      task_name: text("data", "task_name"),
    },
  };
}

/** Whether the problems come from a file or from a published data set. */
function isOfAFile(tree: MapNode): boolean {
  const [file, task] = ["dataset_name", "task_name"].map((name) => {
    const node = nodeAt(tree, ["data", name]);
    return node?.kind === "scalar" ? node.value : null;
  });
  return file != null || (typeof task === "string" && publishedPlace(task) !== null);
}

function inMemory(config: object, cwd: string): ConfigFile {
  const shown = "configuration object";
  try {
    const text = textOfRead(config) ?? stringify(config);
    return { kind: "text", path: resolve(cwd, shown), shown, text };
  } catch (error) {
    throw new UsageError(`${shown}: ${messageOf(error)}`, {
      advice:
        "It may hold what a YAML file can: maps, lists, texts, numbers, true, false and null.",
    });
  }
}

async function locateConfig(name: string, cwd: string): Promise<ConfigFile> {
  if (name.startsWith("rgx:")) {
    const file = embeddedFile(name.slice(4));
    if (file !== null) return file;
    throw new UsageError(`no embedded configuration ${JSON.stringify(name.slice(4))}`, {
      advice: `embedded experiments: ${experimentNames().join(", ")}`,
    });
  }
  const path = resolve(cwd, name);
  if (await isFile(path)) return { kind: "disk", path, shown: name };
  if (experimentNames().includes(name)) {
    return { kind: "embedded", path: `experiments/${name}.yaml` };
  }
  if ((await Deno.stat(path).catch(() => null))?.isDirectory) {
    throw new UsageError(`${name}: is a folder, expected a YAML file`, {
      advice: "The configuration of a run is config.yaml in its folder.",
    });
  }
  const near = nearest(stem(name), experimentNames());
  const beside = nearest(basename(name), await configurationsIn(dirname(path)));
  const hints = [
    near === null ? "" : `the embedded ${near}`,
    beside === null ? "" : name.slice(0, name.length - basename(name).length) + beside,
  ].filter((hint) => hint !== "");
  throw new UsageError(
    `no configuration ${JSON.stringify(name)}: neither a file nor an embedded experiment` +
      (hints.length === 0 ? "" : `, did you mean ${hints.join(" or ")}?`),
    { advice: `embedded experiments: ${experimentNames().join(", ")}` },
  );
}

async function configurationsIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => /\.(ya?ml|json)$/.test(name)).sort();
  } catch {
    return [];
  }
}
