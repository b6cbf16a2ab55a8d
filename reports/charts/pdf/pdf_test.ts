/** PDF files of charts: read again, and drawn by poppler where it is installed. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { inflateSync } from "node:zlib";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { gatherResults } from "../chart_data.ts";
import { renderPdf, renderPng, renderSvg } from "../render.ts";
import { summaryFigure } from "../summary.ts";
import { allTasksFile } from "../testing.ts";
import type { Element } from "../text_layout.ts";
import { pathOutline } from "./path.ts";
import { svgToPdf } from "./svg_to_pdf.ts";

const figure = summaryFigure(gatherResults([{
  path: "x.json",
  result: allTasksFile({
    gcd: { one: 4, two: 2, three: 9 },
    "Größe – über 5 %": { one: 1, two: 0, three: 3 },
  }),
}]));

/** The objects of a file, by the offsets of its table. */
function objectsOf(pdf: Uint8Array): string[] {
  const text = Buffer.from(pdf).toString("latin1");
  const table = text.slice(Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)![1]));
  const offsets = [...table.matchAll(/^(\d{10}) 00000 n $/gm)].map(([, offset]) => Number(offset));
  return offsets.map((offset, i) => {
    assert.ok(text.startsWith(`${i + 1} 0 obj\n`, offset), `object ${i + 1}`);
    return text.slice(offset, text.indexOf("\nendobj", offset));
  });
}

/** The content of an object's stream. */
function streamOf(object: string): Buffer {
  const [, length] = /\/Length (\d+)/.exec(object)!, start = object.indexOf("stream\n") + 7;
  return inflateSync(Buffer.from(object.slice(start, start + Number(length)), "latin1"));
}

/** The texts of a page, by the font's own table from glyphs to characters. */
function textsOf(pdf: Uint8Array): string[] {
  const objects = objectsOf(pdf), streams = objects.filter((object) => object.includes("\nstream"));
  const find = (part: string) =>
    streams.map((object) => streamOf(object).toString("latin1")).find((text) =>
      text.includes(part)
    )!;
  const characters = new Map(
    [...find("beginbfchar").matchAll(/^<(\w{4})> <(\w+)>$/gm)].map(([, glyph, code]) =>
      [glyph!, Buffer.from(code!, "hex").swap16().toString("utf16le")] as const
    ),
  );
  return [...find("BT\n").matchAll(/<(\w*)> Tj/g)].map(([, glyphs]) =>
    glyphs!.match(/\w{4}/g)!.map((glyph) => characters.get(glyph)).join("")
  );
}

Deno.test("a PDF has all texts of the SVG, in a font with only their outlines", async () => {
  const pdf = await renderPdf(figure, "a title");
  const svg = await renderSvg(figure);
  const texts = [...svg.matchAll(/>([^<>]+)<\/(?:text|tspan)>/g)].map(([, text]) =>
    text!.replaceAll("&amp;", "&")
  );
  assert.deepEqual(textsOf(pdf), texts);
  assert.ok(texts.some((text) => text.includes("Größe – über 5 %")));
  const font = objectsOf(pdf).find((object) => object.includes("/Length1"))!;
  const ttf = streamOf(font);
  assert.ok(ttf.length < 60_000, `${ttf.length} bytes`);
  assert.equal(ttf.readUInt32BE(0), 0x10000);
  assert.deepEqual(pdf, await renderPdf(figure, "a title"));
});

Deno.test("an arc ends where it must, and each of its points is on the circle", () => {
  const { operators, box } = pathOutline("M4.5,0A4.5,4.5 0 1,1 0,-4.5A4.5,4.5 0 0,1 4.5,0Z");
  const ends = [...operators.matchAll(/(\S+) (\S+) c$/gm)].map((
    [, x, y],
  ) => [Number(x), Number(y)]);
  assert.equal(ends.length, 4);
  for (const [x, y] of ends) assert.ok(Math.abs(Math.hypot(x!, y!) - 4.5) < 1e-3);
  assert.deepEqual(ends.at(-1), [4.5, 0]);
  assert.deepEqual(box.map((side) => Math.round(10 * side) / 10), [-4.5, -4.5, 4.5, 4.5]);
  assert.equal(pathOutline("M1,2l3,0h1V5z").operators, "1 2 m\n4 2 l\n5 2 l\n5 5 l\nh\n");
  assert.throws(() => pathOutline("M0,0T1,1"), /command T/);
});

Deno.test("an element that the writer does not know is an error", () => {
  const element = (tagName: string, children: Element[]): Element => ({
    tagName,
    textContent: "",
    parentElement: null,
    children,
    getAttribute: (name) => name === "width" || name === "height" ? "10" : null,
  });
  const picture = element("svg", [element("g", [element("image", [])])]);
  assert.throws(() => svgToPdf(picture, ""), /element image/);
});

const hasPoppler = await new Deno.Command("pdftoppm", { args: ["-v"], stderr: "null" }).output()
  .then(({ success }) => success, () => false);

Deno.test({
  name: "poppler draws the PDF as resvg draws the SVG",
  ignore: needs(hasPoppler, NEEDED.poppler),
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeFile(`${folder}/chart.pdf`, await renderPdf(figure, "chart"));
      // A pixel of the layout is 1/96 inch; the PNG of resvg has two of them for each.
      const args = ["-r", "192", "-gray", `${folder}/chart.pdf`, `${folder}/chart`];
      const { success } = await new Deno.Command("pdftoppm", { args }).output();
      assert.ok(success);
      const drawn = grayOfPgm(await Deno.readFile(`${folder}/chart-1.pgm`));
      const expected = grayOfPng(await renderPng(figure));
      assert.deepEqual([drawn.width, drawn.height], [expected.width, expected.height]);
      // Edges are smoothed and lines placed differently by a pixel; areas and texts must agree.
      const [one, other] = [blocks(drawn), blocks(expected)];
      const far = one.filter((gray, i) => Math.abs(gray - other[i]!) > 48).length;
      const dark = other.filter((gray) => gray < 200).length;
      assert.ok(dark > 500 && far < 0.05 * dark, `${far} of ${dark} dark blocks differ`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

interface Gray {
  width: number;
  height: number;
  pixels: Uint8Array;
}

/** The mean of each block of 8 × 8 pixels. */
function blocks({ width, height, pixels }: Gray): number[] {
  const across = Math.floor(width / 8), sums = new Float64Array(across * Math.floor(height / 8));
  for (let y = 0; y < Math.floor(height / 8) * 8; y++) {
    for (let x = 0; x < across * 8; x++) {
      sums[(y >> 3) * across + (x >> 3)]! += pixels[y * width + x]!;
    }
  }
  return [...sums].map((sum) => sum / 64);
}

/** A picture in the format PGM. */
function grayOfPgm(file: Uint8Array): Gray {
  const head = /^P5\s+(\d+)\s+(\d+)\s+255\s/.exec(Buffer.from(file.subarray(0, 40)).toString())!;
  const [width, height] = [Number(head[1]), Number(head[2])];
  return { width, height, pixels: file.subarray(head[0].length) };
}

/** A PNG with 8 bits for each of red, green, blue and opacity, on white. */
function grayOfPng(file: Uint8Array): Gray {
  const data = Buffer.from(file), width = data.readUInt32BE(16), height = data.readUInt32BE(20);
  const parts: Buffer[] = [];
  for (let at = 8; at < data.length; at += 12 + data.readUInt32BE(at)) {
    if (data.toString("latin1", at + 4, at + 8) !== "IDAT") continue;
    parts.push(data.subarray(at + 8, at + 8 + data.readUInt32BE(at)));
  }
  const bytes = inflateSync(Buffer.concat(parts)), row = 4 * width;
  const rgba = new Uint8Array(row * height), pixels = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    const filter = bytes[y * (row + 1)]!;
    for (let x = 0; x < row; x++) {
      const left = x < 4 ? 0 : rgba[y * row + x - 4]!, up = y === 0 ? 0 : rgba[(y - 1) * row + x]!;
      const corner = x < 4 || y === 0 ? 0 : rgba[(y - 1) * row + x - 4]!;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
      rgba[y * row + x] = bytes[y * (row + 1) + 1 + x]! + predicted;
    }
  }
  for (let i = 0; i < pixels.length; i++) {
    const [r, g, b] = rgba.subarray(4 * i, 4 * i + 3);
    pixels[i] = 0.299 * r! + 0.587 * g! + 0.114 * b!;
  }
  return { width, height, pixels };
}

/** The neighbour that is nearest to left + up − corner (PNG specification, 9.4). */
function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value)) as [
    number,
    number,
    number,
  ];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
