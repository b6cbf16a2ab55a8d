/** Writes `report.md` and `report.html` into the folder of a run, from the files in that folder. */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { reportMarkdown } from "./markdown.ts";
import { readRunRecord, type RunRecord, type Table } from "./run_record.ts";
import { chooseMetrics, curvesFigure } from "../charts/curves.ts";
import { FONT_FAMILY } from "../charts/font.ts";
import { drawScript, fontFace, plotlyScript } from "../charts/html.ts";
import design from "../charts/design.css" with { type: "text" };
import { escapeText } from "../charts/style.ts";
import { reportSections, short } from "./sections.ts";

/** Paths of a report. */
export interface Report {
  /** Path of `report.md`. */
  markdown: string;
  /** Path of `report.html`. */
  html: string;
}

/**
 * Writes the report of a run; an earlier report is replaced.
 * @returns the paths
 * @throws UsageError when the folder holds no metrics of a run, RgxError when they are damaged
 */
export async function writeReport(folder: string): Promise<Report> {
  const plain = folder.replace(/(?<=.)\/+$/, ""), record = await readRunRecord(plain);
  const paths = { markdown: `${plain}/report.md`, html: `${plain}/report.html` };
  await writeFileAtomic(paths.markdown, reportMarkdown(record));
  await writeFileAtomic(paths.html, reportHtml(record));
  return paths;
}

// A run's report as a single HTML page without other files; its curves are interactive.

export function reportHtml(record: RunRecord): string {
  const sections = reportSections(record);
  const { title, verdict, facts, evaluation, warmStart, course, answers } = sections;
  const { remarks, cost, phases, samples, words } = sections;
  const figure = (width?: number) =>
    curvesFigure([record.metrics], shownMetrics(record), "Curves", width);
  const chart = record.metrics.series.size === 0 ? null : figure();
  const body = [
    `<h1>${text(title)}</h1>`,
    `<p class="verdict">${text(verdict)}</p>`,
    ...(evaluation === null ? [] : ["<h2>Before and after</h2>", table(evaluation)]),
    ...(chart === null ? [] : [`<div class="chart"><div id="curves"></div></div>`]),
    ...(warmStart === null ? [] : ["<h2>Warm start</h2>", table(warmStart)]),
    ...(course === null ? [] : ["<h2>Course</h2>", table(course)]),
    ...(answers === null ? [] : [`<h2>${text(answers.title)}</h2>`, table(answers.table)]),
    ...(remarks.length === 0 ? [] : ["<h2>What was noticed</h2>", remarkList(remarks)]),
    ...(samples.length === 0 ? [] : ["<h2>Samples</h2>", ...samples.map(sample)]),
    `<div class="beside"><div><h2>The run</h2>${table(facts)}</div>`,
    `<div><h2>Cost</h2>${table(cost)}${
      phases === null ? "" : `<h2>By phase</h2>${table(phases)}`
    }</div></div>`,
    `<h2>Words</h2>${table(words)}`,
    record.configText === ""
      ? ""
      : `<details><summary>Settings (config.yaml)</summary><pre>${
        text(record.configText)
      }</pre></details>`,
  ].join("\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>
${fontFace()}
${STYLE}
</style>
</head>
<body>
<main>
${body}
</main>
${
    chart === null
      ? ""
      : `${plotlyScript()}\n${
        drawScript(chart, "curves", title, NARROWER.map((w) => figure(w).layout))
      }`
  }
</body>
</html>
`;
}

/** Widths of the curves in windows that are too narrow for the figure, in pixels. */
const NARROWER = [900, 720, 390];
/** Maximum number of rewards with a curve. */
const MAX_REWARDS = 6;

const STYLE = `
${design}
body { margin: 0; background: var(--back); color: var(--ink); \
font: var(--text-3)/1.5 ${FONT_FAMILY}; }
main { max-width: 1120px; margin: 0 auto; padding: var(--space-5); }
h1 { margin: 0 0 var(--space-2); overflow-wrap: anywhere; }
h2 { margin: var(--space-6) 0 var(--space-2); font-size: var(--text-4); }
.verdict { font-size: var(--text-4); margin: 0 0 var(--space-4); }
.chart, .wide { overflow-x: auto; }
.chart { margin: var(--space-5) calc(-1 * var(--space-5)) 0; }
.beside { display: flex; flex-wrap: wrap; gap: 0 48px; }
.beside > div { min-width: 0; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px var(--space-3); text-align: left; white-space: nowrap; \
border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
.number { text-align: right; }
.facts td { vertical-align: top; }
.facts td:nth-child(2) { white-space: normal; overflow-wrap: anywhere; }
.part { padding-left: var(--space-4); }
pre { background: var(--band); padding: var(--space-2) var(--space-3); \
margin: var(--space-1) 0 var(--space-3); white-space: pre-wrap; overflow-wrap: anywhere; \
font: var(--text-2)/1.4 ui-monospace, monospace; }
.given { color: var(--faint); font-size: var(--text-2); }
code { background: var(--band); padding: 1px var(--space-1); \
font: var(--text-2) ui-monospace, monospace; }
summary { cursor: pointer; margin-top: var(--space-6); }
@media (max-width: 600px) {
  .facts td { white-space: normal; min-width: 90px; }
}
/* The figure is drawn for white paper; its colours keep their hues on a dark page. */
@media (prefers-color-scheme: dark) {
  .chart { filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen; }
}
`.trim();

/** The usual metrics; if there are several rewards, also each of them. */
function shownMetrics({ metrics }: RunRecord): string[] {
  const rewards = [...metrics.series.keys()].filter((name) => /^rewards\/.+\/mean$/.test(name));
  const [first, ...others] = chooseMetrics([metrics], undefined);
  const supervised = metrics.series.has("sft/loss") ? ["sft/loss"] : [];
  const parts = rewards.length > 1 ? rewards.slice(0, MAX_REWARDS) : [];
  return [...new Set([first!, ...parts, ...others, ...supervised])];
}

const text = escapeText;

/** Columns of numbers are aligned to the right, texts to the left. */
function table({ rows }: Table): string {
  const [head, ...body] = rows, isFacts = head!.length === 2;
  const isNumber = head!.map((_, c) =>
    c > 0 && body.every((row) => /^[-+−–\d.e% ]*( [kMG]?B| s| min.*)?$/.test(row[c]!))
  );
  const cells = (row: readonly string[], tag: string) =>
    row.map((cell, c) =>
      `<${tag}${isNumber[c] ? ' class="number"' : ""}>${
        cell.startsWith("  ") ? part(cell) : text(cell)
      }</${tag}>`
    ).join("");
  const heading = isFacts ? "" : `<tr>${cells(head!, "th")}</tr>`;
  const lines = body.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
  const kind = isFacts ? ' class="facts"' : "";
  return `<div class="wide" tabindex="0"><table${kind}>${heading}\n${lines}</table></div>`;
}

function part(cell: string): string {
  return `<span class="part">${text(cell.trim())}</span>`;
}

function remarkList(remarks: RunRecord["remarks"]): string {
  const items = remarks.map(({ step, text: said, tries }) => {
    const keys = tries.map((key) => `<code>${text(key)}</code>`).join(" ");
    return `<li>${step === null ? "" : `Step ${step}: `}${text(said)}${
      keys && ` Try: ${keys}`
    }</li>`;
  });
  return `<ul>${items.join("\n")}</ul>`;
}

function sample({ step, prompt, expected, completions }: RunRecord["samples"][number]): string {
  const answers = completions.map(({ text: said, rewards, advantage }) => {
    const given = Object.entries(rewards).map(([name, value]) =>
      `${text(name)} ${value === null ? "–" : short(value)}`
    );
    return `<div class="given">${[...given, `advantage ${short(advantage)}`].join(" · ")}</div>` +
      `<pre>${text(said)}</pre>`;
  });
  return `<details${step <= 1 ? "" : " open"}><summary>A group of step ${step}</summary>` +
    `<div class="given">prompt</div><pre>${text(prompt)}</pre>${
      expected === null
        ? ""
        : `<div class="given">expected answer</div><pre>${text(expected)}</pre>`
    }${answers.join("\n")}</details>`;
}
