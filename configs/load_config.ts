/** Loads the configuration of a run for a program, where keys and values have types. */
import { withPermissions } from "../core/machine/permissions.ts";
import { OVERRIDES } from "./documents/node.ts";
import { loadConfig as load, type LoadedConfig } from "./load.ts";
import { overrideArguments } from "./reading/overrides.ts";
import type { ConfigObject, ConfigOverrides } from "./config_object.ts";

/** Options for reading a configuration. */
export interface ConfigOptions {
  /** Values that replace those of the configuration: `{ training: { max_steps: 10 } }`. */
  overrides?: ConfigOverrides;
  /** Environment variables that the configuration may name; default none. */
  env?: Readonly<Record<string, string>>;
  /** Working directory; default the process's. */
  cwd?: string;
}

/**
 * Loads a configuration: a path, the name of an embedded experiment, `rgx:PATH` for any embedded
 * file, or an object with the same keys.
 * @throws UsageError with one line for each error
 */
export async function loadConfig(
  config: string | ConfigObject,
  { overrides = {}, ...options }: ConfigOptions = {},
): Promise<LoadedConfig> {
  const given = { ...options, overrides: overrideArguments(overrides), source: OVERRIDES };
  // The parser of YAML reads an environment variable.
  return await withPermissions("loadConfig", [{ name: "env" }], () => load(config, given));
}
