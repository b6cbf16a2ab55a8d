/**
 * Reads and writes docs/performance.md. `deno task bench` writes most of it. Other programs write
 * single sections, one for each processor that they ran on. `deno task bench` keeps them, and a
 * program replaces only the section of the processor at hand.
 */
const PAGE = new URL("../docs/performance.md", import.meta.url);

/** Sections that other programs write; the title of each also names the processor. */
export const SECTIONS = {
  /** Written by `deno task bench:peers`. */
  peers: "Beside other programs",
  /** Written by `deno task bench:peers --tiny`. */
  tiny: "A small model beside TRL",
  /** Measured in November 2026; docs/log/steady.md says how. */
  steady: "Beside other work",
  /** Written by `deno task bench:operations`. */
  operations: "Operations and their bounds",
} as const;
type Section = keyof typeof SECTIONS;

/** The name of this machine's processor without trademarks, such as "AMD EPYC". */
export async function processor(): Promise<string> {
  const info = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const name = info.match(/model name\s*:\s*(.+)/)?.[1] ?? "an unknown processor";
  return name.replace(/\((R|TM)\)| (Processor|CPU)\b/gi, "").trim();
}

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

/** The titles of all sections of the second level, in order. */
function titles(page: string): string[] {
  return [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title!);
}

/** The range of a section of the second level with its heading; null if there is none. */
function place(page: string, title: string): { begin: number; end: number } | null {
  const begin = page.indexOf(`\n## ${title}\n`);
  if (begin < 0) return null;
  const next = page.indexOf("\n## ", begin + 1);
  return { begin: begin + 1, end: next < 0 ? page.length : next + 1 };
}

/** The text of a section without its heading; null if there is none. */
export function sectionOf(page: string, title: string): string | null {
  const found = place(page, title);
  if (found === null) return null;
  return page.slice(page.indexOf("\n", found.begin), found.end).trim();
}

/**
 * The page with the new text of a section. A new section comes after those of other processors, or
 * else becomes the second one.
 */
export function withSection(page: string, title: string, text: string): string {
  const section = `## ${title}\n\n${text.trim()}\n\n`;
  const found = place(page, title);
  if (found !== null) return page.slice(0, found.begin) + section + page.slice(found.end);
  const all = titles(page), kind = title.split(": ")[0]!;
  const before = all.findLast((other) => other.startsWith(`${kind}: `)) ?? all[0];
  const at = before === undefined ? page.length : place(page, before)!.end;
  const head = at === page.length ? `${page.trimEnd()}\n\n` : page.slice(0, at);
  return head + section + page.slice(at);
}

/** A new page with the sections that other programs have written on the old one. */
export function keepSections(page: string, old: string): string {
  const kinds = Object.values(SECTIONS).map((kind) => `${kind}: `);
  return titles(old).filter((title) => kinds.some((kind) => title.startsWith(kind)))
    .reduce((all, title) => withSection(all, title, sectionOf(old, title)!), page);
}

export async function readPage(): Promise<string> {
  return await Deno.readTextFile(PAGE).catch(() => "");
}

/** Writes the page, formatted. */
export async function writePage(text: string): Promise<void> {
  await Deno.writeTextFile(PAGE, `${text.trimEnd()}\n`);
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", PAGE.pathname] }).output();
}

/** Writes the section of this machine's processor. */
export async function writeSection(section: Section, text: string): Promise<void> {
  const title = `${SECTIONS[section]}: ${await processor()}`;
  await writePage(withSection(await readPage(), title, text));
}
