/** The filter `tojson` of transformers: Python's `json.dumps` with `ensure_ascii=False`. */
import { PyDict, PyFloat, PyTuple } from "../../../../tasks/python/literals.ts";
import { reprFloat } from "../../../../tasks/python/repr.ts";
import { takes } from "../call.ts";
import { filled, joinedBy } from "../text/functions.ts";
import { compare, integer, isTrue, str, text, typeName, unmarked, type Value } from "../values.ts";

interface Style {
  ascii: boolean;
  sorted: boolean;
  /** Blanks for one level; null = all in one line. */
  indent: string | null;
  between: string;
  afterKey: string;
}

export const toJson = takes("[ensure_ascii] [indent] [separators] [sort_keys]", json);

/** @throws Error for a value that JSON does not have */
function json(
  value: Value,
  ascii: Value = false,
  indent: Value = null,
  separators: Value = null,
  sorted: Value = false,
): Value {
  const pair = separators === null ? null : Array.isArray(separators) ? separators : undefined;
  const [between, afterKey] = separators instanceof PyTuple
    ? separators.items
    : pair ?? [indent === null ? ", " : ",", ": "];
  return written(value, {
    ascii: isTrue(ascii),
    sorted: isTrue(sorted),
    indent: indent === null
      ? null
      : typeof indent === "string"
      ? indent
      : filled(" ", integer(indent, "tojson's indent")),
    between: text(between!, "tojson's separator"),
    afterKey: text(afterKey!, "tojson's separator"),
  }, "\n");
}

/** @param line the line end before the value's own level */
function written(given: Value, style: Style, line: string): string {
  const value = unmarked(given);
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return String(value);
  if (value instanceof PyFloat) return float(value.value);
  if (typeof value === "string") return quoted(value, style);
  const inner = line + (style.indent ?? "");
  const block = (open: string, parts: readonly string[], close: string) => {
    if (parts.length === 0) return open + close;
    if (style.indent === null) return open + parts.join(style.between) + close;
    return open + inner + joinedBy(style.between + inner, parts) + line + close;
  };
  if (Array.isArray(value) || value instanceof PyTuple) {
    const items: readonly Value[] = Array.isArray(value) ? value : value.items;
    return block("[", items.map((item) => written(item, style, inner)), "]");
  }
  if (value instanceof PyDict) {
    const entries = style.sorted
      ? value.entries.toSorted(([a], [b]) => compare(a, b))
      : value.entries;
    const parts = entries.map(([key, item]) =>
      quoted(keyText(key), style) + style.afterKey + written(item, style, inner)
    );
    return block("{", parts, "}");
  }
  throw new Error(`tojson of ${typeName(value)} is not possible`);
}

function keyText(key: Value): string {
  if (key === null) return "null";
  if (typeof key === "boolean") return String(key);
  if (key instanceof PyFloat) return float(key.value);
  if (typeof key === "string" || typeof key === "bigint") return str(key);
  throw new Error(`tojson of a key of type ${typeName(key)} is not possible`);
}

function float(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number < 0 ? "-Infinity" : "Infinity";
  return reprFloat(number);
}

function quoted(value: string, { ascii }: Style): string {
  const plain = JSON.stringify(value);
  if (!ascii) return plain;
  const escape = (unit: string) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  return plain.replace(/[\x7f-\uffff]/g, escape);
}
