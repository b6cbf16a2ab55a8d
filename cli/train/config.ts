/** The work of `rgx config list`, `rgx config show` and `rgx config check`. */
import { EXIT, RgxError } from "../../core/errors.ts";
import { isOverride, withDefaults } from "../../configs/foreign/config_arguments.ts";
import { EMBEDDED } from "../../configs/documents/embedded.ts";
import { loadConfig } from "../../configs/load.ts";
import { renderOrigins } from "../../configs/dotted_keys.ts";
import { reportError } from "../report_error.ts";
import { describedTable } from "../terminal/terminal.ts";
import { breakWidth, log, print, wrap } from "../terminal/terminal.ts";

/** The folders of embedded configs: their purpose, and whether their files have descriptions. */
const KINDS: Readonly<Record<string, readonly [use: string, described: boolean]>> = {
  experiments: ["Experiments (rgx train NAME)", true],
  evaluations: ["Evaluations (rgx eval --config NAME)", true],
  models: ["Models (a _base_: rgx:models/NAME)", false],
  tasks: ["Tasks (a _base_: rgx:tasks/NAME)", false],
};

/** The text of the comment at a file's beginning, without the commands in it. */
function firstComment(text: string): string {
  const end = text.split("\n").findIndex((line) =>
    !line.startsWith("# ") || line.startsWith("#  ")
  );
  return text.split("\n").slice(0, end).map((line) => line.slice(2)).join(" ");
}

export function listConfigs(options: { json?: boolean }): void {
  const all = [...EMBEDDED].map(([path, text]) => {
    const [kind, name] = path.replace(/\.yaml$/, "").split("/");
    return { kind: kind!, name: name ?? "", description: firstComment(text) };
  }).filter(({ kind }) => Object.hasOwn(KINDS, kind));
  if (options.json) return print(JSON.stringify(all));
  const width = breakWidth("stdout");
  const groups = Object.entries(KINDS).map(([kind, [use, described]]) => {
    const configs = all.filter((config) => config.kind === kind);
    const lines = described
      ? describedTable(
        configs.map(({ name }) => [`  ${name}`]),
        configs.map(({ description }) => description),
        width,
      )
      : wrap(configs.map(({ name }) => name).join(", "), width - 2).map((line) => `  ${line}`);
    return [use, ...lines].join("\n");
  });
  print(groups.join("\n\n"));
}

export async function showConfig(
  given: string,
  more: string[],
  options: { json?: boolean },
): Promise<void> {
  const [name, overrides] = await withDefaults(given, more);
  const loaded = await loadConfig(name, { overrides, env: Deno.env.toObject(), cwd: Deno.cwd() });
  for (const note of loaded.notes) log(`note: ${note}`);
  if (options.json) {
    print(JSON.stringify({ config: loaded.config, origins: Object.fromEntries(loaded.origins) }));
  } else print(renderOrigins(loaded));
}

/**
 * Checks every configuration with the overrides, and prints all errors of all of them. Returns 2
 * when there are any.
 * @param args the configurations, then overrides: from the first word on that is one. Overrides
 *   alone are checked with the defaults of the program that they come from
 */
export async function checkConfigs(args: string[]): Promise<number> {
  let bad = false;
  const overriding = await Promise.all(args.map(isOverride));
  const count = overriding.includes(true) ? overriding.indexOf(true) : args.length;
  const names = count === 0 ? [args[0]!] : args.slice(0, count);
  const more = args.slice(Math.max(1, count));
  for (const given of names) {
    const [name, overrides] = await withDefaults(given, more);
    try {
      const options = { overrides, env: Deno.env.toObject(), cwd: Deno.cwd() };
      const { notes } = await loadConfig(name, options);
      for (const note of notes) log(`note: ${note}`);
      print(`${name}: ok`);
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      bad = true;
      reportError(error, false);
    }
  }
  return bad ? EXIT.usage : EXIT.ok;
}
