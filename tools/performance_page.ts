/** Tables and sections of the pages with measurements, docs/performance.md and docs/gpu.md. */

export function fenced(text: string): string {
  return "```text\n" + text + "\n```";
}

/** A table in Markdown: the first column is text, the others are numbers. */
export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = columns.map((_, i) => i === 0 ? "---" : "---:");
  return [columns, rule, ...rows].map(line).join("\n");
}

/**
 * The page with the new text of a section. A new section comes after those whose titles have the
 * same text before the colon, or else becomes the second one.
 */
export function withSection(page: string, title: string, text: string): string {
  const starts = [...page.matchAll(/^## (.*)$/gm)].map(({ index, 1: name }) => ({ index, name }));
  const endOf = (i: number) => starts[i + 1]?.index ?? page.length;
  const found = starts.findIndex(({ name }) => name === title);
  const kind = `${title.split(": ")[0]}: `;
  const before = starts.findLastIndex(({ name }) => name!.startsWith(kind));
  const end = found >= 0
    ? endOf(found)
    : starts.length === 0
    ? page.length
    : endOf(Math.max(0, before));
  const head = page.slice(0, found >= 0 ? starts[found]!.index : end);
  return `${head.trimEnd()}\n\n## ${title}\n\n${text.trim()}\n\n${page.slice(end)}`;
}
