/**
 * What a field of a response template holds: the kinds of content of transformers 5 and one more,
 * the form that a value gets, and the types that the schema of a tool gives to arguments.
 */
import { isRecord } from "../../../core/json_file.ts";

export const CONTENT_KINDS = [
  "text",
  "int",
  "float",
  "bool",
  "json",
  "xml-inline",
  "kv-lines",
  "python-calls",
] as const;
export type ContentKind = typeof CONTENT_KINDS[number];

type Args = Readonly<Record<string, unknown>>;

/** @throws Error for a text that has another form */
export function parseContent(text: string, kind: ContentKind, args: Args): unknown {
  switch (kind) {
    case "text":
      return args["strip"] === false ? text : text.trim();
    case "int":
    case "float":
      return numberOf(text, kind === "int" ? "integer" : "number");
    case "bool":
      return ["true", "1"].includes(text.trim().toLowerCase());
    case "json":
      return parseJson(text, args);
    case "xml-inline":
      return parseTags(text, args);
    case "kv-lines":
      return parseLines(text, args);
    case "python-calls":
      return new PythonCalls(text).list();
  }
}

function numberOf(text: string, type: "integer" | "number"): number {
  const value = castTo(text, type);
  if (typeof value !== "number") throw new Error(`${shown(text)} is no ${type}`);
  return value;
}

/** Code points that no text has: they stand around the number of a text that stands aside. */
const HELD = /[\ufdd2\ufdd3]/;

/** JSON, in which texts may have other quotes, and keys none. */
function parseJson(text: string, args: Args): unknown {
  const delimiters = (args["string_delims"] ?? []) as [string, string][];
  const captured: string[] = [];
  let json = text;
  // Texts between the quotes of the model stand aside, so that nothing in them is changed.
  if (delimiters.length > 0 && HELD.test(text)) throw new Error("a character without a meaning");
  for (const [open, close] of delimiters) {
    for (let at = json.indexOf(open); at >= 0; at = json.indexOf(open, at + 1)) {
      const end = json.indexOf(close, at + open.length);
      if (end < 0) break;
      const number = captured.push(json.slice(at + open.length, end)) - 1;
      json = `${json.slice(0, at)}\ufdd2${number}\ufdd3${json.slice(end + close.length)}`;
    }
  }
  if (args["unquoted_keys"] === true) {
    json = json.replaceAll(/(?<=[{,])([\p{L}\p{N}_]+):/gu, '"$1":');
  }
  json = json.replaceAll(/\ufdd2(\d+)\ufdd3/g, (_, number) => JSON.stringify(captured[number]));
  try {
    return JSON.parse(json);
  } catch {
    if (args["allow_non_json"] === true) return text.trim();
    throw new Error(`not JSON: ${shown(text.trim())}`);
  }
}

function inner(text: string, args: Args): unknown {
  const parser = args["value_parser"];
  if (!isRecord(parser)) return text;
  const { name = "text", args: more = {} } = parser;
  return parseContent(text, name as ContentKind, more as Args);
}

function parseTags(text: string, args: Args): Record<string, unknown> {
  const found: [string, unknown][] = [], merges = args["merge_duplicates"] === true;
  for (const { groups } of text.matchAll(args["tag"] as RegExp)) {
    const key = groups?.["key"];
    if (key === undefined) throw new Error("the pattern of a tag has no group named key");
    const value = inner(groups!["value"] ?? "", args), at = found.findIndex(([one]) => one === key);
    if (at < 0) found.push([key, value]);
    else if (merges) found[at] = [key, [found[at]![1], value].flat()];
    else found[at] = [key, value];
  }
  return Object.fromEntries(found);
}

function parseLines(text: string, args: Args): Record<string, unknown> {
  const { line_sep: line = "\n", kv_sep: separator = ":" } = args as Record<string, string>;
  return Object.fromEntries(
    text.split(line).filter((one) => one.includes(separator)).map((one) => {
      const at = one.indexOf(separator);
      return [one.slice(0, at).trim(), inner(one.slice(at + separator.length).trim(), args)];
    }),
  );
}

/** Calls as Python writes them: `[f(i=3, s='x'), g()]`. */
class PythonCalls {
  #at = 0;

  constructor(private readonly text: string) {}

  list(): { name: string; arguments: Record<string, unknown> }[] {
    this.#need(/\[/y);
    const calls = this.#items("]", () => {
      const name = this.#need(/(\w[\w.]*)\s*\(/y)[1]!;
      const entries = this.#items(")", () => {
        const key = this.#need(/(\w+)\s*=/y)[1]!;
        return [key, this.#value()] as const;
      });
      return { name, arguments: Object.fromEntries(entries) };
    });
    if (this.text.slice(this.#at).trim() !== "") throw this.#error();
    return calls;
  }

  #error(): Error {
    return new Error(
      `no list of calls: ${shown(this.text)} at ${shown(this.text.slice(this.#at))}`,
    );
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    while (/\s/.test(this.text[this.#at] ?? "")) this.#at++;
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  #need(pattern: RegExp): RegExpExecArray {
    const found = this.#match(pattern);
    if (found === null) throw this.#error();
    return found;
  }

  /** What stands between commas, up to the closing bracket. */
  #items<T>(close: string, item: () => T): T[] {
    const items: T[] = [], end = new RegExp(`\\${close}`, "y");
    while (this.#match(end) === null) {
      if (items.length > 0) this.#need(/,/y);
      items.push(item());
    }
    return items;
  }

  #value(): unknown {
    if (this.#match(/\[/y) !== null) return this.#items("]", () => this.#value());
    if (this.#match(/\{/y) !== null) {
      const entries = this.#items("}", () => {
        const key = this.#value();
        this.#need(/:/y);
        return [String(key), this.#value()] as const;
      });
      return Object.fromEntries(entries);
    }
    // A quote within the text need not be escaped: the last one stands before a comma or bracket.
    const quoted = this.#match(/(['"])((?:\\.|(?!\1\s*[,)\]}:])[^])*)\1/y);
    if (quoted !== null) return unescaped(quoted[2]!);
    const bare = this.#need(/[^,()[\]{}'"]+/y)[0].trim();
    if (/^(true|false)$/i.test(bare)) return bare.toLowerCase() === "true";
    if (bare === "None" || bare === "null") return null;
    return castTo(bare, "number") ?? bare;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unescaped(text: string): string {
  return text.replaceAll(
    /\\([^])/g,
    (whole, one) => ESCAPES[one] ?? (/['"\\]/.test(one) ? one : whole),
  );
}

/**
 * Fills the placeholders of a form.
 * @param scope the values by name; `{content.name}` is the field `name` of the value `content`
 * @throws Error for a value that is not there
 */
export function transformed(transform: unknown, scope: Args): unknown {
  if (Array.isArray(transform)) return transform.map((one) => transformed(one, scope));
  if (isRecord(transform)) {
    return Object.fromEntries(
      Object.entries(transform).map(([key, value]) => [key, transformed(value, scope)]),
    );
  }
  const path = typeof transform === "string" ? /^\{([\w.]+)\}$/.exec(transform)?.[1] : undefined;
  if (path === undefined) return transform;
  return path.split(".").reduce<unknown>((value, key) => {
    if (isRecord(value) && Object.hasOwn(value, key)) return value[key];
    throw new Error(`it has no ${key}`);
  }, scope);
}

/** The types that a schema accepts, in its order. */
function typesOf(schema: unknown): string[] {
  if (!isRecord(schema)) return [];
  const types = [schema["type"] ?? []].flat().filter((type) => typeof type === "string");
  for (const name of ["anyOf", "oneOf"]) {
    const choices = schema[name];
    if (Array.isArray(choices)) types.push(...choices.flatMap(typesOf));
  }
  if (schema["nullable"] === true && !types.includes("null")) types.push("null");
  return types;
}

/** The types that the schema of a tool gives to an argument; none = any. */
export function typesOfArgument(parameters: unknown, key: string): string[] {
  const properties = isRecord(parameters) ? parameters["properties"] : undefined;
  const isTyped = isRecord(properties) && Object.hasOwn(properties, key);
  return isTyped ? typesOf(properties[key]) : [];
}

/** Arguments that are texts become values of the first type of their schema that fits. */
export function castArguments(
  args: Readonly<Record<string, unknown>>,
  parameters: unknown,
): Record<string, unknown> {
  const cast = (value: unknown, types: readonly string[]): unknown => {
    if (typeof value === "string") return castText(value, types);
    // A list of a schema without lists: a key that came several times.
    if (!Array.isArray(value) || types.includes("array")) return value;
    return value.map((one) => typeof one === "string" ? castText(one, types) : one);
  };
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const types = typesOfArgument(parameters, key);
      return [key, types.length === 0 ? value : cast(value, types)];
    }),
  );
}

function castText(text: string, types: readonly string[]): unknown {
  for (const type of types) {
    const value = castTo(text, type);
    if (value !== undefined) return value;
  }
  return text;
}

const INTEGER = /^[+-]?\d+(_\d+)*$/, NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The value of a text, or undefined when it has another type. A text stays what it is. */
function castTo(text: string, type: string): unknown {
  const bare = text.trim(), lower = bare.toLowerCase();
  switch (type) {
    case "integer":
    case "number": {
      const digits = INTEGER.test(bare) ? bare.replaceAll("_", "") : bare;
      const value = NUMBER.test(digits) ? Number(digits) : NaN;
      return Number.isFinite(value) && (type === "number" || Number.isInteger(value))
        ? value
        : undefined;
    }
    case "boolean":
      if (lower === "true" || lower === "1") return true;
      return lower === "false" || lower === "0" ? false : undefined;
    case "null":
      return bare === "null" || bare === "None" ? null : undefined;
    case "object":
    case "array":
      try {
        const value: unknown = JSON.parse(text);
        return (type === "array" ? Array.isArray(value) : isRecord(value)) ? value : undefined;
      } catch {
        return undefined;
      }
  }
  return undefined;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
