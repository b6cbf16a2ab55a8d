/**
 * Sizes of SVG elements without a browser. Plotly calls `getBBox`, `getComputedTextLength` and
 * `getBoundingClientRect` to make room for its texts. Texts are measured in the embedded font, with
 * their lines (`tspan.line`), anchors and transforms. Left out: shapes other than rectangles, since
 * Plotly computes their places itself.
 */
import { fontMetrics, textWidth } from "./font.ts";

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** a c e / b d f: x' = a·x + c·y + e, y' = b·x + d·y + f. */
type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

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
      const { left, top, right, bottom } = transformed(boxOf(this) ?? NOTHING, toScreen(this));
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
    if (box !== null) sum = union(sum, transformed(box, transformOf(child)));
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

function transformed({ left, top, right, bottom }: Box, [a, b, c, d, e, f]: Matrix): Box {
  const corners = [[left, top], [right, top], [left, bottom], [right, bottom]] as const;
  const x = corners.map(([u, v]) => a * u + c * v + e);
  const y = corners.map(([u, v]) => b * u + d * v + f);
  return {
    left: Math.min(...x),
    top: Math.min(...y),
    right: Math.max(...x),
    bottom: Math.max(...y),
  };
}

/** The transform from an element's coordinates to those of the picture. */
function toScreen(element: Element): Matrix {
  let matrix = IDENTITY;
  for (let at: Element | null = element; at !== null; at = at.parentElement) {
    matrix = times(transformOf(at), matrix);
  }
  return matrix;
}

function transformOf(element: Element): Matrix {
  const text = element.getAttribute("transform");
  if (text === null) return IDENTITY;
  let matrix = IDENTITY;
  for (const [, name, list] of text.matchAll(/(\w+)\(([^)]*)\)/g)) {
    const v = list!.split(/[\s,]+/).filter((item) => item !== "").map(Number);
    if (name === "translate") matrix = times(matrix, [1, 0, 0, 1, v[0] ?? 0, v[1] ?? 0]);
    else if (name === "scale") matrix = times(matrix, [v[0] ?? 1, 0, 0, v[1] ?? v[0] ?? 1, 0, 0]);
    else if (name === "rotate") {
      const cos = Math.cos((v[0] ?? 0) * Math.PI / 180),
        sin = Math.sin((v[0] ?? 0) * Math.PI / 180);
      const x = v[1] ?? 0, y = v[2] ?? 0;
      matrix = times(matrix, [1, 0, 0, 1, x, y]);
      matrix = times(matrix, [cos, sin, -sin, cos, 0, 0]);
      matrix = times(matrix, [1, 0, 0, 1, -x, -y]);
    }
  }
  return matrix;
}

function times(m: Matrix, n: Matrix): Matrix {
  return [
    m[0] * n[0] + m[2] * n[1],
    m[1] * n[0] + m[3] * n[1],
    m[0] * n[2] + m[2] * n[3],
    m[1] * n[2] + m[3] * n[3],
    m[0] * n[4] + m[2] * n[5] + m[4],
    m[1] * n[4] + m[3] * n[5] + m[5],
  ];
}
