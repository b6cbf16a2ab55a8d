/** The completions of a run by step and prompt, filtered and searched. */
import { html, nothing, render } from "lit-html";
import type { CompletionPage } from "../reading/completions.ts";
import type { RunDetails } from "../reading/run_state.ts";
import { completionTable } from "./completion_table.ts";
import {
  debounced,
  Fields,
  PagedRows,
  type PageState,
  type Part,
  problemBox,
  type View,
} from "./dom.ts";
import { ask } from "./server.ts";

const FILTERS = ["from", "to", "prompt", "text", "answer", "advantage", "reward", "min", "max"];
const ANSWERS = [["", "any"], ["found", "found"], ["none", "not found"]] as const;
const ADVANTAGES = [
  ["", "any"],
  ["positive", "above 0"],
  ["negative", "below 0"],
  ["zero", "0"],
] as const;

export function completionsView(state: PageState): View {
  const runs = state.overview.runs.filter(({ hasCompletions }) => hasCompletions);
  if (runs.length === 0) {
    return {
      title: "Completions",
      content: html`<p>No run has written completions (log_completions: true writes them).</p>`,
    };
  }
  const content = document.createElement("div");
  const fields = new Fields(state, ["run", ...FILTERS], debounced(() => void pages.load()));
  const filter = fields.values as Record<string, string>;
  filter["run"] ||= runs[0]!.id;
  let rewards: string[] = [], weights: Record<string, number> = {}, weighed = "";

  const pages = new PagedRows<CompletionPage>(async (after) => {
    const run = filter["run"]!;
    if (weighed !== run) {
      weights = (await ask<RunDetails>("run", { run })).weights;
      weighed = run;
    }
    return await ask<CompletionPage>("completions", { ...filter, after, limit: 60 });
  }, (page, problem) => {
    if (page === null) return draw("", problemBox([problem]));
    rewards = page.rewards;
    const steps = page.steps === null
      ? "no steps yet"
      : `${page.steps.count} steps, ${page.steps.first} to ${page.steps.last}`;
    const more = page.next === null ? "" : ", there are more";
    draw(
      `${pages.rows.length} completions shown${more}; the run has completions of ${steps}.`,
      problemBox(page.problems),
    );
  });

  function draw(note: string, problems: Part): void {
    const { prompt, text, reward } = filter;
    const names = reward === "" || rewards.includes(reward!) ? rewards : [...rewards, reward!];
    const isDialogue = pages.rows.some((row) => row.dialogue !== null);
    render(
      html`
        ${problems}
        <details class="filters" ?open=${innerWidth > 700}>
          <summary>Filters</summary>
          <div class="controls" role="search">
            ${fields.choice("run", "Run", runs.map(({ id, name }) => [id, name] as const))}
            ${fields.input("prompt", "Prompt contains")}
            ${fields.input("text", "Completion contains")}
            ${fields.choice("answer", "Answer", ANSWERS)}
            ${fields.choice("advantage", "Advantage", ADVANTAGES)}
            ${fields.choice("reward", "Reward", [["", "any"], ...names])}
            ${fields.input("min", "at least", "number")} ${fields.input("max", "at most", "number")}
            ${fields.input("from", "From step", "number")} ${fields.input(
              "to",
              "To step",
              "number",
            )}
          </div>
        </details>
        <p class="note" role="status">${note}</p>
        ${isDialogue
          ? html`<p class="note"><span class="turn counted">model: the loss counts it</span>
            <span class="turn not-counted">came back to the model: not counted</span></p>`
          : nothing}
        ${completionTable(pages.rows, weights, { prompt: prompt!, text: text! })} ${pages.more}
      `,
      content,
    );
  }

  draw("Reading …", nothing);
  void pages.load();
  return {
    title: "Completions",
    content,
    changed(changes) {
      // New steps come first; a list that a person is reading further down stays as it is.
      if (changes.runs.includes(filter["run"]!) && scrollY < 200) void pages.load();
    },
  };
}
