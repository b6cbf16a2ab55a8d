/** A run's report as Markdown that is also readable as plain text. */
import type { RunRecord, Table } from "./run_record.ts";
import { reportSections, short } from "./sections.ts";

export function reportMarkdown(record: RunRecord): string {
  const sections = reportSections(record);
  const { title, verdict, facts, evaluation, warmStart, course, remarks } = sections;
  const { answers, cost, phases, samples, words } = sections;
  const parts = [`# ${inline(title)}`, verdict, markdownTable(facts)];
  if (evaluation !== null) parts.push("## Before and after", markdownTable(evaluation));
  if (warmStart !== null) parts.push("## Warm start", markdownTable(warmStart));
  if (course !== null) parts.push("## Course", markdownTable(course));
  if (warmStart !== null || course !== null) parts.push("The curves are in report.html.");
  if (answers !== null) parts.push(`## ${answers.title}`, markdownTable(answers.table));
  if (remarks.length > 0) {
    parts.push(
      "## What was noticed",
      remarks.map(({ step, text, tries }) =>
        `- ${step === null ? "" : `Step ${step}: `}${inline(text)}` +
        (tries.length > 0 ? ` Try: ${tries.map((key) => `\`${key}\``).join(", ")}.` : "")
      ).join("\n"),
    );
  }
  parts.push("## Cost", markdownTable(cost), ...(phases === null ? [] : [markdownTable(phases)]));
  for (const { step, prompt, expected, completions } of samples) {
    parts.push(`## A group of step ${step}`, "Prompt:", fenced(prompt));
    if (expected !== null) parts.push("Expected answer:", fenced(expected));
    for (const { text, rewards, advantage } of completions) {
      const given = Object.entries(rewards).map(([name, value]) =>
        `${name} ${value === null ? "–" : short(value)}`
      );
      parts.push([...given, `advantage ${short(advantage)}`].join(" · ") + ":", fenced(text));
    }
  }
  parts.push("## Words", markdownTable(words));
  if (record.configText !== "") {
    parts.push("## Settings", fenced(record.configText.trimEnd(), "yaml"));
  }
  return parts.join("\n\n") + "\n";
}

/** A table with padded cells, so that it is readable without a renderer. */
export function markdownTable({ rows }: Table): string {
  const cells = rows.map((row) => row.map((cell) => inline(cell).replaceAll("|", "\\|")));
  const widths = cells[0]!.map((_, c) => Math.max(3, ...cells.map((row) => [...row[c]!].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, c) => pad(cell, widths[c]!, c > 0 && row.length > 2)).join(" | ")} |`;
  const rule = widths.map((width, c) =>
    c > 0 && widths.length > 2 ? `${"-".repeat(width - 1)}:` : "-".repeat(width)
  );
  const [head, ...body] = cells;
  return [line(head!), `| ${rule.join(" | ")} |`, ...body.map(line)].join("\n");
}

function pad(text: string, width: number, right: boolean): string {
  const space = " ".repeat(width - [...text].length);
  return right ? space + text : text + space;
}

/** The text on one line; leading spaces become a dash, since rendering removes spaces. */
function inline(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ").replace(/^ {2}/, "– ");
}

/** A code block whose fence is longer than any in the text. */
export function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
