/**
 * Renders Plotly figures without a browser. Plotly draws the SVG in a jsdom document that measures
 * texts with the embedded font; resvg renders the pixels and pdfkit a page with the same font. This
 * file is loaded only when a chart is drawn, since the packages are large. The document is kept for
 * the next figure.
 */
import { Buffer } from "node:buffer";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import resvgWasm from "@resvg/resvg-wasm/index_bg.wasm" with { type: "bytes" };
import { JSDOM } from "jsdom";
import PDFDocument from "pdfkit";
import plotlySource from "plotly.js-basic-dist-min" with { type: "text" };
import svgToPdf from "svg-to-pdfkit";
import { type Figure, PNG_SCALE } from "./style.ts";
import { FONT_FAMILY, fontTtf, withBoxes } from "./font.ts";
import { installTextLayout } from "./text_layout.ts";

/** The part of Plotly that is used. */
interface Plotly {
  toImage(figure: unknown, options: Record<string, unknown>): Promise<string>;
}

interface Loaded {
  plotly: Plotly;
  /** Restarts the names of the picture's parts, so that a figure always gives the same bytes. */
  restartNames(): void;
}

let loaded: Loaded | undefined;

function load(): Loaded {
  if (loaded !== undefined) return loaded;
  const { window } = new JSDOM("<!doctype html><body></body>", { runScripts: "outside-only" });
  // Functions that Plotly calls and jsdom lacks. Nothing is animated, so frames come at once.
  window.URL.createObjectURL = () => "";
  window.HTMLCanvasElement.prototype.getContext = () => null;
  window.requestAnimationFrame = (callback: (time: number) => void) => {
    queueMicrotask(() => callback(0));
    return 0;
  };
  window.cancelAnimationFrame = () => {};
  // Plotly resolves the entities of the finished SVG once more. That would turn the text "&lt;"
  // into "<", and "a&b;" into invalid XML.
  const { serializeToString } = window.XMLSerializer.prototype;
  window.XMLSerializer.prototype.serializeToString = function (this: unknown, node: unknown) {
    return serializeToString.call(this, node).replaceAll("&amp;", "&amp;amp;");
  };
  installTextLayout(window);
  window.eval(plotlySource);
  let state = 1;
  window.Math.random = () => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
  return loaded = {
    plotly: window.Plotly,
    restartNames: () => state = 1,
  };
}

/** The figure as SVG, with texts as text elements. */
export async function renderSvg({ data, layout }: Figure): Promise<string> {
  const { plotly, restartNames } = load();
  restartNames();
  const { width, height } = layout;
  // Plotly changes its input: a figure that was drawn before would be drawn twice.
  const figure = { data: structuredClone(data), layout: structuredClone(layout) };
  return await plotly.toImage(
    { ...figure, config: { staticPlot: true } },
    { format: "svg", width, height, imageDataOnly: true },
  );
}

/** Points of PDF in a pixel. */
const POINTS = 0.75;

/** The figure as a PDF page of its size, with texts as texts in the embedded font. */
export async function renderPdf(figure: Figure, title: string): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height } = figure.layout, font = Buffer.from(fontTtf());
  const page = new PDFDocument({
    size: [width * POINTS, height * POINTS],
    margin: 0,
    pdfVersion: "1.7",
    font,
    // A figure always gives the same bytes.
    info: { Title: title, CreationDate: new Date(0) },
  });
  page.registerFont(FONT_FAMILY, font);
  svgToPdf(page, withoutSeams(withBoxes(await renderSvg(figure))), 0, 0, {
    fontCallback: () => FONT_FAMILY,
    warningCallback: (warning: string) => {
      throw new Error(`a chart has what the PDF writer does not know: ${warning}`);
    },
  });
  page.end();
  return new Uint8Array(Buffer.concat(await Array.fromAsync(page)));
}

/**
 * Programs that show PDF files draw a thin line between the tiles of a pattern. The background of
 * the tiles is therefore drawn before, as one area.
 */
function withoutSeams(svg: string): string {
  const backgrounds = new Map<string, string>();
  return svg
    .replaceAll(
      /(<pattern id="([^"]+)"[^>]*>)<rect [^>]*fill="([^"]+)"[^>]*\/>/g,
      (_, ...found) => {
        const [begin, id, color] = found as [string, string, string];
        backgrounds.set(id, color);
        return begin;
      },
    )
    .replaceAll(/<path [^>]*fill: url\(#([^)]+)\)[^>]*>/g, (path, id: string) => {
      const color = backgrounds.get(id);
      return color === undefined ? path : path.replace(`url(#${id})`, color) + path;
    });
}

let ready: Promise<unknown> | undefined;

/** Maximum width and height of a PNG, and maximum number of pixels, for common viewers. */
const MAX_SIDE = 32_000, MAX_PIXELS = 200e6;

/** The figure as PNG on white, with PNG_SCALE times its layout's size unless that is too large. */
export async function renderPng(figure: Figure): Promise<Uint8Array<ArrayBuffer>> {
  const svg = withBoxes(await renderSvg(figure));
  const { width, height } = figure.layout;
  const value = Math.min(
    PNG_SCALE,
    MAX_SIDE / Math.max(width, height),
    Math.sqrt(MAX_PIXELS / (width * height)),
  );
  await (ready ??= initWasm(resvgWasm));
  const family = FONT_FAMILY.split(",")[0]!;
  const resvg = new Resvg(svg, {
    font: { fontBuffers: [fontTtf()], defaultFontFamily: family, sansSerifFamily: family },
    background: "white",
    fitTo: { mode: "zoom", value },
  });
  const image = resvg.render();
  try {
    return new Uint8Array(image.asPng());
  } finally {
    image.free();
    resvg.free();
  }
}
