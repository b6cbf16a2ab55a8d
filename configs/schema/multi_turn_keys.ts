/**
 * Keys of dialogues with environments and tools: verl's section `multi_turn`, with the limits of a
 * rollout.
 */
import { isCodePath } from "../../core/sandbox/code_file.ts";
import { didYouMean } from "../../core/suggest.ts";
import { BUILT_IN, type EnvironmentSection } from "../../rewards/environments/open_environments.ts";
import { type ConfigNode, describeNode, emptyMap, withEntry } from "../documents/node.ts";
import { keys } from "../types/key_spec.ts";
import {
  below,
  fields,
  int,
  listOf,
  mapOf,
  name,
  nullAs,
  oneOrMore,
  refine,
  text,
  type ValueType,
} from "../types/value_types.ts";
import { HOSTS } from "./reward_list.ts";

/** What follows an answer that cannot be read. */
export type OnParseError = "end" | { retry: { message: string; max: number } };

const RETRY = fields({ message: text(), max: int({ min: 1 }) }, "{message, max}");
const RETRY_WORDS = "end or {retry: {message, max}}";
const RETRY_MESSAGE = "Your call could not be read: {error}. Write it again.";

const ON_PARSE_ERROR: ValueType<OnParseError> = {
  expected: RETRY_WORDS,
  ts: '"end" | { retry: { message: string; max: number } }',
  read(node, complain) {
    if (node.kind === "scalar" && node.value === "end") return "end";
    const inner: ConfigNode | undefined = node.kind === "map" && node.entries.size === 1
      ? node.entries.get("retry")?.node
      : undefined;
    if (inner === undefined) {
      return complain(node.at, `expected ${RETRY_WORDS}, found ${describeNode(node)}`);
    }
    const read = RETRY.read(inner, below("retry", complain));
    return read && { retry: { message: read.message ?? RETRY_MESSAGE, max: read.max ?? 1 } };
  },
};

export const MULTI_TURN = {
  path: "multi_turn",
  about: "limits of dialogues with environments and tools",
  keys: keys({ on_parse_error: ON_PARSE_ERROR }, {
    max_assistant_turns: "int>=1? = null -- answers of the model in a dialogue; null: no limit",
    max_user_turns: "int>=0? = null -- messages of an environment's `step`; null: no limit",
    max_turn_tokens: "int>=1? = null -- tokens of one answer; null: what is left of all",
    max_tool_calls: "int>=0? = null -- calls of tools in a dialogue; null: no limit",
    max_parallel_calls: `int>=1? = null -- calls in one answer; the model reads an error in place
      of the results of further ones; null: no limit`,
    max_tool_response_length: "int>=1 = 4096 -- characters of a tool's result that the model reads",
    tool_response_truncate_side: `one left|right|middle = middle -- which part of a longer result is
      left out`,
    tool_timeout_s: "number>0 = 30 -- seconds for one call of an environment or a tool",
    rollout_timeout_s: `number>0? = null -- seconds for a dialogue, looked at between its turns;
      null: no limit`,
    format: `name = auto -- how the model calls tools: auto, as its files or its chat template tell,
      or hermes, llama3_json, …`,
    on_parse_error: `on_parse_error = end -- what follows a call that cannot be read: the dialogue
      ends, or the model gets a message, max times; {error} in it is what is wrong`,
    limit_reward: `one grade|zero|min0 = grade -- the environment's reward of a dialogue that a
      limit has ended: as it is, 0, or at most 0`,
    credit: `one outcome|return = outcome -- what a turn is credited with: all of the dialogue's
      rewards, or those that come from it on, beside those of the group's other dialogues from the
      same turn on`,
    seed: `one group|row|rollout = group -- what has a start of its own in an environment: each
      group of completions, each row of the data, or each rollout`,
  }),
};

/** A file, a program, a server, or the name of one of rgx's environments. */
const ENVIRONMENT: ValueType<EnvironmentSection> = {
  expected: "{path: FILE.ts}, {command: [PROGRAM, …]}, {agent: [PROGRAM, …]}, {url: ws://…}, " +
    "{mcp: {…}}, or a name",
  ts: "EnvironmentSection",
  read(node, complain) {
    if (node.kind === "scalar" && typeof node.value === "string") {
      const key = isCodePath(node.value) ? "path" : ADDRESS.test(node.value) ? "url" : "name";
      return this.read(withEntry(emptyMap(node.at), key, node), complain);
    }
    const read = FIELDS.read(node, complain);
    if (read === undefined) return undefined;
    const wrong = wrongEnvironment(read);
    if (wrong === null) return read;
    return complain(node.at, wrong);
  },
};

const COMMAND = oneOrMore(text(), "a list: the program and its arguments");
const ADDRESS = /^(?:ws|http)s?:\/\//;
const URL_TEXT = refine(
  text(),
  (address) =>
    ADDRESS.test(address) && URL.canParse(address)
      ? null
      : `expected an address such as ws://127.0.0.1:8000, found ${JSON.stringify(address)}`,
);
const MCP = fields(
  { command: COMMAND, url: URL_TEXT, api_key_env: name(), workers: int({ min: 1 }) },
  "{command: [PROGRAM, …]} or {url: https://…}",
);
const FIELDS = fields({
  path: name(),
  sha256: name(),
  net: HOSTS,
  command: COMMAND,
  agent: COMMAND,
  max_prompt_length: int({ min: 1 }),
  workers: int({ min: 1 }),
  url: URL_TEXT,
  mcp: MCP,
  name: name(),
  tries: int({ min: 1 }),
}, ENVIRONMENT.expected);

/** What an environment can be, and what goes with it. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  path: ["sha256", "net"],
  command: ["workers"],
  agent: ["workers", "max_prompt_length"],
  url: [],
  mcp: [],
  name: ["tries"],
};

function wrongEnvironment(section: EnvironmentSection): string | null {
  const found = Object.keys(section),
    [form, other] = Object.keys(FORMS).filter((name) => found.includes(name));
  if (form === undefined) return `expected ${ENVIRONMENT.expected}`;
  if (other !== undefined) return `${form} and ${other} are two environments: one of them`;
  const extra = found.find((name) => name !== form && !FORMS[form]!.includes(name));
  if (extra !== undefined) return `${extra} does not go with ${form}`;
  const { name, mcp, tries } = section;
  if (tries !== undefined && name !== "second_tries") return `tries does not go with ${name}`;
  if (mcp !== undefined && (mcp.command === undefined) === (mcp.url === undefined)) {
    return "mcp: expected one of command and url";
  }
  if (name === undefined || BUILT_IN.includes(name)) return null;
  return `no environment ${JSON.stringify(name)}${didYouMean(name, BUILT_IN)}; expected a file ` +
    `({path: FILE.ts}) or ${BUILT_IN.join(", ")}`;
}

export const ENVIRONMENTS = {
  path: "",
  keys: keys({
    environment: ENVIRONMENT,
    environments: mapOf(ENVIRONMENT, "a map of names to environments"),
    tools: nullAs<EnvironmentSection[]>([], listOf(ENVIRONMENT, "a list of files and servers")),
  }, {
    environment:
      `environment? = null -- what answers the model: {path: FILE.ts}, {command: [PROGRAM,
      …], workers: N}, {agent: [PROGRAM, …]} that asks by OpenAI's API, {url: ws://HOST:PORT} of
      OpenEnv, {mcp: {command or url}}, or a name, such as second_tries or sokoban
      (docs/environments.md)`,
    environments: `environments? = null -- several environments by name; the column environment of
      each row of the data chooses one`,
    tools: `tools = [] -- files, and servers ({mcp: …}), with tools that the model may call, for all
      problems`,
  }),
};
