/**
 * The charts' font in a PDF file: a subset with the glyphs that the texts use, their widths, and a
 * table from glyphs to characters, so that readers can search and copy the texts. Source: the
 * OpenType specification (`glyf`, `loca`) and ISO 32000-1, 9.7 (composite fonts).
 */
import { Buffer } from "node:buffer";
import { fontMetrics, fontTables, fontTtf } from "../font.ts";
import { number, type PdfDocument, type Reference, utf16 } from "./document.ts";

/** Tables that a program which draws glyphs needs. */
const KEPT = ["cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"];

export class EmbeddedFont {
  /** Glyph → the character that it stands for. */
  readonly #used = new Map<number, string>();

  /** The glyphs of a text in hexadecimal digits, as an operand for `Tj`. */
  encode(text: string): string {
    const { glyphs } = fontMetrics();
    const codes = [...text].map((char) => {
      const glyph = glyphs.get(char.codePointAt(0)!) ?? 0;
      this.#used.set(glyph, char);
      return glyph.toString(16).padStart(4, "0");
    });
    return `<${codes.join("")}>`;
  }

  /** Adds the font with all glyphs that were encoded. */
  write(pdf: PdfDocument): Reference {
    const { ascent, descent, widths } = fontMetrics();
    const used = [...this.#used].sort(([a], [b]) => a - b);
    const ttf = subset(fontTtf(), used.map(([glyph]) => glyph));
    const file = pdf.stream(ttf, `/Length1 ${ttf.length}`);
    const name = "/RGXCHT+DejaVuSansCondensed", em = 1000;
    const descriptor = pdf.add(
      `<< /Type /FontDescriptor /FontName ${name} /Flags 4 /ItalicAngle 0 /StemV 80 ` +
        `/FontBBox [-1000 -400 2000 1100] /CapHeight ${number(0.73 * em)} ` +
        `/Ascent ${number(ascent * em)} /Descent ${number(-descent * em)} /FontFile2 ${file} >>`,
    );
    const advances = used.map(([glyph, char]) =>
      `${glyph} [${number((widths.get(char.codePointAt(0)!) ?? 0) * em)}]`
    );
    const descendant = pdf.add(
      `<< /Type /Font /Subtype /CIDFontType2 /BaseFont ${name} /CIDToGIDMap /Identity ` +
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> " +
        `/FontDescriptor ${descriptor} /W [${advances.join(" ")}] >>`,
    );
    const characters = pdf.stream(toUnicode(used));
    return pdf.add(
      `<< /Type /Font /Subtype /Type0 /BaseFont ${name} /Encoding /Identity-H ` +
        `/DescendantFonts [${descendant}] /ToUnicode ${characters} >>`,
    );
  }
}

/** The CMap from glyphs to characters, in parts of at most 100 lines. */
function toUnicode(used: readonly [glyph: number, char: string][]): string {
  const lines = used.map(([glyph, char]) =>
    `<${glyph.toString(16).padStart(4, "0")}> <${utf16(char)}>`
  );
  const parts: string[] = [];
  for (let at = 0; at < lines.length; at += 100) {
    const part = lines.slice(at, at + 100);
    parts.push(`${part.length} beginbfchar\n${part.join("\n")}\nendbfchar`);
  }
  return [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
    "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
    "1 begincodespacerange <0000> <ffff> endcodespacerange",
    ...parts,
    "endcmap CMapName currentdict /CMap defineresource pop end end",
  ].join("\n");
}

/** The font without the outlines of other glyphs. Numbers of glyphs stay. */
function subset(ttf: Uint8Array, glyphs: readonly number[]): Uint8Array {
  const data = view(ttf), tables = fontTables(ttf);
  const glyf = tables.get("glyf")!, loca = tables.get("loca")!;
  const count = data.getUint16(tables.get("maxp")! + 4);
  const isLong = data.getInt16(tables.get("head")! + 50) === 1;
  const place = (glyph: number) =>
    isLong ? data.getUint32(loca + 4 * glyph) : 2 * data.getUint16(loca + 2 * glyph);
  const kept = withComponents(data, glyf, place, [0, ...glyphs]);

  const offsets = new Uint8Array(4 * (count + 1)), outlines: Uint8Array[] = [];
  let length = 0;
  for (let glyph = 0; glyph < count; glyph++) {
    view(offsets).setUint32(4 * glyph, length);
    if (!kept.has(glyph)) continue;
    const outline = ttf.subarray(glyf + place(glyph), glyf + place(glyph + 1));
    outlines.push(outline, new Uint8Array(-outline.length & 3));
    length += (outline.length + 3) & ~3;
  }
  view(offsets).setUint32(4 * count, length);
  const contents = new Map([["loca", offsets], ["glyf", joined(outlines)]]);
  const head = tableOf(ttf, "head").slice();
  view(head).setInt16(50, 1); // offsets of 4 bytes
  contents.set("head", head);
  return joined(
    fontFile(
      KEPT.filter((tag) => tables.has(tag)).map((
        tag,
      ) => [tag, contents.get(tag) ?? tableOf(ttf, tag)]),
    ),
  );
}

/** Glyphs with those of which they are made. */
function withComponents(
  data: DataView,
  glyf: number,
  place: (glyph: number) => number,
  glyphs: readonly number[],
): Set<number> {
  const all = new Set<number>(), waiting = [...glyphs];
  for (let glyph = waiting.pop(); glyph !== undefined; glyph = waiting.pop()) {
    if (all.has(glyph)) continue;
    all.add(glyph);
    const start = glyf + place(glyph);
    // An outline with less than 0 contours is a list of components.
    if (place(glyph + 1) === place(glyph) || data.getInt16(start) >= 0) continue;
    for (let at = start + 10, flags = MORE; (flags & MORE) !== 0;) {
      flags = data.getUint16(at);
      waiting.push(data.getUint16(at + 2));
      const scale = flags & 0x8 ? 2 : flags & 0x40 ? 4 : flags & 0x80 ? 8 : 0;
      at += 4 + (flags & 0x1 ? 4 : 2) + scale;
    }
  }
  return all;
}

/** The flag of a component that is followed by another. */
const MORE = 0x20;

function tableOf(ttf: Uint8Array, tag: string): Uint8Array {
  const data = view(ttf);
  for (let i = 0; i < data.getUint16(4); i++) {
    const entry = 12 + 16 * i;
    if (String.fromCharCode(...ttf.subarray(entry, entry + 4)) !== tag) continue;
    const offset = data.getUint32(entry + 8);
    return ttf.subarray(offset, offset + data.getUint32(entry + 12));
  }
  throw new Error(`the font has no table ${tag}`);
}

/** The parts of a font file. Programs that draw PDF files do not use the checksums. */
function fontFile(tables: readonly (readonly [tag: string, bytes: Uint8Array])[]): Uint8Array[] {
  const head = new Uint8Array(12 + 16 * tables.length), data = view(head);
  const power = 2 ** Math.floor(Math.log2(tables.length));
  data.setUint32(0, 0x10000);
  [tables.length, power * 16, Math.log2(power), (tables.length - power) * 16].forEach(
    (value, i) => data.setUint16(4 + 2 * i, value),
  );
  const parts: Uint8Array[] = [head];
  let at = head.length;
  for (const [i, [tag, bytes]] of tables.entries()) {
    head.set(new TextEncoder().encode(tag), 12 + 16 * i);
    data.setUint32(12 + 16 * i + 8, at);
    data.setUint32(12 + 16 * i + 12, bytes.length);
    parts.push(bytes, new Uint8Array(-bytes.length & 3));
    at += (bytes.length + 3) & ~3;
  }
  return parts;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
