/**
 * Flags of other programs in place of the argument CONFIG: Hydra's `--config-path FOLDER
 * --config-name NAME`, and TRL's `--config FILE`.
 */
import { UsageError } from "../../core/errors.ts";

const FLAGS = new Map([
  ["--config", "a file"],
  ["--config-path", "a folder"],
  ["--config-name", "a name"],
]);

/**
 * The arguments of a command without these flags, with the path that they name as the first
 * argument.
 * @throws UsageError for a flag without its value, or a folder without a name
 */
export function withConfigArgument(args: readonly string[]): string[] {
  const given = new Map<string, string>();
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [flag, value] = splitFlag(args[i]!);
    const expected = FLAGS.get(flag);
    if (expected === undefined) rest.push(args[i]!);
    else {
      const named = value ?? args[++i];
      if (named === undefined || named === "") {
        throw new UsageError(`${flag}: expected ${expected}`);
      }
      given.set(flag, named);
    }
  }
  const folder = given.get("--config-path");
  const name = given.get("--config") ?? given.get("--config-name");
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
