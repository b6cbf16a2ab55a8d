/**
 * JSON Schema as a grammar: the subset of OpenAI's structured outputs, and a little more. Every
 * text of the grammar is JSON that the schema accepts; the reverse does not hold: properties come
 * in the schema's order, and other properties only where `additionalProperties` names a schema (or
 * is true). Keywords that are not supported are refused by name, so that none is without effect.
 */
import { reworded, UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { didYouMean } from "../../core/suggest.ts";
import type { Grammar, Node, Range } from "./grammar.ts";
import { type Condition, intersection } from "./intersection.ts";
import { JsonText } from "./json_text.ts";
import { integerNode, type Limits, numberNode } from "./number_ranges.ts";
import { patternNode } from "./regex.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Keywords that say nothing about which values are accepted. */
const NOTES = [
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$schema",
  "$id",
  "$comment",
  "$anchor",
  "$defs",
  "definitions",
  "discriminator",
  "nullable",
];
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties", "propertyNames"],
  array: ["items", "prefixItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  boolean: [],
  null: [],
};
/** Keywords that stand alone, with `type` at most. */
const ALONE = ["$ref", "anyOf", "oneOf", "allOf", "enum", "const"];
const KNOWN = [...NOTES, ...Object.values(KEYWORDS).flat(), ...ALONE, "type"];
const MAX_DEPTH = 200, MAX_OPTIONS = 4096, PAIR_WORK = 100;
/** Numbers between limits have their digits written out, so they have no more than 22. */
const MAX_LIMIT = 1e21;
const ANY: readonly Range[] = [[0, 0xd7ff], [0xe000, 0x10ffff]];

/**
 * The grammar of the JSON texts that a schema accepts.
 * @throws UsageError naming the keyword that is wrong or not supported
 */
export function schemaNode(g: Grammar, schema: unknown, name = "schema"): Node {
  const root = new SchemaCompiler(g, schema, name).node(schema, name);
  g.findInfinite(root);
  if (!root.isFinite) throw new UsageError(`${name}: no value is accepted by it`);
  return root;
}

class SchemaCompiler {
  readonly #text: JsonText;
  #depth = 0;

  constructor(
    private readonly g: Grammar,
    private readonly root: unknown,
    private readonly name: string,
  ) {
    this.#text = new JsonText(g);
  }

  node(schema: unknown, path: string): Node {
    const { g } = this;
    if (schema === true) return this.#text.anyValue;
    if (schema === false) return g.alt();
    if (!isRecord(schema)) throw wrong(path, schema, "a schema: an object");
    if (++this.#depth > MAX_DEPTH) throw new UsageError(`${path}: schemas in schemas, too deep`);
    for (const keyword of Object.keys(schema)) {
      if (KNOWN.includes(keyword) || keyword.startsWith("x-")) continue;
      throw new UsageError(`${path}.${keyword} is not supported${didYouMean(keyword, KNOWN)}`);
    }
    const node = this.#withoutNull(schema, path);
    this.#depth--;
    return schema["nullable"] === true ? g.alt(node, g.text("null")) : node;
  }

  #withoutNull(schema: Schema, path: string): Node {
    const { g } = this, alone = ALONE.filter((keyword) => keyword in schema);
    if (alone.length > 0) {
      const [keyword] = alone as [string];
      const isChoice = keyword === "enum" || keyword === "const";
      const others = Object.keys(schema).filter((key) =>
        key !== keyword && !NOTES.includes(key) && !key.startsWith("x-") &&
        !(key === "type" && isChoice)
      );
      if (others.length > 0) {
        throw new UsageError(
          `${path}: ${keyword} together with ${others.join(", ")} is not supported`,
        );
      }
      return this.#alone(keyword, schema, path);
    }
    const types = this.#types(schema, path);
    if (types === null) return this.#text.anyValue;
    for (const keyword of Object.keys(schema)) {
      if (NOTES.includes(keyword) || keyword === "type" || keyword.startsWith("x-")) continue;
      if (types.some((type) => KEYWORDS[type]!.includes(keyword))) continue;
      throw new UsageError(`${path}.${keyword} says nothing about ${types.join(" or ")}`);
    }
    return g.alt(...types.map((type) => this.#typed(type, schema, path)));
  }

  #alone(keyword: string, schema: Schema, path: string): Node {
    const { g } = this, value = schema[keyword], at = `${path}.${keyword}`;
    switch (keyword) {
      case "$ref":
        return this.#reference(value, at);
      case "const":
        return this.#literals([value], schema, path, at);
      case "enum":
        if (!isList(value)) throw wrong(at, value, `a list of 1 to ${MAX_OPTIONS} values`);
        return this.#literals(value, schema, path, at);
    }
    if (!isList(value)) throw wrong(at, value, `a list of 1 to ${MAX_OPTIONS} schemas`);
    if (keyword === "allOf" && value.length > 1) {
      throw new UsageError(`${at} with several schemas is not supported`, {
        advice: "Write their properties into one schema.",
      });
    }
    if (keyword === "oneOf") {
      for (let i = 0; i < value.length; i++) {
        for (let j = 0; j < i; j++) {
          g.spend(PAIR_WORK);
          const resolve = (one: unknown) => this.#resolved(one, at);
          if (areDisjoint(value[i], value[j], resolve)) continue;
          throw new UsageError(`${at}[${j}] and ${at}[${i}] may accept the same value`, {
            advice: "Use anyOf, or a property with a different const in each of them.",
          });
        }
      }
    }
    return g.alt(...value.map((one, i) => this.node(one, `${at}[${i}]`)));
  }

  #literals(values: readonly unknown[], schema: Schema, path: string, at: string): Node {
    const types = "type" in schema ? this.#types(schema, path) : null;
    const fitting = values.filter((value) =>
      types === null || types.some((type) => isOfType(value, type))
    );
    if (fitting.length === 0) throw wrong(at, values, `values of type ${types!.join(" or ")}`);
    return this.g.alt(...fitting.map((value) => this.#text.literal(value)));
  }

  #reference(value: unknown, at: string): Node {
    if (typeof value !== "string") throw wrong(at, value, "a text");
    const target = this.#target(value, at);
    return this.g.rule(`$ref ${value}`, () => {
      // It is made later, not below what refers to it.
      const depth = this.#depth;
      this.#depth = 0;
      const node = this.node(target, value);
      this.#depth = depth;
      return node;
    });
  }

  /** The schema that a reference names. */
  #target(reference: string, at: string): unknown {
    if (!reference.startsWith("#")) {
      throw new UsageError(`${at} is ${JSON.stringify(reference)}: only # and #/… are supported`);
    }
    let found: unknown = this.root;
    for (const part of reference.slice(1).split("/").slice(1)) {
      const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
      const isThere = typeof found === "object" && found !== null && Object.hasOwn(found, key);
      if (!isThere) {
        throw new UsageError(`${at} is ${JSON.stringify(reference)}, which is not there`);
      }
      found = (found as Schema)[key];
    }
    return found;
  }

  /** The schema itself, or the one that it refers to. */
  #resolved(schema: unknown, at: string): unknown {
    for (let i = 0; i < MAX_DEPTH && isRecord(schema); i++) {
      const { $ref } = schema;
      if (typeof $ref !== "string") break;
      schema = this.#target($ref, at);
    }
    return schema;
  }

  /** Null = any. */
  #types(schema: Schema, path: string): string[] | null {
    const { type } = schema;
    if (type === undefined) {
      const implied = Object.keys(KEYWORDS).filter((type) =>
        type !== "integer" && KEYWORDS[type]!.some((keyword) => keyword in schema)
      );
      return implied.length === 0 ? null : implied;
    }
    const types = Array.isArray(type) ? type : [type], known = Object.keys(KEYWORDS);
    if (types.length === 0 || !types.every((one) => known.includes(one))) {
      throw wrong(`${path}.type`, type, `one of ${known.join(", ")}, or a list of these`);
    }
    return types;
  }

  #typed(type: string, schema: Schema, path: string): Node {
    const { g } = this;
    switch (type) {
      case "object":
        return this.#object(schema, path);
      case "array":
        return this.#array(schema, path);
      case "string":
        return this.#string(schema, path);
      case "number":
      case "integer":
        return this.#number(schema, path, type);
      case "boolean":
        return g.alt(g.text("true"), g.text("false"));
      default:
        return g.text("null");
    }
  }

  #object(schema: Schema, path: string): Node {
    const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
    const text = this.#text, at = `${path}.properties`;
    if (!isRecord(properties)) throw wrong(at, properties, "an object");
    if (!Array.isArray(required) || !required.every((name) => typeof name === "string")) {
      throw wrong(`${path}.required`, required, "a list of names");
    }
    const names = Object.keys(properties), isRequired = new Set<string>(required);
    for (const name of isRequired) {
      if (Object.hasOwn(properties, name)) continue;
      throw new UsageError(`${path}.required names ${name}, which properties lacks`);
    }
    const entries = names.map((name) =>
      text.entry(text.literal(name), this.node(properties[name], `${at}.${name}`))
    );
    // Without any properties, those of any name are meant.
    const others = additionalProperties ?? (names.length === 0 && !("properties" in schema));
    let more: Node | null = null;
    if (others !== false) {
      const key = propertyNames === undefined
        ? this.#keyOtherThan(names)
        : this.#keyOf(propertyNames, names, `${path}.propertyNames`);
      more = text.entry(key, this.node(others, `${path}.additionalProperties`));
    }
    return text.object(entries, names.map((name) => isRequired.has(name)), more);
  }

  /** A key with the form of a schema. */
  #keyOf(schema: unknown, names: readonly string[], path: string): Node {
    const found = this.#resolved(schema, path);
    if (names.length > 0 || !isRecord(found)) {
      throw new UsageError(`${path} beside properties is not supported`);
    }
    const isChoice = "enum" in found || "const" in found;
    if (!isChoice && (found["type"] ?? "string") !== "string") {
      throw new UsageError(`${path}: names are strings`);
    }
    return isChoice ? this.node(found, path) : this.node({ ...found, type: "string" }, path);
  }

  /** A key that is none of these names, as the same name twice would replace its value. */
  #keyOtherThan(names: readonly string[]): Node {
    const { g } = this, text = this.#text;
    if (names.length === 0) return text.anyString;
    const any = g.repeat(text.character(ANY));
    /** Texts that are none of the rests of names. */
    const none = (rests: readonly (readonly string[])[]): Node => {
      const firsts = Map.groupBy(rests.filter(({ length }) => length > 0), ([first]) => first!);
      const points = [...firsts.keys()].map((one) => one.codePointAt(0)!).sort((a, b) => a - b);
      let from = 0;
      const others: Range[] = [];
      for (const point of [...points, 0x110000]) {
        if (from < point) others.push([from, point - 1]);
        from = point + 1;
      }
      return g.alt(
        ...rests.some(({ length }) => length === 0) ? [] : [g.empty],
        g.seq(text.character(others), any),
        ...[...firsts].map(([first, rests]) => {
          const point = first.codePointAt(0)!;
          return g.seq(text.character([[point, point]]), none(rests.map((rest) => rest.slice(1))));
        }),
      );
    };
    return text.quoted(none(names.map((name) => Array.from(name))));
  }

  #array(schema: Schema, path: string): Node {
    const { items = true, prefixItems = [] } = schema;
    if (!Array.isArray(prefixItems)) throw wrong(`${path}.prefixItems`, prefixItems, "a list");
    if (Array.isArray(items)) {
      throw new UsageError(`${path}.items is a list: write prefixItems, as JSON Schema 2020-12`);
    }
    const min = count(schema, "minItems", path, 0), max = count(schema, "maxItems", path, Infinity);
    const begin = prefixItems.map((item, i) => this.node(item, `${path}.prefixItems[${i}]`));
    const more = items === false ? null : this.node(items, `${path}.items`);
    if (min > max || (more === null && min > begin.length)) {
      throw new UsageError(
        `${path}: no list has at least ${min} items and at most ` +
          `${Math.min(max, more === null ? begin.length : Infinity)}`,
      );
    }
    return this.#text.array(begin, more, min, max);
  }

  #string(schema: Schema, path: string): Node {
    const { g } = this, text = this.#text, { pattern, format } = schema;
    const min = count(schema, "minLength", path, 0);
    const max = count(schema, "maxLength", path, Infinity);
    if (min > max) throw new UsageError(`${path}: minLength ${min} is more than maxLength ${max}`);
    const isBounded = min > 0 || max < Infinity;
    if (pattern === undefined && format === undefined) {
      return isBounded ? text.quoted(g.repeat(text.anyCharacter, min, max)) : text.anyString;
    }
    const character = (ranges: readonly Range[]) => text.character(ranges);
    const conditions: Condition[] = isBounded
      ? [{ node: g.repeat(character(ANY), min, max), isNegative: false }]
      : [];
    let main: Node;
    if (pattern !== undefined) {
      // A pattern beside a format is a closer description of it, as zod writes them.
      if (typeof pattern !== "string") throw wrong(`${path}.pattern`, pattern, "a text");
      main = inPlace(
        `${path}.pattern`,
        () => patternNode(g, pattern, { character, isWhole: false }),
      );
    } else {
      const known = Object.keys(STRING_FORMATS);
      if (typeof format !== "string" || !known.includes(format)) {
        throw wrong(`${path}.format`, format, `one of ${known.join(", ")}`);
      }
      main = patternNode(g, STRING_FORMATS[format]!, { character, isWhole: true });
    }
    const content = conditions.length === 0
      ? main
      : inPlace(path, () => intersection(g, main, conditions));
    return text.quoted(content);
  }

  #number(schema: Schema, path: string, type: "number" | "integer"): Node {
    const limits: Limits = {};
    for (const name of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const) {
      const value = schema[name];
      if (value === undefined) continue;
      if (typeof value !== "number") throw wrong(`${path}.${name}`, value, "a number");
      const far = Math.sign(value) * MAX_LIMIT, isLower = name.endsWith("inimum");
      if (Math.abs(value) <= MAX_LIMIT) limits[name] = value;
      else if (isLower === value < 0) limits[name] = far;
      else throw wrong(`${path}.${name}`, value, `${isLower ? "at most" : "at least"} ${far}`);
    }
    const multiple = schema["multipleOf"];
    const isWhole = type === "integer" || (typeof multiple === "number" && multiple === 1);
    if (multiple !== undefined && multiple !== 1) {
      throw new UsageError(`${path}.multipleOf is not supported, except 1`);
    }
    return isWhole ? integerNode(this.g, limits) : numberNode(this.g, limits);
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function inPlace<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw reworded(error, `${path}: ${error.message}`);
  }
}

function count(schema: Schema, name: string, path: string, absent: number): number {
  const value = schema[name];
  if (value === undefined) return absent;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw wrong(`${path}.${name}`, value, "an integer of at least 0");
}

function isOfType(value: unknown, type: string): boolean {
  return type === "integer" ? Number.isInteger(value) : typeOfValue(value) === type;
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= MAX_OPTIONS;
}

function wrong(path: string, value: unknown, expected: string): UsageError {
  const shown = JSON.stringify(value) ?? "absent";
  return new UsageError(
    `${path} is ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}, expected ${expected}`,
  );
}

const DAY = "(0[1-9]|1\\d|2[0-8])";
const LEAP_YEAR = "(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
const DATE = `(\\d{4}-((0[1-9]|1[0-2])-${DAY}|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)|` +
  `${LEAP_YEAR}-02-29)`;
const TIME = "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
const COUNT = "\\d{1,4}";
const DURATION_TIME = `T(${COUNT}H(${COUNT}M(${COUNT}S)?)?|${COUNT}M(${COUNT}S)?|${COUNT}S)`;
const DURATION_DATE = `(${COUNT}Y(${COUNT}M(${COUNT}D)?)?|${COUNT}M(${COUNT}D)?|${COUNT}D)`;
const DURATION = `P(${COUNT}W|${DURATION_DATE}(${DURATION_TIME})?|${DURATION_TIME})`;
const BYTE = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)", IPV4 = `${BYTE}(\\.${BYTE}){3}`;
const H16 = "[0-9a-fA-F]{1,4}";
const IPV6 = [
  `(${H16}:){7}${H16}`,
  ...Array.from({ length: 7 }, (_, before) => {
    const left = before === 0 ? "" : `${H16}(:${H16}){${before - 1}}`, after = 6 - before;
    const right = after === 0 ? "" : `(${H16}(:${H16}){0,${after - 1}})?`;
    return `${left}::${right}`;
  }),
].join("|");
const LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const HOST = `${LABEL}(\\.${LABEL}){0,2}`;
const ATOM = "[A-Za-z0-9_+-]{1,20}";
const EMAIL = `${ATOM}(\\.${ATOM}){0,2}@(${LABEL}\\.){1,2}[A-Za-z]{2,24}`;
const UUID = "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}";
const URI = `https?://${HOST}(:\\d{1,4})?(/[A-Za-z0-9._~-]*)*(\\?[A-Za-z0-9._~&=-]*)?`;

const STRING_FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  "date-time": `${DATE}T${TIME}`,
  duration: DURATION,
  email: EMAIL,
  hostname: HOST,
  ipv4: IPV4,
  ipv6: `(${IPV6})`,
  uri: URI,
  uuid: UUID,
};

// Whether two schemas have no value in common, as far as their types and constants tell.

const ALL_TYPES = ["object", "array", "string", "number", "boolean", "null"];

/**
 * @param resolve gives the schema that a schema refers to
 * @returns false also when it is not known
 */
function areDisjoint(
  a: unknown,
  b: unknown,
  resolve: (schema: unknown) => unknown,
  depth = 0,
): boolean {
  const [one, other] = [resolve(a), resolve(b)];
  if (!isRecord(one) || !isRecord(other) || depth > 8) return false;
  const values = valuesOf(one), others = valuesOf(other);
  if (values !== null && others !== null) return values.isDisjointFrom(others);
  const types = typesOf(one), otherTypes = typesOf(other);
  const common = types.filter((type) => otherTypes.includes(type));
  if (common.length === 0) return true;
  if (common.some((type) => type !== "object")) return false;
  // Two objects differ when a property that both must have differs.
  const properties = one["properties"], otherProperties = other["properties"];
  if (!isRecord(properties) || !isRecord(otherProperties)) return false;
  return requiredOf(one).some((name) =>
    requiredOf(other).includes(name) &&
    areDisjoint(properties[name], otherProperties[name], resolve, depth + 1)
  );
}

/** A schema of many is compared with all others. */
const knownValues = new WeakMap<Schema, Set<string>>();

/** The values of a constant or a choice, as JSON. */
function valuesOf(schema: Schema): Set<string> | null {
  const choice = "const" in schema ? [schema["const"]] : schema["enum"];
  if (!Array.isArray(choice)) return null;
  let values = knownValues.get(schema);
  if (values === undefined) {
    values = new Set(choice.map((value) => JSON.stringify(value)));
    knownValues.set(schema, values);
  }
  return values;
}

function typesOf(schema: Schema): readonly string[] {
  const { type } = schema, values = valuesOf(schema);
  if (values !== null) return [...values].map((value) => typeOfValue(JSON.parse(value)));
  if (type === undefined || schema["nullable"] === true) return ALL_TYPES;
  return (Array.isArray(type) ? type : [type]).map((one) => one === "integer" ? "number" : one);
}

function typeOfValue(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function requiredOf({ required }: Schema): string[] {
  return Array.isArray(required) ? required : [];
}
