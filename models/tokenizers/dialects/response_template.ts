/**
 * The `response_template` of transformers 5: says where the parts of a model's answer begin and end
 * (its fields), and what each of them holds. Newer models have one in `tokenizer_config.json`. Here
 * it is checked and compiled; response_parser.ts reads answers with it.
 */
import { UsageError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { isHarmless } from "../../linear_pattern.ts";
import { CONTENT_KINDS, type ContentKind } from "./content.ts";

export interface Edge {
  /** Finds it from `lastIndex` on. */
  pattern: RegExp;
  /** Whether a match at the end of the text stays what it is, whatever follows. */
  isFinal: boolean;
  /** Each match begins with one of these texts; null = with anything. */
  leads: readonly string[] | null;
}

export interface Field {
  name: string;
  /** Null for the sink: it takes what stands in no other field. */
  open: Edge | null;
  /** Null = it goes to the end of the answer. */
  close: Edge | null;
  content: ContentKind;
  args: Readonly<Record<string, unknown>>;
  /** The form of the value, with {placeholders}; undefined = the content itself. */
  transform: unknown;
  /** Whether the content is a list of which each item gets the form. */
  transformsEach: boolean;
}

export interface ResponseTemplate {
  /** What stands before an answer in the prompt. */
  anchor: RegExp;
  fields: readonly Field[];
  sink: Field | null;
}

const TEMPLATE_KEYS = ["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"];
const FIELD_KEYS = [
  "open",
  "open_pattern",
  "close",
  "close_pattern",
  "content",
  "content_args",
  "repeats",
  "join",
  "optional",
  "transform",
  "transform_each",
];

/**
 * @param trusted whether its patterns are our own; those of others must not take years
 * @throws UsageError naming the first key that is wrong
 */
export function compileResponseTemplate(
  spec: unknown,
  where: string,
  trusted = false,
): ResponseTemplate {
  if (!isRecord(spec)) throw new UsageError(`${where}: expected an object`);
  checkKeys(spec, TEMPLATE_KEYS, where);
  const { version = 1, defaults = {}, fields: given } = spec;
  if (version !== 1) throw new UsageError(`${where}.version is ${version}, expected 1`);
  if (!isRecord(defaults)) throw new UsageError(`${where}.defaults: expected an object`);
  if (!isRecord(given) || Object.keys(given).length === 0) {
    throw new UsageError(`${where}.fields: expected an object with one field or more`);
  }
  const fields = Object.entries(given).map(([name, field]) =>
    compileField(name, field, `${where}.fields.${name}`, trusted)
  );
  const sinks = fields.filter(({ open }) => open === null);
  if (sinks.length > 1) {
    const names = sinks.map(({ name }) => name).join(", ");
    throw new UsageError(`${where}.fields: several have no beginning: ${names}`);
  }
  const anchor = edgeOf(spec, "start_anchor", where, trusted);
  if (anchor === null) throw new UsageError(`${where}: start_anchor is missing`);
  return { anchor: anchor.pattern, fields, sink: sinks[0] ?? null };
}

function checkKeys(spec: Record<string, unknown>, known: readonly string[], where: string): void {
  const unknown = Object.keys(spec).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new UsageError(`${where}.${unknown} is not known`);
}

function compileField(name: string, spec: unknown, where: string, trusted: boolean): Field {
  if (!isRecord(spec)) throw new UsageError(`${where}: expected an object`);
  checkKeys(spec, FIELD_KEYS, where);
  const content = spec["content"] ?? "text", args = spec["content_args"] ?? {};
  const kind = CONTENT_KINDS.find((known) => known === content);
  if (kind === undefined) {
    throw new UsageError(`${where}.content is ${content}, expected ${CONTENT_KINDS.join(", ")}`);
  }
  if (!isRecord(args)) throw new UsageError(`${where}.content_args: expected an object`);
  const tag = args["tag_pattern"];
  if (kind === "xml-inline" && typeof tag !== "string") {
    throw new UsageError(`${where}.content_args.tag_pattern: expected a pattern`);
  }
  const join = spec["join"] ?? null;
  if (join !== null && !(typeof join === "string" && spec["repeats"] === true)) {
    throw new UsageError(`${where}.join: expected a text, together with repeats: true`);
  }
  const transformsEach = spec["transform_each"] === true, transform = spec["transform"];
  if (transformsEach && transform === undefined) {
    throw new UsageError(`${where}.transform_each needs a transform`);
  }
  checkTransform(transform, `${where}.transform`);
  return {
    name,
    open: edgeOf(spec, "open", where, trusted),
    close: edgeOf(spec, "close", where, trusted),
    content: kind,
    args: typeof tag === "string"
      ? { ...args, tag: patternOf(tag, `${where}.content_args.tag_pattern`, trusted) }
      : args,
    transform,
    transformsEach,
  };
}

/** A placeholder stands alone in its text, so that its value can be of any type. */
function checkTransform(transform: unknown, where: string): void {
  if (typeof transform === "string") {
    if (!/\{\w+(\.\w+)*\}/.test(transform) || /^\{\w+(\.\w+)*\}$/.test(transform)) return;
    throw new UsageError(`${where}: ${transform} has more than one {placeholder}`);
  }
  if (typeof transform !== "object" || transform === null) return;
  for (const inner of Object.values(transform)) checkTransform(inner, where);
}

/** @param name of a key with a text or a list of texts; with `_pattern` it has an expression */
function edgeOf(
  spec: Record<string, unknown>,
  name: string,
  where: string,
  trusted: boolean,
): Edge | null {
  const literal = spec[name], pattern = spec[`${name}_pattern`];
  if (literal === undefined && pattern === undefined) return null;
  const at = `${where}.${name}`;
  if (literal !== undefined && pattern !== undefined) {
    throw new UsageError(`${at} and ${name}_pattern exclude each other`);
  }
  if (pattern !== undefined) {
    if (typeof pattern !== "string") throw new UsageError(`${at}_pattern: expected a text`);
    const compiled = patternOf(pattern, `${at}_pattern`, trusted);
    return { pattern: compiled, isFinal: false, leads: leadsOf(compiled.source) };
  }
  const texts = [...new Set(Array.isArray(literal) ? literal : [literal])] as string[];
  if (texts.length === 0 || texts.some((text) => typeof text !== "string" || text === "")) {
    throw new UsageError(`${at}: expected a text, or a list of texts, that are not empty`);
  }
  const extends_ = texts.some((a) => texts.some((b) => a !== b && a.startsWith(b)));
  const source = texts.toSorted((a, b) => b.length - a.length).map(RegExp.escape).join("|");
  return { pattern: new RegExp(source, "gs"), isFinal: !extends_, leads: texts };
}

function patternOf(python: string, where: string, trusted: boolean): RegExp {
  const source = python.replaceAll("(?P<", "(?<").replaceAll("\\Z", "$");
  let compiled: RegExp;
  try {
    compiled = new RegExp(source, "gs");
  } catch (cause) {
    throw new UsageError(`${where}: the pattern is not understood`, { cause });
  }
  if (!trusted && !isHarmless(source)) {
    throw new UsageError(`${where}: the pattern could take years with some texts`);
  }
  return compiled;
}

/**
 * Texts with which all matches of an expression begin, one for each alternative. While an answer
 * comes, what stands before them can be shown. Null when an alternative may begin with anything.
 */
function leadsOf(source: string): string[] | null {
  const leads: string[] = [];
  for (const one of alternatives(source)) {
    // The end of the answer.
    if (one === "$") continue;
    const group = /^\(\?[:=]/.test(one) ? one.slice(0, endOfGroup(one)) : null;
    if (group !== null && !/^[*?{]/.test(one.slice(group.length))) {
      const inner = leadsOf(group.slice(3, -1));
      if (inner === null) return null;
      leads.push(...inner);
      continue;
    }
    const [literal = ""] = /^(?:[^\\^$.*+?()[\]{}|]|\\[^a-zA-Z0-9]|\\n)*/.exec(one) ?? [];
    const isRepeated = /^[*?{]/.test(one.slice(literal.length));
    const text = literal.replaceAll(/\\(.)/g, (_, one) => one === "n" ? "\n" : one);
    const lead = isRepeated ? text.slice(0, -1) : text;
    if (lead === "") return null;
    leads.push(lead);
  }
  return leads;
}

/** Cuts an expression at the bars that stand in no group and no class. */
function alternatives(source: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < source.length;) {
    const rest = source.slice(at);
    if (rest.startsWith("|")) {
      parts.push(source.slice(from, at));
      from = at + 1;
    }
    at += rest.startsWith("(") ? endOfGroup(rest) : unitOf(rest).length;
  }
  return [...parts, source.slice(from)];
}

/** Where the group ends with which an expression begins. */
function endOfGroup(source: string): number {
  let open = 0, at = 0;
  do {
    const unit = unitOf(source.slice(at));
    if (unit === "(") open++;
    if (unit === ")") open--;
    at += unit.length;
  } while (open > 0 && at < source.length);
  return at;
}

/** A character, an escape or a class. */
function unitOf(source: string): string {
  return /^(?:\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^])/.exec(source)?.[0] ?? source;
}
