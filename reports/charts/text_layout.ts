/**
 * Sizes of SVG elements without a browser. Plotly calls `getBBox`, `getComputedTextLength` and
 * `getBoundingClientRect` to make room for its texts. Texts are measured in the embedded font, with
 * their lines (`tspan.line`), anchors and translations. Left out: shapes other than rectangles,
 * since Plotly computes their places itself, and rotations, which no chart has.
 */
import { fontMetrics, textWidth } from "./font.ts";

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * The members of the DOM's Element that are used here. Its own type is not available outside of
 * browsers.
 */
export interface Element {
  tagName: string;
  textContent: string | null;
  parentElement: Element | null;
  children: Iterable<Element>;
  getAttribute(name: string): string | null;
}

/** Adds the measuring functions to the classes of a window. */
export function installTextLayout(window: {
  Element: { prototype: object };
  SVGElement: { prototype: object };
}): void {
  Object.assign(window.SVGElement.prototype, {
    getBBox(this: Element) {
      const { left, top, right, bottom } = boxOf(this) ?? NOTHING;
      return { x: left, y: top, width: right - left, height: bottom - top };
    },
    getComputedTextLength(this: Element) {
      return Math.max(0, ...linesOf(this).map((line) => textWidth(line.text, fontSize(this))));
    },
  });
  Object.assign(window.Element.prototype, {
    getBoundingClientRect(this: Element) {
      let box = moved(boxOf(this) ?? NOTHING, this);
      for (let at = this.parentElement; at !== null; at = at.parentElement) box = moved(box, at);
      const { left, top, right, bottom } = box;
      const rect = { x: left, y: top, left, top, right, bottom };
      return { ...rect, width: right - left, height: bottom - top, toJSON: () => rect };
    },
  });
}

const NOTHING: Box = { left: 0, top: 0, right: 0, bottom: 0 };

/** The box in the element's coordinates; null for an element without a size. */
function boxOf(element: Element): Box | null {
  const name = element.tagName.toLowerCase();
  if (name === "text") return textBox(element);
  if (name === "rect") {
    const left = numberOf(element, "x"), top = numberOf(element, "y");
    const right = left + numberOf(element, "width"), bottom = top + numberOf(element, "height");
    return { left, top, right, bottom };
  }
  let sum: Box | null = null;
  for (const child of element.children) {
    const box = boxOf(child);
    if (box !== null) sum = union(sum, moved(box, child));
  }
  return sum;
}

function textBox(element: Element): Box | null {
  const size = fontSize(element), { ascent, descent } = fontMetrics();
  let sum: Box | null = null;
  for (const line of linesOf(element)) {
    const width = textWidth(line.text, size);
    const left = line.x - anchorShare(element) * width;
    const base = line.y + line.dy * size;
    const box = {
      left,
      right: left + width,
      top: base - ascent * size,
      bottom: base + descent * size,
    };
    sum = union(sum, box);
  }
  return sum;
}

/** The share of a line's width that is left of its place. */
function anchorShare(element: Element): number {
  const style = element.getAttribute("style") ?? "";
  const anchor = /text-anchor:\s*(\w+)/.exec(style)?.[1] ?? element.getAttribute("text-anchor");
  return anchor === "end" ? 1 : anchor === "middle" ? 0.5 : 0;
}

/** The lines of a text; `dy` is in em. */
function linesOf(element: Element): { text: string; x: number; y: number; dy: number }[] {
  const at = (part: Element, text: string) => ({
    text,
    x: numberOf(part, "x", numberOf(element, "x")),
    y: numberOf(part, "y", numberOf(element, "y")),
    dy: numberOf(part, "dy"),
  });
  const lines = [...element.children].filter((child) => child.getAttribute("class") === "line");
  if (lines.length > 0) return lines.map((line) => at(line, line.textContent ?? ""));
  const text = element.textContent ?? "";
  return text === "" ? [] : [at(element, text)];
}

function numberOf(element: Element, attribute: string, otherwise = 0): number {
  const value = Number.parseFloat(element.getAttribute(attribute) ?? "");
  return Number.isFinite(value) ? value : otherwise;
}

/** Font size in pixels, of the element or of an element around it. */
function fontSize(element: Element): number {
  for (let at: Element | null = element; at !== null; at = at.parentElement) {
    const found = /font-size:\s*([\d.]+)px/.exec(at.getAttribute("style") ?? "");
    if (found !== null) return Number(found[1]);
  }
  return 12;
}

function union(a: Box | null, b: Box): Box {
  if (a === null) return b;
  return {
    left: Math.min(a.left, b.left),
    top: Math.min(a.top, b.top),
    right: Math.max(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
  };
}

/** The box of an element in the coordinates of the element around it. */
function moved({ left, top, right, bottom }: Box, element: Element): Box {
  let x = 0, y = 0;
  const transform = element.getAttribute("transform") ?? "";
  for (const [, list] of transform.matchAll(/translate\(([^)]*)\)/g)) {
    const [dx = 0, dy = 0] = list!.split(/[\s,]+/).filter((item) => item !== "").map(Number);
    [x, y] = [x + dx, y + dy];
  }
  return { left: left + x, top: top + y, right: right + x, bottom: bottom + y };
}
