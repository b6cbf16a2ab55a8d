/**
 * The files of the page: its HTML, styles and scripts, all embedded in the executable. The scripts
 * are written in TypeScript (`client/`); their types are removed when they are first asked for.
 */
import litScript from "lit-html" with { type: "text" };
import uplotStyle from "uplot/dist/uPlot.min.css" with { type: "text" };
import uplotScript from "uplot/dist/uPlot.esm.js" with { type: "text" };
import bytes from "../../core/bytes.ts" with { type: "text" };
import counted from "../../core/counted.ts" with { type: "text" };
import duration from "../../core/duration.ts" with { type: "text" };
import design from "../charts/design.css" with { type: "text" };
import metricTable from "../charts/metric_table.ts" with { type: "text" };
import app from "./client/app.ts" with { type: "text" };
import benchmarksView from "./client/benchmarks_view.ts" with { type: "text" };
import chart from "./client/chart.ts" with { type: "text" };
import compareView from "./client/compare_view.ts" with { type: "text" };
import completionsView from "./client/completions_view.ts" with { type: "text" };
import curvesView from "./client/curves_view.ts" with { type: "text" };
import dom from "./client/dom.ts" with { type: "text" };
import page from "./client/index.html" with { type: "text" };
import launchView from "./client/launch_view.ts" with { type: "text" };
import metricCharts from "./client/metric_charts.ts" with { type: "text" };
import runView from "./client/run_view.ts" with { type: "text" };
import runsView from "./client/runs_view.ts" with { type: "text" };
import style from "./client/style.css" with { type: "text" };
import text from "./client/text.ts" with { type: "text" };

/** Scripts of the page, and modules of the program that they share. */
const SCRIPTS: Readonly<Record<string, string>> = {
  "app.ts": app,
  "benchmarks_view.ts": benchmarksView,
  "bytes.ts": bytes,
  "chart.ts": chart,
  "compare_view.ts": compareView,
  "completions_view.ts": completionsView,
  "counted.ts": counted,
  "curves_view.ts": curvesView,
  "dom.ts": dom,
  "duration.ts": duration,
  "launch_view.ts": launchView,
  "metric_charts.ts": metricCharts,
  "metric_table.ts": metricTable,
  "run_view.ts": runView,
  "runs_view.ts": runsView,
  "text.ts": text,
};

/** Libraries from npm, which the scripts import by the name without `.js`. */
const LIBRARIES: Readonly<Record<string, string>> = {
  "lit-html.js": litScript,
  "uplot.js": uplotScript,
};

/** The page; it names all scripts, so that a browser asks for them at once. */
export const PAGE: string = page.replace(
  "</head>",
  [...Object.keys(LIBRARIES), ...Object.keys(SCRIPTS)].map((name) =>
    `<link rel="modulepreload" href="app/${name}">\n`
  ).join("") + "</head>",
);

export interface PageFile {
  type: string;
  body: string;
}

const made = new Map<string, PageFile>();

/** A script or a style of the page; null when there is none of this name. */
export async function pageFile(name: string): Promise<PageFile | null> {
  let file = made.get(name) ?? null;
  if (file === null) {
    file = await make(name);
    if (file !== null) made.set(name, file);
  }
  return file;
}

/** Makes all files, so that the first page opens as fast as the others. */
export async function preparePage(): Promise<void> {
  for (const name of Object.keys(SCRIPTS)) await pageFile(name);
}

async function make(name: string): Promise<PageFile | null> {
  if (name === "style.css") return { type: "text/css", body: `${uplotStyle}\n${design}\n${style}` };
  if (Object.hasOwn(LIBRARIES, name)) return { type: "text/javascript", body: LIBRARIES[name]! };
  if (!Object.hasOwn(SCRIPTS, name)) return null;
  const { transform } = await import("sucrase");
  const { code } = transform(SCRIPTS[name]!, {
    transforms: ["typescript"],
    disableESTransforms: true,
  });
  const body = code.replaceAll(/ from "(uplot|lit-html)"/g, ` from "./$1.js"`)
    .replaceAll(/ from "\.\.\/[^"]*\/(\w+\.ts)"/g, ` from "./$1"`);
  return { type: "text/javascript", body };
}
