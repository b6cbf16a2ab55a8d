/**
 * A chart's SVG as a PDF page of its size, with lines as lines and texts as texts in the embedded
 * font. It knows what Plotly writes for our charts: groups, rectangles, circles, paths, texts,
 * clips by rectangles, and patterns. Another element is an error, so that nothing is left out in
 * silence.
 */
import {
  anchorShare,
  type Element,
  fontSize,
  linesOf,
  type Matrix,
  numberOf,
  transformOf,
} from "../text_layout.ts";
import { textWidth } from "../font.ts";
import { number, PdfDocument } from "./document.ts";
import { EmbeddedFont } from "./embedded_font.ts";
import { type Outline, pathOutline, rectangle } from "./path.ts";

/** Points of PDF in a pixel. */
const POINTS = 0.75;

/** What an element inherits. */
interface Style {
  fill: string;
  stroke: string;
  fillOpacity: number;
  strokeOpacity: number;
  strokeWidth: number;
  dashes: string;
  /** The product of the opacities of the element and of those around it. */
  opacity: number;
}

const INITIAL: Style = {
  fill: "black",
  stroke: "none",
  fillOpacity: 1,
  strokeOpacity: 1,
  strokeWidth: 1,
  dashes: "none",
  opacity: 1,
};

/** @param svg the root element of the picture */
export function svgToPdf(svg: Element, title: string): Uint8Array<ArrayBuffer> {
  const width = numberOf(svg, "width"), height = numberOf(svg, "height");
  const pdf = new PdfDocument(), page = new Page(svg);
  page.children(svg, INITIAL);
  // In PDF, y goes up from the lower edge.
  const content = pdf.stream(
    `${[POINTS, 0, 0, -POINTS, 0, height * POINTS].map(number).join(" ")} cm\n${page.operators}`,
  );
  const states = [...page.states].map(([state, name]) => `/${name} << ${state} >>`);
  const resources = `<< /Font << /F ${page.font.write(pdf)} >> /ExtGState << ${
    states.join(" ")
  } >> >>`;
  return pdf.finish([width * POINTS, height * POINTS], content, resources, title);
}

class Page {
  operators = "";
  readonly font = new EmbeddedFont();
  /** Opacities, as entries of a graphics state, and their names. */
  readonly states = new Map<string, string>();
  readonly #named = new Map<string, Element>();

  constructor(root: Element) {
    for (const element of below(root)) {
      const id = element.getAttribute("id");
      if (id !== null) this.#named.set(id, element);
    }
  }

  children(parent: Element, style: Style): void {
    for (const child of parent.children) this.#element(child, style);
  }

  #element(element: Element, inherited: Style): void {
    const kind = element.tagName.toLowerCase();
    if (["defs", "title", "clippath", "pattern", "style"].includes(kind)) return;
    const style = styleOf(element, inherited);
    this.#saved(() => {
      this.#transform(transformOf(element));
      this.#clip(element);
      if (kind === "g" || kind === "svg") this.children(element, style);
      else if (kind === "text") this.#text(element, style);
      else if (kind === "rect") this.#shape(rectOf(element), style, "f");
      else if (kind === "circle") this.#shape(circleOf(element), style, "f");
      else if (kind === "path") {
        const isEvenOdd = valueOf(element, "fill-rule") === "evenodd";
        this.#shape(pathOutline(element.getAttribute("d") ?? ""), style, isEvenOdd ? "f*" : "f");
      } else throw new Error(`a chart has the element ${kind}, which the PDF writer does not know`);
    });
  }

  #saved(draw: () => void): void {
    const before = this.operators;
    this.operators = "";
    draw();
    this.operators = this.operators === "" ? before : `${before}q\n${this.operators}Q\n`;
  }

  #transform(matrix: Matrix): void {
    if (matrix.some((value, i) => value !== (i === 0 || i === 3 ? 1 : 0))) {
      this.operators += `${matrix.map(number).join(" ")} cm\n`;
    }
  }

  #clip(element: Element): void {
    const clip = this.#referred(valueOf(element, "clip-path"));
    if (clip === undefined) return;
    const rectangles = [...clip.children].map((part) => rectOf(part).operators);
    this.operators += `${rectangles.join("")}W n\n`;
  }

  /** The element of "url(#name)". */
  #referred(value: string | undefined): Element | undefined {
    const id = /url\(["']?#([^"')]+)["']?\)/.exec(value ?? "")?.[1];
    return id === undefined ? undefined : this.#named.get(id);
  }

  #shape(outline: Outline, style: Style, fillOperator: string): void {
    if (outline.operators === "") return;
    const pattern = this.#referred(style.fill);
    if (pattern !== undefined) this.#pattern(pattern, outline, fillOperator, style);
    const fill = pattern === undefined ? color(style.fill) : null;
    const stroke = style.strokeWidth > 0 ? color(style.stroke) : null;
    if (fill === null && stroke === null) return;
    if (fill !== null) this.operators += `${fill.rgb} rg\n`;
    if (stroke !== null) {
      this.operators += `${stroke.rgb} RG ${number(style.strokeWidth)} w\n`;
      const dashes = style.dashes.match(/[\d.]+/g) ?? [];
      if (dashes.length > 0) this.operators += `[${dashes.join(" ")}] 0 d\n`;
    }
    this.#opacity(
      (fill?.alpha ?? 1) * style.fillOpacity * style.opacity,
      (stroke?.alpha ?? 1) * style.strokeOpacity * style.opacity,
    );
    const isEvenOdd = fillOperator === "f*";
    const paint = stroke === null ? fillOperator : fill === null ? "S" : isEvenOdd ? "B*" : "B";
    this.operators += `${outline.operators}${paint}\n`;
  }

  #opacity(fill: number, stroke: number): void {
    if (fill === 1 && stroke === 1) return;
    const state = `/ca ${number(fill)} /CA ${number(stroke)}`;
    if (!this.states.has(state)) this.states.set(state, `G${this.states.size}`);
    this.operators += `/${this.states.get(state)} gs\n`;
  }

  /** Draws the tiles of a pattern inside an outline. */
  #pattern(pattern: Element, outline: Outline, fillOperator: string, style: Style): void {
    const width = numberOf(pattern, "width"), height = numberOf(pattern, "height");
    const [left, top, right, bottom] = outline.box;
    const inner = { ...INITIAL, opacity: style.opacity * style.fillOpacity };
    this.#saved(() => {
      this.operators += `${outline.operators}${fillOperator === "f*" ? "W*" : "W"} n\n`;
      for (let x = Math.floor(left / width) * width; x < right; x += width) {
        for (let y = Math.floor(top / height) * height; y < bottom; y += height) {
          this.#saved(() => {
            this.#transform([1, 0, 0, 1, x, y]);
            this.operators += `${rectangle(0, 0, width, height).operators}W n\n`;
            this.children(pattern, inner);
          });
        }
      }
    });
  }

  #text(element: Element, style: Style): void {
    const fill = color(style.fill), size = fontSize(element);
    if (fill === null) return;
    this.#opacity(fill.alpha * style.fillOpacity * style.opacity, 1);
    this.operators += `${fill.rgb} rg\nBT\n/F ${number(size)} Tf\n`;
    for (const { text, x, y, dy } of linesOf(element)) {
      const left = x - anchorShare(element) * textWidth(text, size), base = y + dy * size;
      const place = [1, 0, 0, -1, left, base].map(number).join(" ");
      this.operators += `${place} Tm ${this.font.encode(text)} Tj\n`;
    }
    this.operators += "ET\n";
  }
}

function* below(element: Element): Generator<Element> {
  for (const child of element.children) {
    yield child;
    yield* below(child);
  }
}

function circleOf(element: Element): Outline {
  const x = numberOf(element, "cx"), y = numberOf(element, "cy"), r = numberOf(element, "r");
  const half = (sign: number) => `a${r},${r} 0 1,1 ${sign * 2 * r},0`;
  return pathOutline(`M${x - r},${y}${half(1)}${half(-1)}Z`);
}

function rectOf(element: Element): Outline {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) =>
    numberOf(element, name)
  ) as [number, number, number, number];
  return rectangle(x, y, width, height);
}

/** A property of the style, or the attribute of that name. */
function valueOf(element: Element, name: string): string | undefined {
  const style = element.getAttribute("style") ?? "";
  const found = new RegExp(`(?:^|[;\\s])${name}:\\s*([^;]+)`).exec(style)?.[1]?.trim();
  return found ?? element.getAttribute(name) ?? undefined;
}

function styleOf(element: Element, inherited: Style): Style {
  const amount = (name: string, otherwise: number) => {
    const value = Number.parseFloat(valueOf(element, name) ?? "");
    return Number.isFinite(value) ? value : otherwise;
  };
  return {
    fill: valueOf(element, "fill") ?? inherited.fill,
    stroke: valueOf(element, "stroke") ?? inherited.stroke,
    fillOpacity: amount("fill-opacity", inherited.fillOpacity),
    strokeOpacity: amount("stroke-opacity", inherited.strokeOpacity),
    strokeWidth: amount("stroke-width", inherited.strokeWidth),
    dashes: valueOf(element, "stroke-dasharray") ?? inherited.dashes,
    opacity: inherited.opacity * amount("opacity", 1),
  };
}

/** A colour as operands of PDF; null for none. */
function color(text: string): { rgb: string; alpha: number } | null {
  if (text === "none" || text === "transparent") return null;
  const hex = /^#([0-9a-f]{6})$/i.exec(text)?.[1];
  const listed = /^rgba?\(([^)]+)\)$/.exec(text)?.[1]?.split(/[\s,/]+/).filter(Boolean).map(Number);
  const values = hex !== undefined
    ? [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
    : listed ?? NAMES[text];
  if (values === undefined) throw new Error(`a chart has the colour ${text}`);
  const [r, g, b, alpha = 1] = values as [number, number, number, number?];
  return alpha === 0 ? null : { rgb: [r, g, b].map((v) => number(v / 255)).join(" "), alpha };
}

const NAMES: Readonly<Record<string, number[]>> = { black: [0, 0, 0], white: [255, 255, 255] };
