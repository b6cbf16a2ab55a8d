/** The work of `rgx config show` and `rgx config check`. */
import { EXIT, RgxError } from "../../core/errors.ts";
import { loadConfig } from "../../configs/load.ts";
import { renderOrigins } from "../../configs/origins_table.ts";
import { reportError } from "../report_error.ts";
import { log, print } from "../terminal/terminal.ts";

export async function showConfig(
  name: string,
  overrides: string[],
  options: { json?: boolean },
): Promise<void> {
  const loaded = await loadConfig(name, { overrides, env: Deno.env.toObject(), cwd: Deno.cwd() });
  for (const note of loaded.notes) log(`note: ${note}`);
  if (options.json) {
    print(JSON.stringify({ config: loaded.config, origins: Object.fromEntries(loaded.origins) }));
  } else print(renderOrigins(loaded));
}

/**
 * Checks every configuration and prints all errors of all of them. Returns 2 when there are any.
 */
export async function checkConfigs(names: string[]): Promise<number> {
  let bad = false;
  for (const name of names) {
    try {
      await loadConfig(name, { overrides: [], env: Deno.env.toObject(), cwd: Deno.cwd() });
      print(`${name}: ok`);
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      bad = true;
      reportError(error, false);
    }
  }
  return bad ? EXIT.usage : EXIT.ok;
}
