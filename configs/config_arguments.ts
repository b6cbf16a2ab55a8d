/** Hydra's way to name a configuration, `--config-path FOLDER --config-name NAME`, as the argument CONFIG. */
import { UsageError } from "../core/errors.ts";

const FLAGS = ["--config-path", "--config-name"];

/**
 * The arguments of a command with these flags taken out and the path that they name put in front.
 * @throws UsageError for a flag without its value, or a folder without a name
 */
export function withConfigArgument(args: readonly string[]): string[] {
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
  if (name === undefined && folder === undefined) return rest;
  if (name === undefined) {
    throw new UsageError(`--config-path ${folder}: expected --config-name NAME beside it`);
  }
  if (folder === undefined) return [name, ...rest];
  const file = /\.(ya?ml|json)$/.test(name) ? name : `${name}.yaml`;
  return [`${folder.replace(/(.)\/+$/, "$1")}/${file}`, ...rest];
}

function splitFlag(arg: string): [flag: string, value: string | undefined] {
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? [];
  return flag === undefined ? [arg.replaceAll("_", "-"), undefined] : [
    flag.replaceAll("_", "-"),
    value,
  ];
}
