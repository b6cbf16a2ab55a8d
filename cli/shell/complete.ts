/**
 * The words that can complete the last word of a command line: commands, flags, values of flags,
 * tasks, rewards, embedded configs, configuration keys and their values.
 */
import type { Command, Option } from "commander";
import { evaluationNames, experimentNames } from "../../configs/documents/embedded.ts";
import { SECTIONS } from "../../configs/schema/schema.ts";
import { DEVICE_NAMES } from "../../kernels/mod.ts";
import { BUILT_IN_REWARDS } from "../../rewards/registry.ts";
import { getTask, taskNames } from "../../tasks/registry.ts";
import { print } from "../terminal/terminal.ts";
import bash from "./rgx.bash" with { type: "text" };
import fish from "./rgx.fish" with { type: "text" };
import zsh from "./rgx.zsh" with { type: "text" };

export interface Candidate {
  word: string;
  what: string;
}

/** Prints the candidates, one per line: the word, a tab, its description. */
export function printCandidates(program: Command, words: readonly string[]): void {
  const found = candidates(program, words);
  if (found.length > 0) print(found.map(({ word, what }) => `${word}\t${what}`).join("\n"));
}

/**
 * @param words the words after `rgx` up to the cursor; the last one is incomplete or empty
 * @returns none where only the name of a file can stand, or nothing is known
 */
export function candidates(program: Command, words: readonly string[]): Candidate[] {
  const last = words.at(-1) ?? "";
  return possible(program, words, last).filter(({ word }) => word.startsWith(last))
    .map(({ word, what }) => ({ word, what: what.replaceAll(/\s+/g, " ") }));
}

function possible(program: Command, words: readonly string[], last: string): Candidate[] {
  const { command, args, flag } = read(program, words.slice(0, -1));
  if (flag !== null) return valuesOf(flag).map((word) => ({ word, what: "" }));
  const withValue = /^(--[\w-]+)=/.exec(last);
  if (withValue !== null) {
    const option = command.options.find((known) => known.long === withValue[1]);
    const values = option === undefined ? [] : valuesOf(option);
    return values.map((value) => ({ word: `${withValue[1]}=${value}`, what: "" }));
  }
  if (last.startsWith("-")) return flagsOf(command);
  const children = args.length > 0 ? [] : command.createHelp().visibleCommands(command)
    .filter((child) => child.name() !== "help")
    .map((child) => ({ word: child.name(), what: child.description() }));
  return [...children, ...argumentsOf(command, args, last)];
}

/** The command of some words, its arguments so far, and a flag that waits for its value. */
function read(program: Command, words: readonly string[]) {
  let command = program, flag: Option | null = null;
  const args: string[] = [];
  for (const word of words) {
    if (flag !== null) {
      flag = null;
    } else if (word.startsWith("-") && word !== "-") {
      const option = command.options.find((known) => known.long === word || known.short === word);
      flag = option?.required ? option : null;
    } else {
      const child = args.length > 0
        ? undefined
        : command.commands.find((known) => known.name() === word);
      if (child === undefined) args.push(word);
      else command = child;
    }
  }
  return { command, args, flag };
}

/** The values of flags that their parser knows, but not their declaration. */
const FLAG_VALUES: Readonly<Record<string, () => readonly string[]>> = {
  "--device": () => DEVICE_NAMES,
  "--split": () => ["train", "validation", "test"],
  "--category": () => [...new Set(taskNames().map((name) => getTask(name).category))].sort(),
  "--config": evaluationNames,
};

function valuesOf({ argChoices, long }: Option): readonly string[] {
  return argChoices ?? FLAG_VALUES[long ?? ""]?.() ?? [];
}

function flagsOf(command: Command): Candidate[] {
  return command.createHelp().visibleOptions(command)
    .map(({ long, short, description }) => ({ word: long ?? short ?? "", what: description }));
}

/** The candidates for an argument, by its name and the command. */
function argumentsOf(command: Command, args: readonly string[], last: string): Candidate[] {
  const declared = command.registeredArguments;
  const argument = declared[args.length] ?? declared.findLast(({ variadic }) => variadic);
  if (argument === undefined) return [];
  if (argument.argChoices !== undefined) {
    return argument.argChoices.map((word) => ({ word, what: "" }));
  }
  const group = command.parent?.name();
  switch (argument.name()) {
    case "name":
    case "names":
      return group === "rewards"
        ? BUILT_IN_REWARDS.map(({ name, description }) => ({ word: name, what: description }))
        : taskNames().map((word) => ({ word, what: getTask(word).description }));
    case "config":
    case "configs":
      return [
        ...experimentNames().map((word) => ({ word, what: "embedded config" })),
        ...configFiles(last),
      ];
    case "overrides":
      return keys(last);
    default:
      return [];
  }
}

/** Files with configurations and folders in the folder of a word. */
function configFiles(word: string): Candidate[] {
  const folder = word.slice(0, word.lastIndexOf("/") + 1);
  try {
    return [...Deno.readDirSync(folder === "" ? "." : folder)]
      .filter(({ name, isFile }) => !isFile || /\.(ya?ml|json)$/.test(name))
      .map(({ name, isFile }) =>
        isFile
          ? { word: folder + name, what: "file" }
          : { word: `${folder}${name}/`, what: "folder" }
      )
      .sort((a, b) => a.word < b.word ? -1 : 1);
  } catch {
    return []; // There is no such folder, or it may not be read.
  }
}

/** Configuration keys with "=", or the values of a key that is written. */
function keys(last: string): Candidate[] {
  const sign = last.slice(0, /[a-z_]/i.exec(last)?.index ?? 0);
  const found = SECTIONS.flatMap(({ path, keys }) =>
    Object.entries(keys).map(([name, { type, doc }]) => ({
      word: `${sign}${path === "" ? "" : `${path}.`}${name}=`,
      values: type.values ?? [],
      what: doc,
    }))
  );
  const written = found.find(({ word }) => last.startsWith(word));
  if (written === undefined) return found;
  return written.values.map((value) => ({ word: written.word + value, what: "" }));
}

/**
 * The scripts for the shells. They ask rgx itself for the candidates, so they need no change when
 * commands change. If rgx has none, the shell completes the names of files.
 */
const SCRIPTS = { bash, zsh, fish } as const;

export function printCompletions(shell: keyof typeof SCRIPTS): void {
  print(SCRIPTS[shell].trimEnd());
}
