/** PDF files of charts: read again, and drawn by poppler where it is installed. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import PDFDocument from "pdfkit";
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
  const { width, height } = figure.layout, size = [POINTS * width, POINTS * height];
  const picture = new PDFDocument({ size, margin: 0 });
  picture.image(Buffer.from(await renderPng(figure)), 0, 0, { width: size[0] });
  picture.end();
  const grayOf = async (pdf: Uint8Array): Promise<number[]> => {
    await Deno.writeFile(`${folder}/a.pdf`, pdf);
    // A pixel of the layout is 1/96 inch; the PNG of resvg has two of them for each.
    const args = ["-r", "192", "-gray", `${folder}/a.pdf`, `${folder}/a`];
    assert.ok((await new Deno.Command("pdftoppm", { args }).output()).success);
    const file = await Deno.readFile(`${folder}/a-1.pgm`);
    const head = `P5\n${2 * width} ${2 * height}\n255\n`;
    assert.equal(new TextDecoder().decode(file.subarray(0, head.length)), head);
    return blocks(file.subarray(head.length), 2 * width, 2 * height);
  };
  const drawn = await grayOf(await renderPdf(figure, "chart"));
  const expected = await grayOf(Buffer.concat(await Array.fromAsync(picture)));
  // Edges are smoothed and lines placed differently by a pixel; areas and texts must agree.
  const far = drawn.filter((gray, i) => Math.abs(gray - expected[i]!) > 48).length;
  const dark = expected.filter((gray) => gray < 200).length;
  assert.ok(dark > 500 && far < 0.05 * dark, `${far} of ${dark} dark blocks differ`);
}, needs(hasPoppler, NEEDED.poppler));

/** Points of PDF in a pixel. */
const POINTS = 0.75;

/** The mean of each block of 8 × 8 pixels. */
function blocks(pixels: Uint8Array, width: number, height: number): number[] {
  const across = Math.floor(width / 8), sums = new Float64Array(across * Math.floor(height / 8));
  for (let y = 0; y < Math.floor(height / 8) * 8; y++) {
    for (let x = 0; x < across * 8; x++) {
      sums[(y >> 3) * across + (x >> 3)]! += pixels[y * width + x]!;
    }
  }
  return [...sums].map((sum) => sum / 64);
}
