/**
 * The font of all charts, and the widths of texts in it. Plotly asks a browser for the width of a
 * text; without a browser the widths come from a table of the font's characters. Source: the WOFF
 * 1.0 recommendation. Left out: kerning and ligatures (so a width may be a few percent too large,
 * but not too small), right-to-left and combining scripts.
 */
import { inflateSync } from "node:zlib";
import packed from "./assets/dejavu_sans_condensed.woff" with { type: "bytes" };
import table from "./assets/dejavu_sans_condensed_widths.txt" with { type: "text" };

/** Font families by preference; the first is embedded, the others have similar widths. */
export const FONT_FAMILY =
  "DejaVu Sans Condensed, DejaVu Sans, Liberation Sans, Arial, Helvetica, sans-serif";

/** Width of a character that the font lacks, in em: that of a wide character in other fonts. */
const UNKNOWN_WIDTH = 1;

/** The font as a WOFF file, for browsers. */
export function fontWoff(): Uint8Array {
  return packed;
}

let unpacked: Uint8Array<ArrayBuffer> | undefined;

/** The font as a TrueType file. */
export function fontTtf(): Uint8Array<ArrayBuffer> {
  return unpacked ??= unpackWoff(packed);
}

/** Converts a WOFF 1.0 file to a TrueType file. */
function unpackWoff(woff: Uint8Array): Uint8Array<ArrayBuffer> {
  const source = view(woff);
  const count = source.getUint16(12);
  const ttf = new Uint8Array(source.getUint32(16)), target = view(ttf);
  target.setUint32(0, source.getUint32(4));
  target.setUint16(4, count);
  // The three fields for binary search that the specification demands.
  const power = 2 ** Math.floor(Math.log2(count));
  target.setUint16(6, power * 16);
  target.setUint16(8, Math.log2(power));
  target.setUint16(10, (count - power) * 16);
  let at = 12 + 16 * count;
  for (let i = 0; i < count; i++) {
    const [tag, offset, stored, length, checksum] = [0, 4, 8, 12, 16].map((field) =>
      source.getUint32(44 + 20 * i + field)
    ) as [number, number, number, number, number];
    const part = woff.subarray(offset, offset + stored);
    ttf.set(stored < length ? inflateSync(part) : part, at);
    [tag, checksum, at, length].forEach((value, field) =>
      target.setUint32(12 + 16 * i + 4 * field, value)
    );
    at += (length + 3) & ~3;
  }
  return ttf;
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Measures for the layout of a line, in em. */
interface Metrics {
  /** Advance widths of the font's glyphs by code point. */
  widths: Map<number, number>;
  /** Height above and below the baseline. */
  ascent: number;
  descent: number;
}

let metrics: Metrics | undefined;

export function fontMetrics(): Metrics {
  return metrics ??= readMetrics();
}

/** The characters of a text that the font lacks, each once. */
export function missingCharacters(text: string): string[] {
  return [...new Set(text)].filter((char) => lacks(char) && !INVISIBLE.test(char));
}

/**
 * Replaces each character that the font lacks by a box. The renderer would draw boxes itself, but
 * they would overlap where several characters form one sign; joining characters are dropped.
 */
export function withBoxes(text: string): string {
  return text.replaceAll(
    /[^\0-\x7f]/gu,
    (char) => !lacks(char) ? char : INVISIBLE.test(char) ? "" : "\u25a1",
  );
}

const INVISIBLE = /[\p{C}\p{Z}\ufe00-\ufe0f]/u;

function lacks(char: string): boolean {
  return !fontMetrics().widths.has(char.codePointAt(0)!);
}

/** Width of a line of text in pixels. */
export function textWidth(text: string, size: number): number {
  const { widths } = fontMetrics();
  let sum = 0;
  for (const char of text) sum += widths.get(char.codePointAt(0)!) ?? UNKNOWN_WIDTH;
  return sum * size;
}

/**
 * The first line has the units of an em, the ascent and the descent; the others a code point, its
 * advance width and those of the next code points.
 */
function readMetrics(): Metrics {
  const [head, ...runs] = table.trimEnd().split("\n").map((line) => line.split(" ").map(Number));
  const [unitsPerEm, ascent, descent] = head as [number, number, number];
  const widths = new Map<number, number>();
  for (const [first, ...advances] of runs) {
    for (const [i, advance] of advances.entries()) widths.set(first! + i, advance / unitsPerEm);
  }
  return { widths, ascent: ascent / unitsPerEm, descent: descent / unitsPerEm };
}
