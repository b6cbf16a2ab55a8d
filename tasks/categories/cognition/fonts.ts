/**
 * Words drawn with characters: the capital letters of FIGlet fonts. Licence: `assets/LICENCE.md`.
 * Each font is a line `name height`, followed by the lines of A, B, … Z.
 */
import { readCompressedAsset } from "../../asset.ts";

/** Each letter is a list of its lines from top to bottom. */
export type Font = ReadonlyMap<string, readonly string[]>;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** Maximum number of columns of a row of letters; further letters begin a new row. */
const MAX_COLUMNS = 80;

let fonts: Map<string, readonly string[]> | undefined;
let names: readonly string[] | undefined;

/** The lines of each font: its height and then the letters. Read once. */
function allFonts(): Map<string, readonly string[]> {
  if (fonts !== undefined) return fonts;
  fonts = new Map();
  const lines = readCompressedAsset("fonts.br").split("\n");
  for (let at = 0; at < lines.length - 1;) {
    const [name, height] = lines[at]!.split(" ");
    const end = at + 1 + LETTERS.length * Number(height);
    fonts.set(name!, [height!, ...lines.slice(at + 1, end)]);
    at = end;
  }
  return fonts;
}

export function fontNames(): readonly string[] {
  return names ??= [...allFonts().keys()];
}

/** Loads the letters of a font in `fontNames`. */
export function loadFont(name: string): Font {
  const [height, ...lines] = allFonts().get(name)!;
  const rows = Number(height);
  return new Map(
    Array.from(LETTERS, (letter, i) => {
      const drawing = lines.slice(i * rows, (i + 1) * rows);
      const width = Math.max(...drawing.map((line) => line.length));
      return [letter, drawing.map((line) => line.padEnd(width))];
    }),
  );
}

/**
 * Draws capital letters side by side, `gap` columns apart. Long words take several rows of letters.
 */
export function drawWord(word: string, font: Font, gap: number): string {
  const space = " ".repeat(gap);
  const rows: string[][] = [];
  for (const letter of word) {
    const drawing = font.get(letter)!;
    const row = rows.at(-1);
    if (row === undefined || row[0]!.length + gap + drawing[0]!.length > MAX_COLUMNS) {
      rows.push([...drawing]);
    } else drawing.forEach((line, i) => row[i] += space + line);
  }
  return rows.flat().map((line) => line.trimEnd()).join("\n");
}
