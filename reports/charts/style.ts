/**
 * The style of all charts: the colours of design.css, sizes, and names that are wrapped and never
 * cut. Readers with any colour vision deficiency can distinguish the colours, even in greyscale:
 * neighbours differ in lightness (CIE L* 42, 61, 42, 28, 58, 54), and some also have a pattern.
 */
import design from "./design.css" with { type: "text" };
import { percentDigits } from "../../core/counted.ts";
import { FONT_FAMILY, textWidth } from "./font.ts";

export interface SeriesStyle {
  color: string;
  /** Plotly's pattern shape; "" = none. */
  pattern: "" | "/" | "x" | ".";
}

/** The light colour of a variable of design.css. */
function color(name: string): string {
  return new RegExp(`--${name}: light-dark\\((#\\w{6}),`).exec(design)![1]!;
}

const PATTERNS = ["", "", "/", "", "x", "."] as const;
const SERIES: readonly SeriesStyle[] = PATTERNS.map((pattern, i) => ({
  color: color(`series-${i + 1}`),
  pattern,
}));

/** Number of different styles; after that they repeat. */
export const DISTINCT_STYLES = SERIES.length;

export function seriesStyle(index: number): SeriesStyle {
  return SERIES[index % SERIES.length]!;
}

const DASHES = ["solid", "dash", "dot", "dashdot"] as const;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star"] as const;

/** Style of a line and its points. Colours repeat after 6 lines, colours with dashes after 24. */
export function lineStyle(index: number): { color: string; dash: string; symbol: string } {
  const shifted = index + Math.floor(index / SERIES.length);
  return {
    color: seriesStyle(index).color,
    dash: DASHES[shifted % DASHES.length]!,
    symbol: SYMBOLS[shifted % SYMBOLS.length]!,
  };
}

export const INK = color("ink");
export const FAINT_INK = color("faint");
export const GRID = color("line");
export const BAND = color("band");

/** Widths of a paper's figures, in columns. */
export type PaperColumns = 1 | 2;

/** Widths in pixels at which texts have 8 points where the figure fills one or two columns. */
export const PAPER_WIDTHS: Readonly<Record<PaperColumns, number>> = { 1: 480, 2: 960 };

/** Distance of a text's lines in font sizes, as in Plotly. */
export const LINE_SPACING = 1.3;

/** Escapes the characters of HTML, some of which Plotly interprets. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Wraps a text into lines of at most `width` pixels and about the same length. Lines break after a
 * space or one of `/ _ - . : = ,`; within a word only where the word alone is too wide.
 */
export function wrapText(text: string, size: number, width: number): string[] {
  const clean = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s\ufffe\uffff]+/gu, " ").trim();
  const pieces = (clean.match(/[^\s/_\-.:=,]*[\s/_\-.:=,]?/g) ?? []).filter((piece) => piece !== "")
    .flatMap((piece) => textWidth(piece.trimEnd(), size) <= width ? [piece] : [...piece]);
  const lines = fill(pieces, size, width);
  // Finds the smallest width with the same number of lines.
  let narrow = width;
  while (narrow > width / 2 && fill(pieces, size, narrow - size).length === lines.length) {
    narrow -= size;
  }
  const balanced = fill(pieces, size, narrow);
  return linesWidth(balanced, size) <= width ? balanced : lines;
}

/** Fills lines with as many pieces as fit. */
function fill(pieces: readonly string[], size: number, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const piece of pieces) {
    if (line !== "" && textWidth((line + piece).trimEnd(), size) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += piece;
  }
  if (line !== "" || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}

/** Wraps each name into lines of at most `width` pixels. */
export function textRows(names: readonly string[], size: number, width: number): string[][] {
  return names.map((name) => wrapText(name, size, width));
}

/** Width of the widest line, in pixels. */
export function linesWidth(lines: readonly string[], size: number): number {
  return Math.max(0, ...lines.map((line) => textWidth(line, size)));
}

/** 0.632 → "63.2 %". */
export function percent(share: number): string {
  return `${percentDigits(share)} %`;
}

/** The part of a layout that all figures have; they place everything themselves. */
export function whitePage(width: number, height: number) {
  return {
    width,
    height,
    font: { family: FONT_FAMILY, size: 14, color: INK },
    paper_bgcolor: "#ffffff",
    plot_bgcolor: "#ffffff",
    margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
  };
}

/** `width` and `height` are in screen pixels; a PNG has `PNG_SCALE` times as many. */
export interface Figure {
  data: Record<string, unknown>[];
  layout: Record<string, unknown> & { width: number; height: number };
}

/** Makes pictures sharp on a slide that fills a screen. */
export const PNG_SCALE = 2;
