/** Values that are computed once for each argument. */

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
