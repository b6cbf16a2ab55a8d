/** The completions of a run by step and prompt, filtered and searched. */
import { html, nothing, render } from "lit-html";
import type { CompletionPage, CompletionRow, RunDetails } from "../api.ts";
import { completionTable } from "./completion_table.ts";
import {
  choice,
  debounced,
  failureBox,
  given,
  type PageState,
  type Part,
  problemBox,
  valueOf,
  type View,
} from "./dom.ts";
import { ask } from "./server.ts";

const FILTERS = [
  "from",
  "to",
  "prompt",
  "text",
  "answer",
  "advantage",
  "reward",
  "min",
  "max",
];

export function completionsView({ overview, parameters, remember }: PageState): View {
  const runs = overview.runs.filter(({ hasCompletions }) => hasCompletions);
  if (runs.length === 0) {
    return {
      title: "Completions",
      content: html`<p>No run has written completions (log_completions: true writes them).</p>`,
    };
  }
  let run = parameters.get("run") ?? runs[0]!.id, number = 0, next: string | null = null;
  let rows: CompletionRow[] = [], rewards: string[] = [];
  let weights: { of: string; values: Record<string, number> } = { of: "", values: {} };
  const filter: Record<string, string> = given(parameters, FILTERS);
  const content = document.createElement("div");

  async function load(after: string | null): Promise<void> {
    const mine = ++number;
    draw("Reading …", problemBox([]));
    try {
      if (weights.of !== run) {
        weights = { of: run, values: (await ask<RunDetails>("run", { run })).weights };
      }
      const page = await ask<CompletionPage>("completions", { run, ...filter, after, limit: 60 });
      if (mine !== number) return;
      rows = after === null ? page.rows : [...rows, ...page.rows];
      [next, rewards] = [page.next, page.rewards];
      const steps = page.steps === null
        ? "no steps yet"
        : `${page.steps.count} steps, ${page.steps.first} to ${page.steps.last}`;
      const more = next === null ? "" : ", there are more";
      draw(
        `${rows.length} completions shown${more}; the run has completions of ${steps}.`,
        problemBox(page.problems),
      );
    } catch (error) {
      draw("", failureBox(error));
    }
  }

  const reload = debounced(() => {
    remember({ run, ...filter });
    void load(null);
  });
  const set = (name: string) => (value: string) => {
    filter[name] = value;
    reload();
  };
  const field = (label: string, name: string, type: string) => {
    const write = (event: Event) => set(name)(valueOf(event));
    return html`<label class=${type}>${label}<input
      type=${type} step="any" value=${filter[name]} @input=${write}
    ></label>`;
  };

  function draw(note: string, problems: Part): void {
    const { prompt, text, answer, advantage, reward } = filter;
    const chooseRun = (id: string) => {
      run = id;
      reload();
    };
    const names = reward === "" || rewards.includes(reward!) ? rewards : [...rewards, reward!];
    const isDialogue = rows.some((row) => row.dialogue !== null);
    render(
      html`
        ${problems}
        <details class="filters" ?open=${innerWidth > 700}>
          <summary>Filters</summary>
          <div class="controls" role="search">
            ${choice("Run", runs.map(({ id, name }) => [id, name] as const), run, chooseRun)}
            ${field("Prompt contains", "prompt", "search")}
            ${field("Completion contains", "text", "search")}
            ${choice(
              "Answer",
              [["", "any"], ["found", "found"], ["none", "not found"]],
              answer!,
              set("answer"),
            )}
            ${choice(
              "Advantage",
              [["", "any"], ["positive", "above 0"], ["negative", "below 0"], ["zero", "0"]],
              advantage!,
              set("advantage"),
            )}
            ${choice(
              "Reward",
              [["", "any"], ...names.map((name) => [name, name] as const)],
              reward!,
              set("reward"),
            )}
            ${field("at least", "min", "number")} ${field("at most", "max", "number")}
            ${field("From step", "from", "number")} ${field("To step", "to", "number")}
          </div>
        </details>
        <p class="note" role="status">${note}</p>
        ${isDialogue
          ? html`<p class="note"><span class="turn counted">model: the loss counts it</span>
            <span class="turn not-counted">came back to the model: not counted</span></p>`
          : nothing}
        ${completionTable(rows, weights.values, { prompt: prompt!, text: text! })}
        <p>
          <button type="button" ?hidden=${next === null} @click=${() => load(next)}>More</button>
        </p>
      `,
      content,
    );
  }

  void load(null);
  return {
    title: "Completions",
    content,
    changed({ completions }) {
      // New steps come first; a list that a person is reading further down stays as it is.
      if (completions.includes(run) && scrollY < 200) void load(null);
    },
  };
}
