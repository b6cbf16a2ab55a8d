import assert from "node:assert/strict";
import { JSDOM } from "jsdom";
import { escapeText, type Figure } from "./style.ts";
import { FONT_FAMILY, textWidth } from "./font.ts";
import { renderPng, renderSvg } from "./render.ts";

const figure: Figure = {
  data: [
    { type: "bar", name: "short", x: ["a", "b"], y: [0.2, 0.4] },
    { type: "bar", name: "a much longer name of a model", x: ["a", "b"], y: [0.5, 0.1] },
  ],
  layout: { width: 400, height: 300, font: { family: FONT_FAMILY, size: 12 }, showlegend: true },
};

/** Width and height in a PNG's header. */
function pngSize(png: Uint8Array): [number, number] {
  assert.deepEqual([...png.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  const header = new DataView(png.buffer, png.byteOffset);
  return [header.getUint32(16), header.getUint32(20)];
}

Deno.test("a figure becomes an SVG with its texts, and a PNG of twice the size", async () => {
  const svg = await renderSvg(figure);
  assert.match(svg, /^<svg [^>]*width="400" height="300"/);
  assert.match(svg, />a much longer name of a model</);
  assert.deepEqual(pngSize(await renderPng(figure)), [800, 600]);
});

Deno.test("a legend is as wide as its longest name in the font", async () => {
  const svg = await renderSvg(figure);
  const legend = /<rect class="bg"[^>]*?width="([\d.]+)"/.exec(
    svg.slice(svg.indexOf('class="legend"')),
  );
  const width = Number(legend?.[1]), text = textWidth("a much longer name of a model", 12);
  assert.ok(width > text + 30 && width < text + 60, `${width} for a text of ${text}`);
});

Deno.test("drawing does not change a figure, and drawing again gives the same bytes", async () => {
  const before = structuredClone(figure);
  const first = await renderSvg(figure), second = await renderSvg(figure);
  assert.ok(first === second);
  assert.deepEqual(figure, before);
});

Deno.test("a text with markup characters is drawn as written", async () => {
  const texts = ["AT&T;x", "&lt;b&gt; &amp; c", "<i>a</i>", '50 % "quoted"'];
  const svg = await renderSvg({
    data: [{
      type: "scatter",
      mode: "text",
      x: texts,
      y: [1, 2, 3, 4],
      text: texts.map(escapeText),
    }],
    layout: figure.layout,
  });
  const drawn = new JSDOM(svg, { contentType: "image/svg+xml" }).window.document;
  const found = [...drawn.querySelectorAll("text")].map(({ textContent }) => textContent);
  for (const text of texts) assert.ok(found.includes(text), `${text} in ${found.join(" | ")}`);
});

Deno.test("a PNG is no larger than viewers can show", async () => {
  const layout = { ...figure.layout, width: 50, height: 40_000 };
  assert.deepEqual(pngSize(await renderPng({ data: [], layout })), [40, 32_000]);
});
