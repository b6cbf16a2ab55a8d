/**
 * Python values that JavaScript lacks, and Python's `==` for all values. `literals.ts` reads them
 * and `repr.ts` writes them.
 */

/** A Python value. An int is a number (a bigint beyond 2^53), a list an array, None null. */
export type Literal =
  | null
  | boolean
  | number
  | bigint
  | string
  | Literal[]
  | PyFloat
  | PyTuple
  | PyDict;

export class PyFloat {
  constructor(readonly value: number) {}
}

export class PyTuple {
  constructor(readonly items: readonly Literal[]) {}
}

/**
 * A dict. Keys compare as in Python (1, 1.0 and True are the same key); the last value of a key
 * wins.
 */
export class PyDict {
  readonly #entries = new Map<string, [key: Literal, value: Literal]>();
  constructor(entries: Iterable<readonly [Literal, Literal]>) {
    for (const [key, value] of entries) {
      const hash = hashKey(key);
      const known = this.#entries.get(hash);
      this.#entries.set(hash, [known ? known[0] : key, value]);
    }
  }
  get entries(): [key: Literal, value: Literal][] {
    return [...this.#entries.values()];
  }
  get size(): number {
    return this.#entries.size;
  }
  get(key: Literal): Literal | undefined {
    return this.#entries.get(hashKey(key))?.[1];
  }
}

/** Python's `==`. Values may also come from JSON, where a number stands for its value. */
export function literalsEqual(a: Literal, b: Literal): boolean {
  const x = numberOf(a), y = numberOf(b);
  // deno-lint-ignore eqeqeq -- compares a number with a bigint by value
  if (x !== undefined || y !== undefined) return x !== undefined && y !== undefined && x == y;
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b);
  if (a instanceof PyTuple) return b instanceof PyTuple && sameItems(a.items, b.items);
  if (a instanceof PyDict) {
    return b instanceof PyDict && a.size === b.size && a.entries.every(([key, value]) => {
      const other = b.get(key);
      return other !== undefined && literalsEqual(value, other);
    });
  }
  return a === b;
}

function sameItems(a: readonly Literal[], b: readonly Literal[]): boolean {
  return a.length === b.length && a.every((item, i) => literalsEqual(item, b[i]!));
}

function numberOf(value: Literal): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  if (typeof value === "boolean") return Number(value);
  return value instanceof PyFloat ? value.value : undefined;
}

/**
 * Returns equal texts for equal values.
 * @throws TypeError for values that cannot be keys
 */
function hashKey(value: Literal): string {
  const number = numberOf(value);
  if (number !== undefined) {
    return Number.isInteger(number) && !Number.isSafeInteger(number)
      ? `${BigInt(number)}`
      : `${number}`;
  }
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null) return "null";
  if (value instanceof PyTuple) return `(${value.items.map(hashKey).join()})`;
  throw new TypeError("lists and dicts are no keys");
}
