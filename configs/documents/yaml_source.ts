/**
 * Parses YAML 1.2 (and so JSON) into a tree with positions. By the core schema `1e-6` is a number
 * and `no` is text. Anchors, aliases and `<<` work. Duplicate keys, other tags, several documents,
 * and texts that are not UTF-8 are errors. Only syntax is handled here: nothing in this file knows
 * which keys exist.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from "yaml";
import {
  type ConfigNode,
  emptyMap,
  formatPosition,
  isNull,
  type MapEntry,
  type MapNode,
  nowhere,
  type Position,
  Problems,
  type Scalar,
  type ScalarNode,
  type Source,
} from "./node.ts";

const MAX_DEPTH = 64;
/** Without a limit, a small text with aliases could be expanded to billions of values. */
const MAX_NODES = 100_000;

/** The text of a file, or null. Reports the line of the first byte that is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array, source: Source, problems: Problems): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    let line = 1, start = 0;
    for (let end = 0; end <= bytes.length; end++) {
      if (end < bytes.length && bytes[end] !== 0x0a) continue;
      try {
        new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(start, end));
      } catch {
        break;
      }
      start = end + 1;
      line++;
    }
    problems.add({ source, line, column: 1 }, "", "not UTF-8: save the file in this encoding");
    return null;
  }
}

/** The top-level map of a text (empty for an empty text), or null after reporting what is wrong. */
export function parseYaml(text: string, source: Source, problems: Problems): MapNode | null {
  if (source.name.endsWith(".toml")) {
    const isPrimeRl = /^\s*\[+(orchestrator|trainer|inference|deployment)\b/m.test(text);
    const what = isPrimeRl
      ? "a file of prime-rl: TOML is not read; docs/coming_from.md#prime-rl has its keys as YAML"
      : "TOML is not read; write YAML: a table [model] becomes model: {key: value}";
    problems.add(nowhere(source), "", what);
    return null;
  }
  const root = parseTree(text, source, problems);
  if (root === null) return null;
  if (root.kind === "map") return root;
  const start = { source, line: 1, column: 1 };
  if (isNull(root)) return emptyMap(start);
  problems.add(root.at, "", "expected a map of keys (key: value) at the top of the file");
  return null;
}

/** A value as typed on a command line: a scalar, a quoted text, or a flow collection. */
export function parseValue(
  text: string,
  source: Source,
  problems: Problems,
  key: string,
): ConfigNode {
  const at = nowhere(source);
  // {{ and {% begin a template of Jinja, and {prompt} a text with names: none is a value of YAML.
  if (!/^\s*(["'[]|\{(?![{%]|\w+\}))/.test(text)) {
    const value = plainScalar(text.trim()), why = otherReading(value, text.trim());
    if (why !== null) problems.add(at, key, why);
    return { kind: "scalar", value, raw: text, at };
  }
  const inner = new Problems();
  const node = parseTree(text, source, inner);
  if (node !== null) return withoutLines(node, at);
  const why = inner.lines()[0]!.replace(/^.*?:\d+:\d+: /, "");
  problems.add(at, key, `can not read the value ${text}: ${why}`);
  return { kind: "scalar", value: null, at };
}

/** The value of an unquoted text by YAML's core schema. */
export function plainScalar(text: string): Scalar {
  if (/^(~|null|Null|NULL|)$/.test(text)) return null;
  if (/^(true|True|TRUE)$/.test(text)) return true;
  if (/^(false|False|FALSE)$/.test(text)) return false;
  if (/^[-+]?\d+$/.test(text)) return Number(text);
  if (/^0o[0-7]+$|^0x[\da-fA-F]+$/.test(text)) return Number(text);
  if (/^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/.test(text)) return Number(text);
  if (/^[-+]?\.(inf|Inf|INF)$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^\.(nan|NaN|NAN)$/.test(text)) return NaN;
  return text;
}

/**
 * Why a number with a leading zero is refused, or null. The loaders of TRL, transformers and verl
 * read YAML 1.1, in which such a number is octal.
 */
function otherReading(value: unknown, text: string): string | null {
  const match = typeof value === "number" ? /^([-+]?)0[\d_]*$/.exec(text) : null;
  if (match === null || /^[-+]?0+$/.test(text)) return null;
  const isOctal = /^[-+]?[0-7_]+$/.test(text);
  const other = isOctal ? Number.parseInt(text.replaceAll("_", ""), 8) : null;
  if (other === value) return null;
  return `${text} is ${value} in YAML 1.2, and ${other ?? "a text"} in YAML 1.1, which TRL and ` +
    `verl read: write ${value}${other === null ? "" : ` or ${other}`} without the leading zero`;
}

function withoutLines(node: ConfigNode, at: Position): ConfigNode {
  if (node.kind === "scalar") return { ...node, at };
  if (node.kind === "list") {
    return { kind: "list", items: node.items.map((item) => withoutLines(item, at)), at };
  }
  const entries = new Map<string, MapEntry>();
  for (const [name, entry] of node.entries) {
    entries.set(name, { keyAt: at, node: withoutLines(entry.node, at) });
  }
  return { ...node, entries, at };
}

function parseTree(text: string, source: Source, problems: Problems): ConfigNode | null {
  const lines = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { source, line: Math.max(1, line), column: Math.max(1, col) };
  };
  let documents: Document.Parsed[];
  try {
    const parsed = parseAllDocuments(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false,
      logLevel: "silent",
      version: "1.2",
    });
    documents = Array.isArray(parsed) ? parsed : [];
  } catch (error) {
    const why = faultText((error as Error).message);
    problems.add({ source, line: 1, column: 1 }, "", `can not be read as YAML: ${why}`);
    return null;
  }
  const before = problems.count;
  const faults = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])
    .sort((a, b) => a.pos[0] - b.pos[0]);
  // Most errors after the first are consequences of the first, and would only hide it.
  for (const fault of faults.slice(0, SHOWN_FAULTS)) {
    problems.add(at(fault.pos[0]), "", faultText(fault.message));
  }
  if (faults.length === 0 && documents.length > 1) {
    problems.add(at(documents[1]!.range[0]), "", "expected one YAML document, found several");
  }
  if (problems.count > before) return null;
  const contents = documents[0]?.contents ?? null;
  if (contents === null) {
    return { kind: "scalar", value: null, at: { source, line: 1, column: 1 } };
  }
  const node = new Converter(documents[0]!, at, problems).convert(contents, 0);
  return problems.count > before ? null : node;
}

const SHOWN_FAULTS = 3;

/** The parser is recursive: a text of ten thousand brackets overflows its stack. */
function faultText(message: string): string {
  return /call stack/.test(message) ? "nested too deeply" : message.split("\n")[0]!;
}

class Converter {
  #nodes = 0;
  readonly #open = new Set<Node>();

  constructor(
    readonly document: Document.Parsed,
    readonly position: (offset: number) => Position,
    readonly problems: Problems,
  ) {}

  #at(node: Node): Position {
    return this.position(node.range?.[0] ?? 0);
  }

  convert(node: Node, depth: number): ConfigNode {
    const at = this.#at(node);
    const nothing: ScalarNode = { kind: "scalar", value: null, at };
    if (this.#nodes > MAX_NODES) return nothing;
    if (++this.#nodes > MAX_NODES) {
      this.problems.add(at, "", `more than ${MAX_NODES} values once aliases are expanded`);
      return nothing;
    }
    if (depth > MAX_DEPTH) {
      this.problems.add(at, "", `nested more than ${MAX_DEPTH} levels deep`);
      return nothing;
    }
    if (isAlias(node)) {
      const target = node.resolve(this.document);
      if (target === undefined || this.#open.has(target)) {
        this.problems.add(at, "", `alias *${node.source} has no value, or contains itself`);
        return nothing;
      }
      return this.convert(target, depth + 1);
    }
    if (isScalar(node)) {
      const why = otherReading(node.value, node.source ?? "");
      if (why !== null) this.problems.add(at, "", why);
      return this.#scalar(node.value, at);
    }
    this.#open.add(node);
    let result: ConfigNode = nothing;
    if (isSeq(node)) {
      const items = node.items.map((item) =>
        item === null ? nothing : this.convert(item as Node, depth + 1)
      );
      result = { kind: "list", items, at };
    } else if (isMap(node)) {
      result = this.#map(node.items as unknown as Pair[], at, depth);
    }
    this.#open.delete(node);
    return result;
  }

  #scalar(value: unknown, at: Position): ScalarNode {
    if (
      value === null || typeof value === "boolean" || typeof value === "number" ||
      typeof value === "string"
    ) {
      return { kind: "scalar", value, at };
    }
    this.problems.add(at, "", "expected null, true, false, a number or text");
    return { kind: "scalar", value: null, at };
  }

  #map(pairs: readonly Pair[], at: Position, depth: number): MapNode {
    const entries = new Map<string, MapEntry>();
    const inherited: MapNode[] = [];
    for (const pair of pairs) {
      const keyAt = pair.key ? this.#at(pair.key) : at;
      const key = isScalar(pair.key) ? pair.key.value : undefined;
      if (typeof key !== "string" && typeof key !== "number" && typeof key !== "boolean") {
        this.problems.add(keyAt, "", "expected a name as the key");
        continue;
      }
      const name = String(key);
      if (pair.value === null && /^[\w.]+:(?!\/\/)\S/.test(name)) {
        const text = `a space is missing after the colon: ${name.replace(":", ": ")}`;
        this.problems.add(keyAt, "", text);
        continue;
      }
      const node = pair.value
        ? this.convert(pair.value, depth + 1)
        : { kind: "scalar" as const, value: null, at: keyAt };
      if (name === "<<") {
        const maps = node.kind === "list" ? node.items : [node];
        for (const map of maps) {
          if (map.kind === "map") inherited.push(map);
          else this.problems.add(map.at, "<<", "expected a map or a list of maps");
        }
        continue;
      }
      const first = entries.get(name);
      if (first !== undefined) {
        this.problems.add(keyAt, name, `duplicate key, first at ${formatPosition(first.keyAt)}`);
      } else entries.set(name, { keyAt, node });
    }
    for (const map of inherited) {
      for (const [name, entry] of map.entries) if (!entries.has(name)) entries.set(name, entry);
    }
    return { kind: "map", entries, at };
  }
}

interface Pair {
  key: Node | null;
  value: Node | null;
}
