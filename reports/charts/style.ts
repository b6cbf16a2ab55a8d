/**
 * What all charts look like: colours, sizes, and names that are wrapped and never cut. The colours are told apart by
 * readers with any of the colour vision deficiencies, and without any colour: neighbours differ in lightness (CIE L*
 * 42, 77, 57, 91, 59, 68), and the later ones carry a pattern besides.
 */
import { textWidth } from "./font.ts";

export interface SeriesStyle {
  color: string;
  /** Plotly's pattern shape; "" is none. */
  pattern: "" | "/" | "x" | ".";
}

const SERIES: readonly SeriesStyle[] = [
  { color: "#2166ac", pattern: "" },
  { color: "#f5b335", pattern: "" },
  { color: "#d6604d", pattern: "/" },
  { color: "#dfe6ec", pattern: "" },
  { color: "#1b9e77", pattern: "x" },
  { color: "#b58fc4", pattern: "." },
];

/** Styles that are told apart without names beside them; from there on they repeat. */
export const DISTINCT_STYLES = SERIES.length;

export function seriesStyle(index: number): SeriesStyle {
  return SERIES[index % SERIES.length]!;
}

const DASHES = ["solid", "dash", "dot", "dashdot"] as const;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star"] as const;

/** Of lines and their points; colours repeat after six, colours and dashes together after 24. */
export function lineStyle(index: number): { color: string; dash: string; symbol: string } {
  const shifted = index + Math.floor(index / SERIES.length), { color } = seriesStyle(index);
  return {
    color: LINE_COLORS[color] ?? color,
    dash: DASHES[shifted % DASHES.length]!,
    symbol: SYMBOLS[shifted % SYMBOLS.length]!,
  };
}

/** A line needs more contrast to white than an area does. */
const LINE_COLORS: Readonly<Record<string, string>> = {
  "#dfe6ec": "#5b6670",
  "#f5b335": "#c98500",
};

export const INK = "#1c2126";
export const FAINT_INK = "#59636d";
export const GRID = "#dde2e6";
export const BAND = "#f1f4f6";

/** Lines of a text are this many font sizes apart (Plotly's own spacing). */
export const LINE_SPACING = 1.3;

/** A text as Plotly must get it, which reads some HTML: characters that mean something are spelled out. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Lines of at most `width` pixels, about equally long: broken after a space or one of `/ _ - . : = ,`, and within a
 * word only where the word alone is too wide.
 */
export function wrapText(text: string, size: number, width: number): string[] {
  const clean = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s\ufffe\uffff]+/gu, " ").trim();
  const pieces = (clean.match(/[^\s/_\-.:=,]*[\s/_\-.:=,]?/g) ?? []).filter((piece) => piece !== "")
    .flatMap((piece) => textWidth(piece.trimEnd(), size) <= width ? [piece] : [...piece]);
  const lines = fill(pieces, size, width);
  // The narrowest width that needs no more lines.
  let narrow = width;
  while (narrow > width / 2 && fill(pieces, size, narrow - size).length === lines.length) {
    narrow -= size;
  }
  const balanced = fill(pieces, size, narrow);
  return linesWidth(balanced, size) <= width ? balanced : lines;
}

/** Puts pieces into lines, each taking as many as it holds. */
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

/** Each name as lines of at most `width` pixels. */
export function textRows(names: readonly string[], size: number, width: number): string[][] {
  return names.map((name) => wrapText(name, size, width));
}

/** Width of the widest line in pixels. */
export function linesWidth(lines: readonly string[], size: number): number {
  return Math.max(0, ...lines.map((line) => textWidth(line, size)));
}

/** 0.632 → "63.2 %". */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
