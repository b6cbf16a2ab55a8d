/**
 * Writes `fonts.br` from the FIGlet fonts of the npm package `figlet` 1.12.0. It was run by hand,
 * once:
 *
 *     npm pack figlet@1.12.0 && tar xzf figlet-1.12.0.tgz
 *     deno run -A tasks/assets/make_fonts.ts package/fonts
 *
 * Only capital letters are kept, and only fonts in which they are 26 different drawings in
 * printable ASCII with 3 to 13 lines. Each font is a line `name height`, followed by the lines of
 * A, B, … Z.
 */
import { brotliCompressSync, constants } from "node:zlib";

/** Other scripts, ciphers, and letters that are rotated, mirrored or scrambled. */
const UNREADABLE = new Set([
  "Dot Matrix",
  "Efti Chess",
  "Efti Font",
  "Efti Italic",
  "Efti Piti",
  "Efti Robot",
  "Efti Wall",
  "Efti Water",
  "Flipped",
  "DANC4",
  "Dancing Font",
  "Greek",
  "Hieroglyphs",
  "Horizontal Left",
  "Horizontal Right",
  "Ivrit",
  "Jerusalem",
  "Katakana",
  "Mirror",
  "Moscow",
  "NT Greek",
  "Reverse",
  "Rotated",
  "Runic",
  "Runyc",
  "Small Tengwar",
  "Tengwar",
  "Tsalagi",
]);
const LETTERS = 26, LOWEST = 3, HIGHEST = 13;

const folder = Deno.args[0]!;
const fonts: string[] = [], seen = new Set<string>();
for (const file of [...Deno.readDirSync(folder)].map(({ name }) => name).sort()) {
  const title = file.replace(/\.flf$/, "");
  const lines = Deno.readTextFileSync(`${folder}/${file}`).split(/\r?\n/);
  const header = /^flf2a(.) ([0-9]+) -?[0-9]+ -?[0-9]+ -?[0-9]+ ([0-9]+)/.exec(lines[0]!);
  if (header === null || UNREADABLE.has(title)) continue;
  const height = Number(header[2]), first = 1 + Number(header[3]);
  if (height < LOWEST || height > HIGHEST) continue;
  const letters = Array.from({ length: LETTERS }, (_, i) => {
    const start = first + ("A".charCodeAt(0) + i - " ".charCodeAt(0)) * height;
    return lines.slice(start, start + height).map((line) => plain(line, header[1]!)).join("\n");
  });
  const text = letters.join("\n");
  const distinct = new Set(letters.map((letter) => letter.replace(/ +$/gm, ""))).size;
  if (distinct < LETTERS || seen.has(text) || !/^[ -~\n]+$/.test(text)) continue;
  seen.add(text);
  const name = title.toLowerCase().replaceAll(" ", "_").replaceAll("'", "");
  fonts.push(`${name} ${height}\n${text}`);
}
const bytes = new TextEncoder().encode(fonts.join("\n") + "\n");
const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 };
Deno.writeFileSync(new URL("./fonts.br", import.meta.url), brotliCompressSync(bytes, { params }));
console.log(`${fonts.length} fonts, ${bytes.length} bytes before compression`);

/** A line without its end marks. The font's hard blank becomes a space. */
function plain(line: string, hardBlank: string): string {
  const trimmed = line.trimEnd(), mark = trimmed.at(-1) ?? "";
  let end = trimmed.length;
  while (end > 0 && trimmed[end - 1] === mark) end--;
  return trimmed.slice(0, end).replaceAll(hardBlank, " ");
}
