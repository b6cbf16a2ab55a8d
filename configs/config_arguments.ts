/**
 * The name of the configuration among the arguments of a command: the first one, or in Hydra's words
 * `--config-path FOLDER --config-name NAME`.
 */
import { UsageError } from "../core/errors.ts";

const FLAGS = ["--config-path", "--config-name"];

/** @throws UsageError for a flag without its value, or a folder without a name */
export function configArguments(args: readonly string[]): { config: string; overrides: string[] } {
  const given = new Map<string, string>();
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [flag, value] = splitFlag(args[i]!);
    if (!FLAGS.includes(flag)) rest.push(args[i]!);
    else {
      const named = value ?? args[++i];
      if (named === undefined || named === "") {
        throw new UsageError(`${flag}: expected ${flag.endsWith("name") ? "a name" : "a folder"}`);
      }
      given.set(flag, named);
    }
  }
  const folder = given.get("--config-path"), name = given.get("--config-name");
  if (name === undefined) {
    if (folder !== undefined) {
      throw new UsageError(`--config-path ${folder}: expected --config-name NAME beside it`);
    }
    const [config, ...overrides] = rest;
    if (config === undefined) throw new UsageError("expected the name of a configuration");
    return { config, overrides };
  }
  if (folder === undefined) return { config: name, overrides: rest };
  const file = /\.(ya?ml|json)$/.test(name) ? name : `${name}.yaml`;
  return { config: `${folder.replace(/\/+$/, "")}/${file}`, overrides: rest };
}

function splitFlag(arg: string): [flag: string, value: string | undefined] {
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? [];
  return flag === undefined ? [arg, undefined] : [flag.replaceAll("_", "-"), value];
}
