/**
 * The flags and the help of a command as a table: one line of text for each flag, from which
 * Commander's option is made, and its type in TypeScript:
 *
 *     json: "flag -- one JSON document"                 --json
 *     topK: "int>=0 <k> = 0 -- 0 = off"                 --top-k <k>, with a default
 *     output: "text! <file> -- where it is written"     must be given
 *     set: "texts <k=v> -- a parameter (repeatable)"    a list, one at a time
 *     models: "words <models...> = [] -- folders"       a list, several at a time
 *     cache: "off -- keep no answers"                   --no-cache
 *     tune: "flag -- measure kernels | off -- do not"   both
 *     "[file]": "= - -- a file"                         an argument, with a default
 *     "Sampling:": ""                                   the heading of those that follow
 *
 * Other types are those of the keys of a configuration (`type_words.ts`). `About:` says what the
 * command does, `Examples:` are command lines, `After:` is what the help ends with.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { rangeOf, type ReadAs } from "../configs/types/type_words.ts";
import { UsageError } from "../core/errors.ts";
import { jsonObjectOrNull } from "../core/json_file.ts";
import { whyNotJson } from "../core/text_file.ts";
import type * as tables from "./flag_tables.ts";

export type Table = Readonly<Record<string, string>>;

/** The part of a flag's line before its meaning. */
type Head<S> = S extends `${infer H} --${string}` ? H : S;
/** The type of a flag in words, without its placeholder and its default. */
type Kind<S> = S extends `${infer K} = ${string}` ? Kind<K>
  : S extends `${infer K} <${string}` | `${infer K} [${string}` ? K
  : S;
type ValueOf<K> = K extends `${infer T}!` ? ValueOf<T>
  : K extends "flag" | "off" ? boolean
  : K extends "texts" | "words" ? string[]
  : K extends string ? ReadAs<K, object>
  : never;
/** Whether the value is optional (`--resume [checkpoint]`), or there is a flag `--no-…`, too. */
type More<S> =
  | (Head<S> extends `${string} = ${string}` ? never
    : Head<S> extends `${string} [${string}` ? true
    : never)
  | (S extends `${string} |${string}off --${string}` ? false : never);
/** Whether there is always a value: a default, or a flag that must be given. */
type IsSet<S> = S extends `${string} |${string}off --${string}` ? false
  : Head<S> extends `${string} = ${string}` | "off" | `texts${string}` | `${string}! ${string}`
    ? true
  : false;

/** The values of the flags of a table, after parsing. */
export type Flags<T> =
  & { -readonly [P in keyof T as Named<P, T[P], true>]: Value<T[P]> }
  & { -readonly [P in keyof T as Named<P, T[P], false>]?: Value<T[P]> };
/** The values of the flags of a command, by the name of its table. */
export type FlagsOf<N extends keyof typeof tables> = Flags<(typeof tables)[N]>;
type Named<P, S, IsGiven> = P extends `${string}:` | `<${string}` | `[${string}` ? never
  : IsSet<S> extends IsGiven ? P
  : never;
type Value<S> = ValueOf<Kind<Head<S>>> | More<S>;

/** `--top-k` of `topK`, `--load-in-8bit` of `loadIn8bit`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]|\d+/g, (part) => `-${part.toLowerCase()}`)}`;
}

/** Adds the flags and the help of a table to a command. */
export function addFlags(command: Command, table: Table): Command {
  for (const [name, text] of Object.entries(table)) {
    if (name === "Examples:") command.addHelpText("after", examples(...linesOf(text)));
    else if (name === "After:") command.addHelpText("after", `\n${linesOf(text).join("\n")}`);
    else if (name === "About:") command.description(text);
    else if (name.endsWith(":")) command.optionsGroup(name);
    else if (/^[<[]/.test(name)) {
      const [, byDefault, about] = /^(?:= (\S+) -- )?(.*)$/s.exec(text)!;
      command.argument(name, about, byDefault);
    } else {
      for (const line of text.split(/ \|\s+(?=off --)/)) command.addOption(optionOf(name, line));
    }
  }
  return command;
}

function linesOf(text: string): string[] {
  // A line that ends in a backslash continues in the next line.
  return text.trim().split(/(?<!\\)\n/).map((line) => line.replace(/^ {4}/gm, ""));
}

function optionOf(name: string, line: string): Option {
  const [, kind, must, placeholder, byDefault, text] =
    /^(one [^ ]+|[^ !]+)(!?)(?: ([<[][^ ]*[>\]]))?(?: = (.*?))? --(?: (.*))?$/
      .exec(line.replace(/\s*\n\s*/g, " "))!;
  const flag = kind === "off" ? flagOf(name).replace("--", "--no-") : flagOf(name);
  const option = new Option(placeholder === undefined ? flag : `${flag} ${placeholder}`, text);
  if (kind!.startsWith("one ")) option.choices(kind!.slice(4).split("|"));
  if (kind === "texts") option.argParser(collect).default([]);
  const isNumber = /^(int|number)/.test(kind!);
  if (isNumber) option.argParser(numberIn(kind!));
  if (byDefault === "[]") option.default([]);
  else if (byDefault !== undefined) option.default(isNumber ? Number(byDefault) : byDefault);
  return option.makeOptionMandatory(must === "!");
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

/** Parses a flag's value as a number within the bounds of a line such as `int>=0<=5 <n> -- …`. */
function numberIn(line: string): (text: string) => number {
  const [kind] = line.split(" ") as [string], isWhole = kind.startsWith("int");
  const { min, above, max = Number.MAX_SAFE_INTEGER } = rangeOf(kind);
  const isOpen = (value: number) => max === Number.MAX_SAFE_INTEGER && !(value > max);
  return (text) => {
    const value = Number(text), low = min ?? above ?? -max;
    const isIn = text.trim() !== "" && value >= low && value <= max && value !== above;
    if (isIn && (!isWhole || Number.isInteger(value))) return value;
    const range = above !== undefined
      ? `above ${above}${isOpen(value) ? "" : `, up to ${max}`}`
      : isOpen(value)
      ? `≥ ${min}`
      : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`expected ${isWhole ? "an integer" : "a number"} ${range}.`);
  };
}

export function examples(...lines: string[]): string {
  const shown = lines.map((line) => `  $ ${line.split("\n").map(folded).join("\n")}`);
  return "\nExamples:\n" + shown.join("\n");
}

/** Columns of a terminal, less those before a command. */
const WIDTH = 80 - 4;

/** A long command continues in another line, which begins with a flag. */
function folded(line: string): string {
  if (line.length <= WIDTH) return line;
  const at = line.lastIndexOf(" --", WIDTH - 2);
  return at <= 0 ? line : `${line.slice(0, at)} \\\n${folded(`      ${line.slice(at + 1)}`)}`;
}

/** The model of a command that takes it as an argument or as --model. */
export function oneModel(command: string, argument?: string, flag?: string): string {
  const model = argument ?? flag;
  if (model !== undefined && (argument === undefined || flag === undefined)) return model;
  throw new UsageError(`name one model: rgx ${command} MODEL`);
}

/** Parses a text of the user. @param where for messages @throws UsageError when it is no JSON */
export function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${where}: not JSON: ${whyNotJson(error)}`);
  }
}

/** The values of --chat-template-kwargs. @throws UsageError when they are no JSON object */
export function templateValues(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  const values = jsonObjectOrNull(text);
  if (values !== null) return values;
  throw new UsageError(`--chat-template-kwargs ${text}: expected an object as JSON`, {
    advice: `For example --chat-template-kwargs '{"enable_thinking": false}'.`,
  });
}

/** The object with only these of its properties. */
export function pick<T extends object, K extends keyof T>(from: T, ...names: K[]): Pick<T, K> {
  const found = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]);
  return Object.fromEntries(found) as Pick<T, K>;
}

/** The object without its undefined values. */
export function given<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}
