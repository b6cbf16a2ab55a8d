/** The environment that an argument of `rgx env` names. */
import { extname } from "node:path";
import { loadConfig } from "../../configs/load.ts";
import { UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import { didYouMean } from "../../core/suggest.ts";
import { BOARD_NAMES, isGame } from "../../rewards/environments/boards/board_environment.ts";
import type { Environment } from "../../rewards/environments/environment.ts";
import {
  environmentName,
  environmentOf,
  type EnvironmentSection,
} from "../../rewards/environments/open_environments.ts";

/**
 * @param given a file with code, a Python file, a configuration, or an address
 * @param name of an environment or of tools in a configuration that has several
 * @throws UsageError when there is none
 */
export async function whichEnvironment(given: string, name?: string): Promise<Environment> {
  if (/^\.(ya?ml|json)$/.test(extname(given))) return await inConfig(given, name);
  if (name !== undefined) throw new UsageError(`--name ${name}: only a configuration has names`);
  if (isCodePath(given)) return environmentOf({ path: given }, given);
  if (isGame(given)) return environmentOf({ name: given }, given);
  const section = sectionGiven(given);
  if (section === null) throw new UsageError(`${given}: no environment`, { advice: ADVICE });
  if (section.command === undefined || await exists(given)) return environmentOf(section, given);
  throw new UsageError(`${given}: no such file`, { advice: ADVICE });
}

/** What an address or a Python file stands for; null: it is neither. */
export function sectionGiven(given: string): EnvironmentSection | null {
  if (/^wss?:\/\//.test(given)) return { url: given };
  if (/^https?:\/\//.test(given)) return { mcp: { url: given } };
  return extname(given) === ".py" ? { command: ["python3", given] } : null;
}

const ADVICE = "Name a file ending in .ts or .py, a configuration with an environment, the " +
  "address of a server (ws://… of OpenEnv, https://… of MCP), or a game: " +
  `${BOARD_NAMES.join(", ")}.`;

async function inConfig(path: string, name: string | undefined): Promise<Environment> {
  const all = await sectionsIn(path), names = [...all.keys()];
  if (names.length === 0) throw new UsageError(`${path}: it has no environment and no tools`);
  const wanted = name === undefined && names.length === 1 ? names[0]! : name!;
  const found = all.get(wanted);
  if (found?.agent !== undefined) {
    throw new UsageError(`${path}: ${wanted} is an agent, which asks a model itself`, {
      advice: "rgx train and rgx bench play agents.",
    });
  }
  if (found !== undefined) return environmentOf(found, wanted);
  throw new UsageError(
    name === undefined
      ? `${path}: it has several environments: ${names.join(", ")}`
      : `--name ${name}: ${path} has no such environment${didYouMean(name, names)}`,
    { advice: `Give --name with one of ${names.join(", ")}.` },
  );
}

/** The environments and tools of a configuration, by their names in metrics. */
export async function environmentsIn(path: string): Promise<Map<string, Environment>> {
  const sections = await sectionsIn(path);
  return new Map([...sections].map(([name, section]) => [name, environmentOf(section, name)]));
}

async function sectionsIn(path: string): Promise<Map<string, EnvironmentSection>> {
  const { config } = await loadConfig(path, { env: Deno.env.toObject() });
  const { environment, environments, tools } = config;
  const named = (section: EnvironmentSection) => [environmentName(section), section] as const;
  return new Map([
    ...environment === null ? [] : [named(environment)],
    ...Object.entries(environments ?? {}),
    ...tools.map(named),
  ]);
}
