import assert from "node:assert/strict";
import { JSDOM } from "jsdom";
import { fontMetrics, textWidth } from "./font.ts";
import { installTextLayout } from "./text_layout.ts";

/** The element with id "x" of an SVG, in a document that measures texts. */
function measured(svg: string): SVGGraphicsElement {
  const { window } = new JSDOM(`<body><svg>${svg}</svg></body>`);
  installTextLayout(window);
  return window.document.getElementById("x");
}

const near = (found: number, expected: number) =>
  assert.ok(Math.abs(found - expected) < 1e-6, `${found} instead of ${expected}`);

Deno.test("a text is as wide as its glyphs, and its anchor places it", () => {
  const width = textWidth("model", 20), { ascent, descent } = fontMetrics();
  for (const [anchor, shift] of [["start", 0], ["middle", 0.5], ["end", 1]] as const) {
    const text = measured(
      `<text id="x" x="100" y="50" style="font-size: 20px; text-anchor: ${anchor};">model</text>`,
    );
    const box = text.getBBox();
    near(box.x, 100 - shift * width);
    near(box.width, width);
    near(box.y, 50 - 20 * ascent);
    near(box.height, 20 * (ascent + descent));
  }
});

Deno.test("a text of several lines is as wide as the widest, and as high as all", () => {
  const text = measured(
    '<text id="x" style="font-size: 10px"><tspan class="line" dy="0em">a</tspan>' +
      '<tspan class="line" dy="1.3em">wider</tspan></text>',
  );
  const { ascent, descent } = fontMetrics();
  near(text.getBBox().width, textWidth("wider", 10));
  near(text.getBBox().height, 13 + 10 * (ascent + descent));
  near((text as SVGTextElement).getComputedTextLength(), textWidth("wider", 10));
});

Deno.test("the box of a group contains its moved elements", () => {
  const group = measured(
    '<g transform="translate(10,20)"><g id="x"><rect x="0" y="0" width="30" height="10"/>' +
      '<g transform="translate(90,0) translate(10 40)"><rect width="30" height="10"/></g></g></g>',
  );
  const box = group.getBBox();
  [box.x, box.y, box.width, box.height].forEach((value, i) => near(value, [0, 0, 130, 50][i]!));
  const { left, top, right, bottom } = group.getBoundingClientRect();
  [left, top, right, bottom].forEach((value, i) => near(value, [10, 20, 140, 70][i]!));
  near(measured('<g id="x"></g>').getBBox().width, 0);
});
