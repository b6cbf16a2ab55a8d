/** Short names of models for tables, made from the paths that the user gave. */

/** The last part of a path; for a checkpoint, with the name of its run. */
export function shortName(name: string): string {
  const parts = name.replace(/\/+$/, "").split("/");
  return /^(checkpoint-\d+|latest|best)$/.test(parts.at(-1)!)
    ? parts.slice(-2).join("/")
    : parts.at(-1)!;
}

/** The short names; all names unchanged if two short ones are equal. */
export function shownNames(names: readonly string[]): string[] {
  const short = names.map(shortName);
  return new Set(short).size === short.length ? short : [...names];
}
