/**
 * Reads and writes docs/performance.md. `deno task bench` writes most of it. Other programs write
 * single sections, which `deno task bench` keeps.
 */
const PAGE = new URL("../docs/performance.md", import.meta.url);

/** Written by `deno task bench:peers`. */
export const PEERS_SECTION = "Beside other programs";

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

/** The page with the new text of a section. A new section becomes the second one. */
export function withSection(page: string, title: string, text: string): string {
  const section = `## ${title}\n\n${text.trim()}\n\n`;
  const found = place(page, title);
  if (found !== null) return page.slice(0, found.begin) + section + page.slice(found.end);
  const first = page.indexOf("\n## ");
  const second = first < 0 ? -1 : page.indexOf("\n## ", first + 1);
  if (second < 0) return `${page.trimEnd()}\n\n${section}`;
  return page.slice(0, second + 1) + section + page.slice(second + 1);
}

export async function readPage(): Promise<string> {
  return await Deno.readTextFile(PAGE).catch(() => "");
}

/** Writes the page, formatted. */
export async function writePage(text: string): Promise<void> {
  await Deno.writeTextFile(PAGE, `${text.trimEnd()}\n`);
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", PAGE.pathname] }).output();
}

export async function writeSection(title: string, text: string): Promise<void> {
  await writePage(withSection(await readPage(), title, text));
}
