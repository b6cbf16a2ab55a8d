/**
 * Patterns that select files by name, of two kinds.
 *   any-path   those of huggingface_hub (Python's fnmatch): `*` and `?` also match slashes
 *   folders    those of the `datasets` package: `*` and `?` match no slash, `**` any folders
 */

export type PatternKind = "any-path" | "folders";

/** A part of a pattern: a test of one character, a star, `**`, or any folders. */
type Part = ((c: string) => boolean) | "*" | "**" | "**/";

/**
 * A pattern of huggingface_hub as a test of full names. A plain name also matches as a folder, and
 * a pattern that ends with a slash matches everything in that folder.
 */
export function matcher(pattern: string): (name: string) => boolean {
  if (!/[*?[]/.test(pattern)) {
    const folder = pattern.replace(/\/*$/, "/");
    return (name) => name === pattern || name.startsWith(folder);
  }
  return patternTest(pattern.endsWith("/") ? `${pattern}*` : pattern, "any-path");
}

/**
 * A pattern as a test of whole names. All ways to match go forward together: one regular
 * expression would try them one after the other, for hours where a pattern has many stars. With an
 * invalid range such as [z-a], only a name that equals the pattern matches.
 */
export function patternTest(pattern: string, kind: PatternKind): (name: string) => boolean {
  const parts = partsOf([...pattern], kind);
  if (parts === null) return (name) => name === pattern;
  return (name) => {
    /** Indices of the parts that the next character may belong to. */
    let places = new Set<number>();
    const add = (all: Set<number>, place: number) => {
      all.add(place);
      while (typeof parts[place] === "string") all.add(++place);
    };
    add(places, 0);
    for (const c of name) {
      const after = new Set<number>();
      for (const place of places) {
        const part = parts[place];
        if (part === undefined) continue;
        if (part === "**" || part === "*" && c !== "/") add(after, place);
        else if (part === "**/") {
          after.add(place);
          if (c === "/") add(after, place + 1);
        } else if (typeof part === "function" && part(c)) add(after, place + 1);
      }
      places = after;
    }
    return places.has(parts.length);
  };
}

/** The parts of a pattern; null with an invalid range. */
function partsOf(pattern: readonly string[], kind: PatternKind): Part[] | null {
  const parts: Part[] = [], isFolders = kind === "folders";
  const isNot = (c: string | undefined) => c === "!" || isFolders && c === "^";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!, next = pattern[i + 1];
    const end = c === "[" ? pattern.indexOf("]", i + (isNot(next) ? 3 : 2)) : -1;
    if (c === "*" && !isFolders) {
      // Several stars in a row match the same as one.
      if (parts.at(-1) !== "**") parts.push("**");
    } else if (c === "*" && next === "*") {
      parts.push(pattern[i + 2] === "/" ? "**/" : "**");
      i += parts.at(-1)!.length - 1;
    } else if (c === "*") parts.push("*");
    else if (c === "?") parts.push((one) => !isFolders || one !== "/");
    else if (end > 0) {
      const negates = isNot(next);
      const set = pattern.slice(i + (negates ? 2 : 1), end).join("").replaceAll(
        /[\\\]^[]/g,
        "\\$&",
      );
      try {
        const test = new RegExp(`[${negates ? "^" : ""}${set}]`, "u");
        parts.push((one) => test.test(one));
      } catch {
        return null;
      }
      i = end;
    } else parts.push((one) => one === c);
  }
  return parts;
}
