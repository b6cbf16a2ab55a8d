/**
 * Overrides from the command line and from environment variables, applied to a merged tree. `a.b=v`
 * sets, `+a.b=v` adds, `++a.b=v` does either, `~a.b` deletes, and `a.0.b=v` sets a part of a list
 * item. Flags are `--a.b v`, `--a-b v`, `--a.b=v`, `--flag`, `--no-flag`, and `--list v w` for a
 * key that may be a list, as in TRL; an environment variable is `RGX_A__B=v`. Values are YAML
 * scalars or flow collections. Later overrides win.
 */
import { UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { didYouMean } from "../../core/suggest.ts";
import { exists } from "../../core/paths.ts";
import { experimentNames } from "../documents/embedded.ts";
import { isOverride } from "../foreign/config_arguments.ts";
import { LISTED } from "../foreign/foreign_keys.ts";
import { canonicalise } from "./canonical.ts";
import type { Environment } from "./interpolation.ts";
import {
  COMMAND_LINE,
  type ConfigNode,
  describeNode,
  emptyMap,
  formatPosition,
  isNull,
  type MapEntry,
  type MapNode,
  mergeMaps,
  nodeAt,
  nowhere,
  type Problems,
  type Source,
  withNode,
  without,
} from "../documents/node.ts";
import { keyBeginning, KEYS, meaningOf } from "./key_names.ts";
import { parseValue } from "../documents/yaml_source.ts";
import { isRewardSection, rewardAsWritten } from "../schema/reward_section.ts";
import { SECTIONS } from "../schema/schema.ts";
import type { ConfigOverrides } from "../config_object.ts";

export interface Override {
  action: "set" | "add" | "force" | "delete";
  /** The dotted key as it is written. */
  key: string;
  /** Text of the value; "" for `delete`. */
  value: string;
  source: Source;
  /** The flag as it was typed, if it was one. */
  flag?: string;
}

/** Environment variables of the program itself, which are never keys. */
const RESERVED = [
  "RGX_DEBUG",
  "RGX_DEVICE",
  "RGX_NATIVE",
  "RGX_NUM_THREADS",
  "RGX_TARGET",
  "RGX_MPI_LIB",
];

/**
 * Parses the arguments after CONFIG.
 * @param options options of the command itself (`--resume`), to suggest for a misspelt one
 * @param source where they come from, for messages
 * @throws UsageError for an argument that has none of the forms
 */
export function parseOverrides(
  args: readonly string[],
  options: readonly string[] = [],
  source: Source = COMMAND_LINE,
): Override[] {
  const overrides: Override[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg.startsWith("--")) {
      const { override, used } = parseFlag(arg, args.slice(i + 1), options);
      overrides.push(override);
      i += used;
      continue;
    }
    const deletion = /^~([^=]+)(=.*)?$/s.exec(arg);
    if (deletion !== null) {
      overrides.push({ action: "delete", key: deletion[1]!.trim(), value: "", source });
      continue;
    }
    const setting = /^(\+\+|\+|)([^\s=+][^=]*)=(.*)$/s.exec(arg);
    if (setting === null) {
      throw new UsageError(`${JSON.stringify(arg)} is no override`, {
        advice: /checkpoint-\d+\/*$/.test(arg)
          ? `--resume=${arg} continues from this checkpoint`
          : "write key.path=value, +key=value, ~key, --key value or --flag",
      });
    }
    const action = ({ "": "set", "+": "add", "++": "force" } as const)[setting[1] as "" | "+"]!;
    overrides.push({ action, key: setting[2]!.trim(), value: setting[3]!, source });
  }
  refuseContradictions(overrides);
  return overrides;
}

/**
 * Refuses a flag and a key of different spelling that set the same key to different values. Of the
 * same spelling the last one wins.
 */
function refuseContradictions(overrides: readonly Override[]): void {
  const written = new Map<string, Override>();
  for (const override of overrides) {
    const known = keyBeginning(override.key);
    if (override.action === "delete" || known === null || known.rest.length > 0) continue;
    const before = written.get(known.path);
    written.set(known.path, override);
    if (before === undefined || before.value === override.value) continue;
    const isFlag = override.flag !== undefined || before.flag !== undefined;
    if (!isFlag || nameOf(before) === nameOf(override)) continue;
    throw new UsageError(
      `${asTyped(before)} and ${asTyped(override)} contradict each other: both set ${known.path}`,
      { advice: "Give one of them." },
    );
  }
}

function nameOf({ flag, key }: Override): string {
  return flag?.slice(2).replaceAll("-", "_") ?? key;
}

/** The override as it was typed. */
function asTyped({ flag, key, value }: Override): string {
  if (flag === undefined) return `${key}=${value}`;
  return flag === "--skip-evaluation" ? flag : `${flag} ${value}`;
}

function parseFlag(
  arg: string,
  following: readonly string[],
  options: readonly string[],
): { override: Override; used: number } {
  const source = COMMAND_LINE, [next] = following;
  const [, name, value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  const key = (name ?? "").replaceAll("-", "_");
  // Flags of OpenRLHF are in a section here, and have none as they are typed.
  const isOfSection = key.startsWith("openrlhf."), typed = arg.replace("openrlhf.", "");
  const set = (key: string, value: string, used: number) => ({
    override: {
      action: "set" as const,
      key,
      value,
      source,
      ...(isOfSection ? {} : { flag: `--${name}` }),
    },
    used,
  });
  if (key === "") throw new UsageError(`${arg}: expected --key value`);
  if (key === "skip_evaluation" && value === undefined) return set("eval.num_examples", "0", 0);
  if (value !== undefined) return set(key, value, 0);
  const positive = key.replace(/^no_/, "");
  const isSwitch = isFlag(positive) || meaningOf(positive).kind === "notObeyed";
  if (positive !== key && isSwitch && !isKnown(key)) return set(positive, "false", 0);
  if (isFlag(key)) {
    if (/^(true|false|null)$/i.test(next ?? "")) return set(key, next!, 1);
    return set(key, "true", 0);
  }
  if (!isKnown(key)) {
    const flags = flagNames().map((name) => `--${name.replaceAll("_", "-")}`);
    throw new UsageError(`${arg}: unknown option${didYouMean(arg, [...options, ...flags])}`, {
      advice: "--help lists the options; a configuration key is written --key value or key=value",
    });
  }
  const isBare = next === undefined || /^--\D/.test(next);
  // A flag of another program, such as `--trust_remote_code`, may be a switch.
  if (meaningOf(key).kind === "notObeyed" && (isBare || setsKey(next))) {
    return set(key, "true", 0);
  }
  if (isBare) throw new UsageError(`${typed}: expected a value`);
  const end = following.findIndex((word) => /^(--|-\D|[~+])|=/.test(word));
  const words = following.slice(0, end < 0 ? following.length : end);
  if (words.length > 1 && mayBeList(key)) return set(key, listText(words), words.length);
  return set(key, next, 1);
}

/** Whether a word sets a key: `max_steps=4`, or any key with a section. */
function setsKey(word: string): boolean {
  const [, key] = /^\+{0,2}([\w.]+)=/.exec(word) ?? [];
  return key !== undefined && (key.includes(".") || isKnown(key));
}

function mayBeList(key: string): boolean {
  const meaning = meaningOf(key);
  return meaning.kind === "notObeyed" ||
    meaning.kind === "key" && /\blist\b/.test(KEYS.get(meaning.path)!.type.expected);
}

/** A list of YAML with these words. */
function listText(words: readonly string[]): string {
  const items = words.map((word) =>
    /^[[{"']/.test(word) || (word !== "" && !Number.isNaN(Number(word)))
      ? word
      : JSON.stringify(word)
  );
  return `[${items.join(", ")}]`;
}

function isKnown(key: string): boolean {
  return keyBeginning(key) !== null ||
    ["prefix", "notObeyed", "misplaced"].includes(meaningOf(key).kind);
}

function isFlag(key: string): boolean {
  const meaning = meaningOf(key);
  if (meaning.kind === "key") {
    return KEYS.get(meaning.path)!.type.expected.startsWith("true or false");
  }
  if (meaning.kind !== "notObeyed") return false;
  const neutral = LISTED.get(key)?.neutral ?? [];
  // --fsdp is false, or text.
  return (neutral.some((value) => typeof value === "boolean") && !neutral.includes("")) ||
    /^(no|use)_/.test(key.split(".").at(-1)!);
}

/**
 * CONFIG and the other arguments, if CONFIG comes after some of them: `--max-steps 3 quickstart`.
 * If no word can be CONFIG, the order of the words is kept.
 */
export async function configFirst(
  words: readonly string[],
): Promise<[config: string, overrides: string[]]> {
  const names = experimentNames(), [first, ...others] = words;
  for (const [i, word] of words.entries()) {
    if (!await isOverride(words[0]!)) break;
    if (i > 0 && takesValue(words[i - 1]!) || await isOverride(word)) continue;
    const isFile = /\.(ya?ml|json)$/.test(word) && await exists(word);
    if (isFile || names.includes(word) || word.startsWith("rgx:")) {
      return [word, words.toSpliced(i, 1)];
    }
  }
  return [first!, others];
}

/** Whether the word after this one is its value. */
function takesValue(word: string): boolean {
  if (!word.startsWith("--") || word.includes("=")) return false;
  const key = word.slice(2).replaceAll("-", "_");
  return key !== "skip_evaluation" && !isFlag(key.replace(/^no_/, ""));
}

function flagNames(): string[] {
  return [...KEYS.keys()].flatMap((path) => [path, path.split(".").at(-1)!]).filter(isKnown);
}

/**
 * Overrides from environment variables such as `RGX_LEARNING_RATE` and `RGX_DATA__SEED`. They are
 * applied after the file and before the command line.
 */
export function environmentOverrides(environment: Environment, problems: Problems): Override[] {
  const overrides: Override[] = [];
  for (const name of Object.keys(environment).sort()) {
    const value = environment[name];
    if (!name.startsWith("RGX_") || RESERVED.includes(name) || value === undefined) continue;
    if (name.startsWith("RGX_TEST_")) continue; // the tests' own
    const key = name.slice(4).toLowerCase().replaceAll("__", ".");
    const source = { name, directory: null };
    if (keyBeginning(key) !== null) overrides.push({ action: "force", key, value, source });
    else {
      const near = didYouMean(key, flagNames());
      if (near !== "") problems.note(nowhere(source), key, `unknown key, ignored${near}`);
    }
  }
  return overrides;
}

/** The tree with one override applied. Errors go to `problems`. */
export function applyOverride(tree: MapNode, override: Override, problems: Problems): MapNode {
  const { action, key, source } = override;
  const at = nowhere(source);
  const known = keyBeginning(key);
  if (action === "delete") return applyDeletion(tree, override, problems);
  const before = problems.count, node = parseValue(override.value, source, problems, key);
  // A value that cannot be read is one mistake, whatever the key wants.
  if (problems.count > before) {
    problems.incomplete = true;
    return tree;
  }
  const path = known === null ? null : [...known.path.split("."), ...known.rest];
  if (action === "add" && path !== null) {
    const there = nodeAt(tree, path);
    if (there !== undefined && !(there.kind === "scalar" && there.value === null)) {
      const where = formatPosition(there.at);
      problems.add(at, key, `is set already (${where}); write ${key}=… or ++${key}=…`);
      return tree;
    }
  }
  if (path === null || known!.rest.length === 0 || meaningOf(key, node).kind === "prefix") {
    const entries = new Map<string, MapEntry>([[key, { keyAt: at, node }]]);
    noteKeptTasks(tree, path, override, node, problems);
    return mergeMaps(tree, canonicalise({ ...emptyMap(at), entries }, problems));
  }
  const { path: begin, rest } = known!, inner = nodeAt(tree, begin);
  const isMap = /^a map\b/.test(KEYS.get(begin)?.type.expected ?? "");
  const root = isMap && (inner === undefined || isNull(inner)) ? emptyMap(at) : inner;
  const changed = setInside(root, rest, node, action !== "set", (why) => {
    problems.add(at, key, why);
  });
  return changed === null ? tree : withNode(tree, begin, changed, { keyAt: at });
}

/** Notes that a map of tasks is added to the existing tasks, which a user may not expect. */
function noteKeptTasks(
  tree: MapNode,
  path: readonly string[] | null,
  { key, source }: Override,
  node: ConfigNode,
  problems: Problems,
): void {
  if (path?.join(".") !== "data.tasks" || node.kind !== "map" || node.entries.has("_delete_")) {
    return;
  }
  const before = nodeAt(tree, path);
  const names = before?.kind === "map" ? [...before.entries.keys()] : [];
  const kept = names.filter((name) => !node.entries.has(name));
  if (kept.length === 0) return;
  const text =
    `${kept.join(", ")} of the configuration stay${kept.length === 1 ? "s" : ""}, too; ` +
    "_delete_: true in the map replaces all";
  problems.note(nowhere(source), key, text);
}

/** Sets the part `rest` of a value to `node`. Null after an error was reported. */
function setInside(
  inside: ConfigNode | undefined,
  rest: readonly string[],
  node: ConfigNode,
  mayAppend: boolean,
  complain: (why: string) => void,
): ConfigNode | null {
  const [name, ...deeper] = rest;
  if (name === undefined) return node;
  if (inside === undefined || inside.kind === "scalar") {
    complain(`there is no ${name} in ${inside === undefined ? "it" : describeNode(inside)}`);
    return null;
  }
  if (inside.kind === "map") {
    const value = setInside(
      inside.entries.get(name)?.node ?? (deeper.length > 0 ? emptyMap(node.at) : node),
      deeper,
      node,
      mayAppend,
      complain,
    );
    if (value === null) return null;
    const entries = new Map(inside.entries).set(name, { keyAt: node.at, node: value });
    return { ...inside, entries };
  }
  const index = /^\d+$/.test(name) ? Number(name) : -1;
  const { length } = inside.items;
  if (index === length && deeper.length === 0 && mayAppend) {
    return { ...inside, items: [...inside.items, node] };
  }
  if (index < 0 || index >= length) {
    const range = length === 0 ? "the list is empty" : `the list has items 0 to ${length - 1}`;
    complain(`there is no item ${name}: ${range}`);
    return null;
  }
  const value = setInside(inside.items[index], deeper, node, mayAppend, complain);
  return value === null ? null : { ...inside, items: inside.items.with(index, value) };
}

function applyDeletion(tree: MapNode, { key, source }: Override, problems: Problems): MapNode {
  const meaning = meaningOf(key);
  const known = meaning.kind === "prefix" ? null : keyBeginning(key);
  const path = known === null ? key.split(".") : [...known.path.split("."), ...known.rest];
  if (nodeAt(tree, path) === undefined) {
    const near = didYouMean(key, writtenKeys(tree));
    problems.add(nowhere(source), `~${key}`, `nothing to delete, the key is not set${near}`);
    return tree;
  }
  return without(tree, path);
}

/** The paths of all keys of a tree, and for translated keys the key that the user wrote. */
function writtenKeys(node: ConfigNode, path = ""): string[] {
  const here = [path, node.foreign].filter((name) => name !== undefined && name !== "") as string[];
  if (node.kind !== "map") return here;
  const below = [...node.entries].flatMap(([name, entry]) =>
    writtenKeys(entry.node, path === "" ? name : `${path}.${name}`)
  );
  return [...here, ...below];
}

/**
 * `{training: {max_steps: 5}}` → `["training.max_steps=5"]`. Sections and maps are merged with what
 * is there; any other value, also a list, replaces it. Tasks that are named take the place of the
 * problems that are there, with their parameters.
 * @throws UsageError for a value that no YAML file can have
 */
export function overrideArguments(overrides: ConfigOverrides): string[] {
  const sections = new Set(SECTIONS.map(({ path }) => path));
  const collect = (values: object, prefix: string): string[] =>
    Object.entries(values).flatMap(([key, value]) => {
      if (value === undefined) return [];
      const path = prefix + key;
      if (sections.has(path) && isRecord(value)) return collect(value, `${path}.`);
      const text = JSON.stringify(value);
      if (text !== undefined) return [`${path}=${text}`];
      throw new UsageError(`overrides: ${path} is a ${typeof value}`, {
        advice: "It may hold maps, lists, texts, numbers, true, false and null.",
      });
    });
  const { data, rewards } = overrides;
  return collect({
    ...overrides,
    ...isRecord(data) && { data: { ...data, ...inPlaceOfOtherProblems(data) } },
    ...Array.isArray(rewards) && {
      rewards: rewards.map((reward) => isRewardSection(reward) ? rewardAsWritten(reward) : reward),
    },
  }, "");
}

/** The keys that remove the configuration's problems if the overrides name other tasks. */
function inPlaceOfOtherProblems(data: NonNullable<ConfigOverrides["data"]>): object {
  const { task_name = null, tasks = null, dataset_name = null, task_config } = data;
  const { eval_dataset_name = null } = data;
  if (task_name === null && tasks === null) return {};
  return {
    dataset_name,
    eval_dataset_name,
    // The task `composite` names the tasks that are there.
    ...task_name !== "composite" && { task_name, tasks },
    task_config: { _delete_: true, ...task_config },
  };
}
