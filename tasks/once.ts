/** Values that are computed once for each argument, and objects that are made fast. */

/** The function with its results kept; arguments are told apart by their text. */
export function once<A extends readonly unknown[], R>(
  compute: (...args: A) => R,
): (...args: A) => R {
  const known = new Map<string, R>();
  return (...args) => {
    const key = args.join("|");
    if (!known.has(key)) known.set(key, compute(...args));
    return known.get(key)!;
  };
}

/** An object for keys in ever new orders, of which V8 would otherwise keep every one as a shape. */
export function dictionary<T>(): Record<string, T> {
  const made: Record<string, unknown> = { a: 0, b: 0 };
  delete made["a"];
  delete made["b"];
  return made as Record<string, T>;
}
