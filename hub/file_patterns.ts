/**
 * Patterns that select files by name, with the syntax of huggingface_hub (Python's fnmatch): `*`
 * also matches slashes, and a pattern that ends with a slash matches everything in that folder.
 */

/** A pattern of Python's fnmatch as a test of full names; a plain name also matches as a folder. */
export function matcher(pattern: string): (name: string) => boolean {
  if (!/[*?[]/.test(pattern)) {
    const folder = pattern.replace(/\/*$/, "/");
    return (name) => name === pattern || name.startsWith(folder);
  }
  const text = pattern.endsWith("/") ? `${pattern}*` : pattern;
  let source = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!, end = text.indexOf("]", i + (text[i + 1] === "!" ? 3 : 2));
    if (c === "*") source += "[^]*";
    else if (c === "?") source += "[^]";
    else if (c === "[" && end > 0) {
      const set = text.slice(i + 1, end).replaceAll(/[\\\]^[]/g, "\\$&").replace(/^!/, "^");
      source += `[${set}]`;
      i = end;
    } else source += c.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&");
  }
  let test: RegExp;
  try {
    test = new RegExp(`^${source}$`);
  } catch {
    return (name) => name === pattern; // an invalid range such as [z-a]
  }
  return (name) => test.test(name);
}
