/**
 * From the name of a configuration to its merged tree: bases, the file, environment variables and
 * overrides, with the texts in `${…}` filled in.
 */
import { readdir } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { stringify } from "yaml";
import { messageOf, UsageError } from "../core/errors.ts";
import { fileName } from "../core/paths.ts";
import { nearest } from "../core/suggest.ts";
import { experimentNames } from "./documents/embedded.ts";
import {
  DEFAULTS,
  emptyMap,
  isNull,
  type MapNode,
  nodeAt,
  nowhere,
  type Problems,
  type Scalar,
  withEntry,
  withNode,
} from "./documents/node.ts";
import {
  type ConfigFile,
  embeddedFile,
  isFile,
  loadInherited,
  variables,
} from "./reading/inherit.ts";
import { type Environment, interpolate, stem } from "./reading/interpolation.ts";
import { applyOverride, environmentOverrides, type Override } from "./reading/overrides.ts";
import { leaveBehind } from "./reading/inherit.ts";
import { withFilesOfRun } from "./reading/run_files.ts";
import { textOfRead } from "./to_yaml.ts";

export interface MergeOptions {
  overrides: readonly Override[];
  env: Environment;
  cwd: string;
}

/** The tree of a file with all that it inherits and all that overrides it. */
export async function mergedTree(
  file: ConfigFile,
  { overrides, env, cwd }: MergeOptions,
  problems: Problems,
): Promise<MapNode> {
  let tree = await loadInherited(file, env, problems);
  if (file.kind === "disk") tree = await withFilesOfRun(tree, file.path, cwd);
  let environment = withVariables(env, tree, problems);
  const { at } = tree, untouched = tree;
  for (const override of [...environmentOverrides(environment, problems), ...overrides]) {
    tree = applyOverride(tree, override, problems);
  }
  tree = leaveBehind(untouched, tree, problems);
  // A missing key is reported at the file, also if the command line has other keys.
  if (file.kind !== "embedded") tree = { ...tree, at };
  environment = withVariables(env, tree, problems);
  const name = file.kind === "text" ? "run" : stem(file.path);
  tree = withDefault(tree, "logging", "run_name", name, { forNull: true });
  tree = interpolate(tree, environment, problems);
  const runName = nodeAt(tree, "logging.run_name");
  if (runName?.kind !== "scalar" || runName.value === null) return tree;
  const folder = fileName(String(runName.raw ?? runName.value)).replace(/^\.\.?$/, "_");
  const path = `./experiments/${folder}`;
  return withDefault(tree, "training", "output_dir", path, { forNull: true });
}

/**
 * The tree with a key set if it is unset. Its position says that it is a default.
 * @param options.forNull null is no value of the key: it takes the default too
 */
export function withDefault(
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
  return withNode(tree, `${section}.${name}`, { kind: "scalar", value, at });
}

/** The environment, overridden by the `env:` map of the tree. */
function withVariables(base: Environment, tree: MapNode, problems: Problems): Environment {
  const env = tree.entries.get("env")?.node;
  if (env?.kind !== "map") return base;
  const only = withEntry(emptyMap(env.at), "env", env);
  return { ...base, ...variables(nodeAt(interpolate(only, base, problems, tree), ["env"])) };
}

/**
 * The file of a configuration: a path, or the name of an embedded experiment, or `rgx:PATH`; an
 * object is one too.
 * @throws UsageError when there is none
 */
export async function findConfig(config: string | object, cwd: string): Promise<ConfigFile> {
  return typeof config === "string" ? await locateConfig(config, cwd) : inMemory(config, cwd);
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
  // A path of a checkout of rgx or reasoning-gym, typed elsewhere.
  if (/(^|\/)configs\//.test(name) && experimentNames().includes(stem(name))) {
    return { kind: "embedded", path: `experiments/${stem(name)}.yaml` };
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
