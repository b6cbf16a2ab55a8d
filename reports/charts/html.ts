/**
 * A figure as a single HTML file that contains Plotly, the font and the numbers. Bars and points
 * show details under the pointer.
 */
import plotlySource from "plotly.js-basic-dist-min" with { type: "text" };
import { escapeText, type Figure, PNG_SCALE } from "./style.ts";
import { FONT_FAMILY, fontWoff } from "./font.ts";

const FAMILY = FONT_FAMILY.split(",")[0]!;

export function renderHtml(figure: Figure, title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escapeText(title)}</title>
<style>
${fontFace()}
body { margin: 0; background: #ffffff; }
</style>
</head>
<body>
<div id="chart"></div>
${plotlyScript()}
${drawScript(figure, "chart", title)}
</body>
</html>
`;
}

/** The CSS rule with the charts' font. */
export function fontFace(): string {
  return `@font-face {
  font-family: "${FAMILY}";
  src: url(data:font/woff;base64,${fontWoff().toBase64()}) format("woff");
}`;
}

/** The script element with Plotly. */
export function plotlyScript(): string {
  return `<script>${plotlySource.replaceAll("</script", "<\\/script")}</script>`;
}

/**
 * A script that draws a figure into the element with this id, when the font is loaded.
 * @param narrower layouts of the same data for windows that are too narrow for the figure, the
 *   widest first; the last is taken where none fits
 */
export function drawScript(
  { data, layout }: Figure,
  id: string,
  title: string,
  narrower: readonly Figure["layout"][] = [],
): string {
  // A text that looks like the end of the script must not end it.
  const json = (value: unknown) => JSON.stringify(value).replaceAll("<", "\\u003c");
  const config = {
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { scale: PNG_SCALE, filename: title.replaceAll(/[^\w.-]+/g, "_") },
  };
  const layouts = [layout, ...narrower];
  const chosen = layouts.slice(0, -1)
    .map((one) => `innerWidth >= ${one.width} ? ${json(one)} : `)
    .join("") + json(layouts.at(-1));
  return `<script>
document.fonts.load('14px "${FAMILY}"').then(() =>
  Plotly.newPlot("${id}", ${json(data)}, ${chosen}, ${json(config)})
);
</script>`;
}
