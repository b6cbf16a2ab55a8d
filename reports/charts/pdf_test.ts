/** PDF files of charts: read again, and drawn by poppler where it is installed. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { inflateSync } from "node:zlib";
import { test } from "../../core/testing.ts";
import { allTasksFile } from "../../bench/results/testing.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { gatherResults } from "./chart_data.ts";
import { renderPdf, renderPng, renderSvg } from "./render.ts";
import { resultsFigure } from "./results_figure.ts";

const figure = resultsFigure(gatherResults([{
  path: "x.json",
  result: allTasksFile({
    gcd: { one: 4, two: 2, three: 9 },
    "Größe – über 5 %": { one: 1, two: 0, three: 3 },
  }),
}]));

const hasPoppler = await new Deno.Command("pdftoppm", { args: ["-v"], stderr: "null" }).output()
  .then(({ success }) => success, () => false);

Deno.test("a figure gives the same PDF each time, with a part of the font", async () => {
  const pdf = await renderPdf(figure, "a title");
  assert.ok(pdf.length < 90_000, `${pdf.length} bytes`);
  assert.match(Buffer.from(pdf).toString("latin1"), /[A-Z]{6}\+DejaVuSansCondensed/);
  assert.deepEqual(pdf, await renderPdf(figure, "a title"));
});

test.inFolder("a PDF has all texts of the SVG, as texts", async (folder) => {
  await Deno.writeFile(`${folder}/chart.pdf`, await renderPdf(figure, "chart"));
  const args = ["-layout", `${folder}/chart.pdf`, "-"];
  const { stdout } = await new Deno.Command("pdftotext", { args }).output();
  const words = (text: string) => text.split(/\s+/).filter(Boolean).sort();
  const svg = await renderSvg(figure);
  const texts = [...svg.matchAll(/>([^<>]+)<\/(?:text|tspan)>/g)].map(([, text]) => text!);
  assert.ok(texts.some((text) => text.includes("Größe – über 5 %")));
  assert.deepEqual(words(new TextDecoder().decode(stdout)), words(texts.join(" ")));
}, needs(hasPoppler, NEEDED.poppler));

test.inFolder("poppler draws the PDF as resvg draws the SVG", async (folder) => {
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
}, needs(hasPoppler, NEEDED.poppler));

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
