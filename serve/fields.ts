/**
 * Reads the fields of a request's body, with their types and ranges. `null` counts as absent, as in
 * the OpenAI API. Fields that nobody reads are ignored.
 */
import { isRecord } from "../core/json_file.ts";
import { badRequest } from "./api_error.ts";

type Values = Readonly<Record<string, unknown>>;

export class Fields {
  /** @param path put before the names in messages */
  constructor(private readonly values: Values, private readonly path = "") {}

  /** @throws ApiError unless the value is an object */
  static of(value: unknown, path = ""): Fields {
    if (!isRecord(value)) {
      const field = path.replace(/\.$/, ""), what = field === "" ? "the body" : field;
      throw badRequest(`${what} is ${kindOf(value)}, expected a JSON object`, field || undefined);
    }
    return new Fields(value, path);
  }

  /** The value as it is; undefined when it is absent or null. */
  raw(name: string): unknown {
    return Object.hasOwn(this.values, name) ? this.values[name] ?? undefined : undefined;
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  /** An error about a field. */
  wrong(name: string, expected: string): Error {
    const field = this.path + name, value = this.raw(name);
    return badRequest(`${field} is ${shown(value)}, expected ${expected}`, field);
  }

  /** Refuses a field that is not obeyed. `false`, an empty text or list ask for nothing. */
  refuse(name: string, why: string): void {
    const value = this.raw(name);
    const isEmpty = (typeof value === "string" || Array.isArray(value)) && value.length === 0;
    if (value !== undefined && value !== false && !isEmpty) {
      const field = this.path + name;
      throw badRequest(`${field} is not supported: ${why}`, field);
    }
  }

  integer(name: string, [min, max]: readonly [number, number], absent: number): number {
    const value = this.raw(name);
    if (value === undefined) return absent;
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
      throw this.wrong(name, `an integer ${min} … ${max}`);
    }
    return value as number;
  }

  /** @param above whether the value must be larger than `min` */
  number(
    name: string,
    [min, max]: readonly [number, number],
    absent: number,
    above = false,
  ): number {
    const value = this.raw(name);
    if (value === undefined) return absent;
    if (typeof value !== "number" || !(value >= min && value <= max) || (above && value === min)) {
      throw this.wrong(name, above ? `a number > ${min}, ≤ ${max}` : `a number ${min} … ${max}`);
    }
    return value;
  }

  boolean(name: string, absent: boolean): boolean {
    const value = this.raw(name);
    if (value === undefined) return absent;
    if (typeof value !== "boolean") throw this.wrong(name, "true or false");
    return value;
  }

  string(name: string): string | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.wrong(name, "a string");
    return value;
  }

  /** A text or a list of texts, as a list. */
  strings(name: string): string[] {
    const value = this.raw(name) ?? [], list = Array.isArray(value) ? value : [value];
    if (!list.every((item) => typeof item === "string")) {
      throw this.wrong(name, "a string or a list of strings");
    }
    return list;
  }

  /** A list of integers from 0 to below `limit`. */
  ids(name: string, limit: number): number[] {
    const value = this.raw(name) ?? [];
    if (!isIds(value, limit)) throw this.wrong(name, `a list of token ids 0 … ${limit - 1}`);
    return value;
  }

  object(name: string): Fields | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : Fields.of(value, `${this.path}${name}.`);
  }

  get entries(): [string, unknown][] {
    return Object.entries(this.values);
  }
}

/** Whether a value is a list of token ids of a vocabulary of `vocabSize`. */
export function isIds(value: unknown, vocabSize: number): value is number[] {
  return Array.isArray(value) &&
    value.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/** A value in a message: its beginning. */
function shown(value: unknown): string {
  const text = typeof value === "number" ? `${value}` : JSON.stringify(value) ?? "absent";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
