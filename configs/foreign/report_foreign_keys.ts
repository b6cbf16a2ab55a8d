/** Reports a key of another project that rgx does not obey: by a note, or by a refusal. */
import { type ConfigNode, isNull, type Json, type Position, toJson } from "../documents/node.ts";
import type { Problems } from "../documents/node.ts";
import type { RefusedKey } from "./foreign_table.ts";

/** Notes a key that steers another engine. */
export function reportWithoutEffect(
  written: string,
  why: string,
  keyAt: Position,
  node: ConfigNode,
  problems: Problems,
): void {
  if (isNull(node)) return;
  const reason = why === "" ? "" : `; ${why}`;
  problems.note(keyAt, written, `accepted, has no effect in rgx${reason}`);
}

/**
 * Reports a key that would change results: nothing at a neutral value, else a note or a refusal.
 */
export function reportRefusedKey(
  written: string,
  key: RefusedKey,
  keyAt: Position,
  node: ConfigNode,
  problems: Problems,
): void {
  const value = toJson(node);
  if (isNeutral(key, value)) return;
  const advice = key.advice === "" ? "" : `; ${key.advice}`;
  if (key.noted?.(value)) {
    return problems.note(keyAt, written, `accepted, has no effect in rgx${advice}`);
  }
  const neutral = key.neutral.filter((item) => typeof item !== "object");
  const only = neutral.length === 0 ? "" : ` (only ${neutral.map(showValue).join(", ")})`;
  problems.add(keyAt, written, `not supported yet by this version${only}${advice}`);
}

/** The keys of verl that are ignored in one document. They share one note. */
export class IgnoredVerlKeys {
  readonly #keys: string[] = [];
  #firstAt: Position | null = null;

  add(written: string, keyAt: Position): void {
    this.#keys.push(written);
    this.#firstAt ??= keyAt;
  }

  note(problems: Problems): void {
    if (this.#firstAt === null) return;
    const [first, ...more] = this.#keys;
    const others = more.length === 0 ? "" : `; likewise ${more.join(", ")}`;
    problems.note(this.#firstAt, first!, `a key of verl, has no effect in rgx${others}`);
  }
}

function isNeutral(key: RefusedKey, value: Json): boolean {
  if (value === null) return true;
  // A section with `enabled: false` asks for nothing, whatever else it contains.
  if (typeof value === "object" && !Array.isArray(value) && value.enabled === false) return true;
  const text = JSON.stringify(value);
  return key.neutral.some((neutral) => JSON.stringify(neutral) === text);
}

function showValue(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
