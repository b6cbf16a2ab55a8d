import assert from "node:assert/strict";
import { textWidth } from "./font.ts";
import { DISTINCT_STYLES, escapeText, percent, seriesStyle, wrapText } from "./style.ts";

/** CIE L* of a colour written #rrggbb. */
function lightness(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return y > 216 / 24389 ? 116 * Math.cbrt(y) - 16 : y * 24389 / 27;
}

Deno.test("styles differ in black and white: by a pattern, or by ten steps of lightness", () => {
  for (let i = 0; i < DISTINCT_STYLES; i++) {
    for (let j = 0; j < i; j++) {
      const a = seriesStyle(i), b = seriesStyle(j);
      const apart = Math.abs(lightness(a.color) - lightness(b.color));
      assert.ok(a.pattern !== b.pattern || apart >= 10, `${a.color} and ${b.color}: ${apart}`);
    }
  }
});

Deno.test("wrapping keeps every character, and no line is too wide", () => {
  const names = [
    "tiny",
    "experiments/leg_counting_qwen7b/checkpoint-450",
    "/cluster/projects/somebody/experiments/a_run_with_a_long_name_lr2e-6_beta0.04/checkpoint-2000",
    "x".repeat(90),
    "漢字".repeat(20),
  ];
  for (const name of names) {
    for (const width of [60, 150, 300]) {
      const lines = wrapText(name, 15, width);
      assert.equal(lines.join(""), name);
      for (const line of lines) assert.ok(textWidth(line, 15) <= width, `${line} at ${width}`);
    }
  }
  assert.deepEqual(wrapText("a\nb\u0007  c\uffff", 15, 300), ["a b c"]);
  assert.deepEqual(wrapText("", 15, 300), [""]);
});

Deno.test("lines of a wrapped name have about the same length", () => {
  const lines = wrapText("experiments/leg_counting_qwen7b/checkpoint-450", 16, 300);
  assert.equal(lines.length, 2);
  assert.ok(textWidth(lines[1]!, 16) > 0.6 * textWidth(lines[0]!, 16), lines.join(" | "));
});

Deno.test("texts that look like markup are shown as written", () => {
  assert.equal(escapeText("<b>a & b</b>"), "&lt;b&gt;a &amp; b&lt;/b&gt;");
  assert.equal(percent(0.6321), "63.2 %");
});
