/** The environments and tools that a configuration names, and which of them a problem has. */
import { basename, extname } from "node:path";
import type { Tool as ShownTool } from "../../core/chat_message.ts";
import { UsageError } from "../../core/errors.ts";
import type { Entry } from "../../tasks/types.ts";
import { agentEnvironment } from "./agent/agent_environment.ts";
import type { Environment, EnvironmentParts, Tool } from "./environment.ts";
import { fileEnvironment } from "./file/file_environment.ts";
import { BOARD_NAMES, boardEnvironment, isGame } from "./boards/board_environment.ts";
import { secondTries } from "./second_tries.ts";
import { rpcEnvironment } from "./wire/command_environment.ts";
import { HttpPeer } from "./wire/http_peer.ts";
import { openEnvEnvironment } from "./wire/openenv.ts";
import { RpcProcess } from "./wire/rpc_process.ts";

/** A server of MCP: a program, or an address. */
export interface McpSection {
  /** The program and its arguments. */
  command?: string[];
  /** The address, `https://HOST/mcp`. */
  url?: string;
  /** The environment variable with the key of that server. */
  api_key_env?: string;
  /** Number of the program's processes, default 1; of calls at the same time, default 8. */
  workers?: number;
}

/** Calls that a server at an address answers at the same time. */
const CALLS_AT_ADDRESS = 8;
/** Agents that run at the same time. */
const AGENTS = 16;

/** An environment of a configuration: a file, a program, a server, or the name of one of rgx. */
export interface EnvironmentSection {
  /** The file, relative to the working directory. */
  path?: string;
  /** Its checksum, by which a changed file is noticed. */
  sha256?: string;
  /** Hosts that it may connect to. */
  net?: string[];
  /** A program that answers JSON-RPC lines, and its arguments. */
  command?: string[];
  /** A program that asks the model itself, by OpenAI's API at an address of rgx. */
  agent?: string[];
  /** Of an agent: the tokens of a prompt that goes on with nothing before; default 1024. */
  max_prompt_length?: number;
  /** Number of its processes: default 1; agents at the same time: default 16. */
  workers?: number;
  /** A server of OpenEnv, `ws://HOST:PORT`. */
  url?: string;
  /** A server of MCP, which has tools. */
  mcp?: McpSection;
  /** One of {@link BUILT_IN}. */
  name?: string;
  /** Of `second_tries`: how often a problem may be answered. */
  tries?: number;
}

/** The environments and tools of a configuration. */
export interface EnvironmentKeys {
  /** The environment of all problems. */
  environment: EnvironmentSection | null;
  /** Those that the column `environment` of a row chooses from, by name. */
  environments: Record<string, EnvironmentSection> | null;
  /** Files and servers with tools of all problems. */
  tools: EnvironmentSection[];
}

/** Names of rgx's own environments. */
export const BUILT_IN: readonly string[] = ["second_tries", ...BOARD_NAMES];

export interface OpenEnvironments {
  /** What a problem's dialogue consists of: its environment, and the files with tools. */
  partsOf(entry: Entry): OpenPart[];
  readonly tools: readonly Tool[];
  /** Whether agents lead dialogues. */
  readonly hasAgents: boolean;
  close(): Promise<void>;
}

export interface OpenPart {
  environment: Environment;
  parts: EnvironmentParts;
  /** It only has tools that every problem has: it does not begin a dialogue. */
  isToolFile: boolean;
}

/** The name of an environment in metrics: that of its file or its server. */
export function environmentName(section: EnvironmentSection): string {
  const { name, path, url, mcp, agent, command = agent ?? mcp?.command } = section;
  if (name !== undefined) return name;
  const address = url ?? mcp?.url;
  if (address !== undefined) return plainName(new URL(address).hostname);
  // The script of a program tells more than the program.
  const words = command ?? [path!];
  const file = words.slice(1).find((word) => /^[^-].*\.\w+$/.test(word)) ?? words[0]!;
  return plainName(basename(file, extname(file)));
}

function plainName(text: string): string {
  return text.replace(/[^A-Za-z0-9_]/g, "_");
}

/** An environment as messages name it: its file, program or address. */
export function environmentTitle(
  { path, name, command, agent, url, mcp }: EnvironmentSection,
): string {
  return path ?? name ?? url ?? mcp?.url ?? (command ?? agent ?? mcp!.command!).join(" ");
}

/** The environment of a section, which is not open yet. */
export function environmentOf(
  section: EnvironmentSection,
  name = environmentName(section),
): Environment {
  const { path, net, tries, command, workers = 1, url, mcp } = section;
  const title = environmentTitle(section);
  const program = (words: string[]) => () => new RpcProcess(words);
  if (path !== undefined) return fileEnvironment(name, path, net);
  if (command !== undefined) return rpcEnvironment(name, title, program(command), { workers });
  if (section.agent !== undefined) {
    const { agent, workers: most = AGENTS, max_prompt_length: maxPromptTokens = 1024 } = section;
    return agentEnvironment(name, agent, { most, maxPromptTokens });
  }
  if (url !== undefined) return openEnvEnvironment(name, url);
  if (isGame(section.name)) return boardEnvironment(section.name!);
  if (mcp === undefined) return secondTries(tries);
  const { command: words, url: address, api_key_env: key = null } = mcp;
  if (words !== undefined) {
    return rpcEnvironment(name, title, program(words), { workers: mcp.workers ?? 1, isMcp: true });
  }
  const connect = () => new HttpPeer(address!, key), { workers: calls = CALLS_AT_ADDRESS } = mcp;
  return rpcEnvironment(name, title, connect, { workers: calls, isMcp: true });
}

/** Whether a configuration has environments or tools. */
export function hasEnvironments({ environment, environments, tools }: EnvironmentKeys): boolean {
  return environment !== null || environments !== null || tools.length > 0;
}

/**
 * Opens the environments, which starts their processes and checks their files.
 * @returns null where the configuration has none
 * @throws UsageError for a file that cannot be used, and for two tools of one name
 */
export async function openEnvironments(keys: EnvironmentKeys): Promise<OpenEnvironments | null> {
  if (!hasEnvironments(keys)) return null;
  const opened: OpenPart[] = [];
  const close = async () => {
    for (const { environment } of opened) await environment.close();
  };
  const open = async (section: EnvironmentSection, name: string, isToolFile = false) => {
    const environment = environmentOf(section, name);
    const part = { environment, parts: await environment.open(), isToolFile };
    opened.push(part);
    if (!isToolFile || part.parts.tools.length > 0) return part;
    throw new UsageError(`tools: ${environmentTitle(section)} has no tools`, {
      advice: "What answers messages is an environment: name it in environment.",
    });
  };
  try {
    const { environment, environments } = keys;
    const single = environment && await open(environment, environmentName(environment));
    const byName = new Map<string, OpenPart>();
    for (const [name, section] of Object.entries(environments ?? {})) {
      byName.set(name, await open(section, name));
    }
    const shared: OpenPart[] = [];
    for (const section of keys.tools) {
      shared.push(await open(section, environmentName(section), true));
    }
    const choices = single !== null ? [single] : environments === null ? [] : [...byName.values()];
    const hasAgents = choices.some(({ parts }) => parts.agent !== undefined);
    if (hasAgents && shared.length > 0) {
      throw new UsageError("tools: they cannot stand beside an agent", {
        advice: "Leave them out: an agent sends the tools of its requests itself.",
      });
    }
    for (const choice of choices.length > 0 ? choices : [null]) {
      checkNames([...choice === null ? [] : [choice], ...shared]);
    }
    // The processes start again with the first call.
    await close();
    return {
      tools: opened.flatMap(({ parts }) => parts.tools),
      hasAgents,
      partsOf(entry) {
        const own = environments === null ? single : chosen(entry, byName);
        return [...own === null ? [] : [own], ...shared];
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The tool of a name and its environment, among the parts of a dialogue; null: none has it. */
export function findTool(
  parts: readonly OpenPart[],
  name: string,
): { environment: Environment; tool: Tool } | null {
  for (const { environment, parts: { tools } } of parts) {
    const tool = tools.find((one) => one.name === name);
    if (tool !== undefined) return { environment, tool };
  }
  return null;
}

export function shownTools(tools: readonly Tool[]): ShownTool[] {
  return tools.map((tool) => ({ type: "function", function: tool }));
}

/** @throws UsageError where two tools of one dialogue have the same name */
function checkNames(parts: readonly OpenPart[]): void {
  const owners = new Map<string, string>();
  for (const { environment, parts: { tools } } of parts) {
    for (const { name } of tools) {
      const first = owners.get(name);
      if (first !== undefined) {
        throw new UsageError(`tools: ${first} and ${environment.name} both have a tool ${name}`, {
          advice: "Give one of them another name.",
        });
      }
      owners.set(name, environment.name);
    }
  }
}

function chosen(entry: Entry, byName: ReadonlyMap<string, OpenPart>): OpenPart {
  const name = entry.metadata["environment"], found = byName.get(String(name));
  if (typeof name === "string" && found !== undefined) return found;
  const index = entry.metadata["source_index"];
  const where = typeof index === "number" ? `problem ${index + 1} of the data: ` : "";
  const value = name === undefined ? "none" : JSON.stringify(name);
  throw new UsageError(
    `${where}its column environment: expected one of ${[...byName.keys()].join(", ")}, found ` +
      value,
    { advice: "Each row of the data names one of environments." },
  );
}
