/**
 * The font of all charts, and the widths of texts in it. Plotly asks a browser for the width of a
 * text; without a browser the widths come from the font's tables. Sources: the OpenType
 * specification (`cmap` formats 4 and 12, `hmtx`) and the WOFF 1.0 recommendation. Left out:
 * kerning and ligatures (so a width may be a few percent too large, but not too small),
 * right-to-left and combining scripts.
 */
import { inflateSync } from "node:zlib";
import packed from "./assets/dejavu_sans_condensed.woff" with { type: "bytes" };

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
  return metrics ??= readMetrics(fontTtf());
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

/** The tables of a TrueType file by name: their offsets. */
function fontTables(ttf: Uint8Array): Map<string, number> {
  const data = view(ttf), tables = new Map<string, number>();
  for (let i = 0; i < data.getUint16(4); i++) {
    const entry = 12 + 16 * i;
    const tag = String.fromCharCode(...ttf.subarray(entry, entry + 4));
    tables.set(tag, data.getUint32(entry + 8));
  }
  return tables;
}

function readMetrics(ttf: Uint8Array): Metrics {
  const data = view(ttf), tables = fontTables(ttf);
  const unitsPerEm = data.getUint16(tables.get("head")! + 18);
  const hhea = tables.get("hhea")!, hmtx = tables.get("hmtx")!;
  const advances = data.getUint16(hhea + 34);
  const widths = new Map<number, number>();
  for (const [code, glyph] of charMap(data, tables.get("cmap")!)) {
    widths.set(code, data.getUint16(hmtx + 4 * Math.min(glyph, advances - 1)) / unitsPerEm);
  }
  return {
    widths,
    ascent: data.getInt16(hhea + 4) / unitsPerEm,
    descent: -data.getInt16(hhea + 6) / unitsPerEm,
  };
}

/** The pairs (code point, glyph) of the Unicode sub-tables. */
function* charMap(data: DataView, cmap: number): Generator<[code: number, glyph: number]> {
  for (let i = 0; i < data.getUint16(cmap + 2); i++) {
    const table = cmap + data.getUint32(cmap + 8 + 8 * i);
    const format = data.getUint16(table);
    if (format === 4) yield* segments(data, table);
    else if (format === 12) {
      for (let g = 0; g < data.getUint32(table + 12); g++) {
        const group = table + 16 + 12 * g;
        const first = data.getUint32(group), last = data.getUint32(group + 4);
        for (let code = first; code <= last; code++) {
          yield [code, data.getUint32(group + 8) + code - first];
        }
      }
    }
  }
}

/** `cmap` format 4: segments with an offset from codes to glyphs, or into a list of glyphs. */
function* segments(data: DataView, table: number): Generator<[code: number, glyph: number]> {
  const bytes = data.getUint16(table + 6);
  const ends = table + 14,
    starts = ends + bytes + 2,
    deltas = starts + bytes,
    offsets = deltas + bytes;
  for (let s = 0; s < bytes; s += 2) {
    const start = data.getUint16(starts + s), end = data.getUint16(ends + s);
    const delta = data.getUint16(deltas + s), offset = data.getUint16(offsets + s);
    for (let code = start; code <= end && code !== 0xffff; code++) {
      const listed = offset === 0
        ? code
        : data.getUint16(offsets + s + offset + 2 * (code - start));
      const glyph = offset !== 0 && listed === 0 ? 0 : (listed + delta) & 0xffff;
      if (glyph !== 0) yield [code, glyph];
    }
  }
}
