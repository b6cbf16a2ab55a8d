/**
 * Pictures of Plotly figures without a browser: Plotly itself draws the SVG in a document of jsdom that measures texts
 * with the embedded font, and resvg makes the pixels with that same font. Loaded only when a chart is drawn: the
 * packages are large. The document is kept for the next figure.
 */
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import resvgWasm from "@resvg/resvg-wasm/index_bg.wasm" with { type: "bytes" };
import { JSDOM } from "jsdom";
import plotlySource from "plotly.js-basic-dist-min" with { type: "text" };
import { type Figure, PNG_SCALE } from "./figure.ts";
import { FONT_FAMILY, fontTtf, withBoxes } from "./font.ts";
import { installTextLayout } from "./text_layout.ts";

/** What is used of Plotly. */
interface Plotly {
  toImage(figure: unknown, options: Record<string, unknown>): Promise<string>;
}

interface Loaded {
  plotly: Plotly;
  /** Begins the names that Plotly draws for parts of a picture anew, so that a figure gives the same bytes each time. */
  restartNames(): void;
}

let loaded: Loaded | undefined;

function load(): Loaded {
  if (loaded !== undefined) return loaded;
  const { window } = new JSDOM("<!doctype html><body></body>", { runScripts: "outside-only" });
  // What Plotly calls and jsdom does not have. Nothing is animated, so a frame is there at once.
  window.URL.createObjectURL = () => "";
  window.HTMLCanvasElement.prototype.getContext = () => null;
  window.requestAnimationFrame = (callback: (time: number) => void) => {
    queueMicrotask(() => callback(0));
    return 0;
  };
  window.cancelAnimationFrame = () => {};
  // Plotly resolves the entities of the finished SVG once, which turned a text "&lt;" into "<" and "a&b;" into no XML.
  const { serializeToString } = window.XMLSerializer.prototype;
  window.XMLSerializer.prototype.serializeToString = function (this: XMLSerializer, node: Node) {
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

/** The figure as SVG; its texts are texts. */
export async function renderSvg({ data, layout }: Figure): Promise<string> {
  const { plotly, restartNames } = load();
  restartNames();
  const { width, height } = layout;
  // Plotly writes into what it is given. A figure that stood in the document already would be drawn twice.
  const figure = { data: structuredClone(data), layout: structuredClone(layout) };
  return await plotly.toImage(
    { ...figure, config: { staticPlot: true } },
    { format: "svg", width, height, imageDataOnly: true },
  );
}

let ready: Promise<unknown> | undefined;

/** Pixels of a PNG each way, and in all: more than that, common viewers refuse. */
const MOST_PIXELS_A_SIDE = 32_000, MOST_PIXELS = 200e6;

/** The figure as PNG on white, twice as large as its layout where that is not too large. */
export async function renderPng(figure: Figure): Promise<Uint8Array<ArrayBuffer>> {
  const svg = withBoxes(await renderSvg(figure));
  const { width, height } = figure.layout;
  const value = Math.min(
    PNG_SCALE,
    MOST_PIXELS_A_SIDE / Math.max(width, height),
    Math.sqrt(MOST_PIXELS / (width * height)),
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
