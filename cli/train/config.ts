/** The work of `rgx config show` and `rgx config check`. */
import { EXIT, RgxError } from "../../core/errors.ts";
import { isOverride, withDefaults } from "../../configs/foreign/config_arguments.ts";
import { loadConfig } from "../../configs/load.ts";
import { renderOrigins } from "../../configs/origins_table.ts";
import { reportError } from "../report_error.ts";
import { log, print } from "../terminal/terminal.ts";

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
