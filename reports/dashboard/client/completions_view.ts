/** The completions of a run by step and prompt, filtered and searched. */
import { html, nothing, render } from "lit-html";
import type { CompletionPage, CompletionRow } from "../api.ts";
import {
  choice,
  debounced,
  failureBox,
  marked,
  type PageState,
  type Part,
  problemBox,
  tag,
  valueOf,
  type View,
} from "./dom.ts";
import { ask } from "./server.ts";
import { short } from "./text.ts";

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
  let rows: CompletionRow[] = [];
  const filter: Record<string, string> = {};
  for (const name of FILTERS) filter[name] = parameters.get(name) ?? "";
  const content = document.createElement("div");

  async function load(after: string | null): Promise<void> {
    const mine = ++number;
    draw("Reading …", problemBox([]));
    try {
      const page = await ask<CompletionPage>("completions", { run, ...filter, after, limit: 40 });
      if (mine !== number) return;
      rows = after === null ? page.rows : [...rows, ...page.rows];
      next = page.next;
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
  const field = (
    label: string,
    name: string,
    type: string,
    list: string | typeof nothing = nothing,
  ) => {
    const write = (event: Event) => set(name)(valueOf(event));
    return html`<label>${label}<input
      type=${type} step="any" list=${list} placeholder=${
      list === nothing ? nothing : "its name"
    } value=${filter[name]} @input=${write}
    ></label>`;
  };
  const rewards = () => [...new Set(rows.flatMap((row) => Object.keys(row.rewards)))];

  function draw(note: string, problems: Part): void {
    const { prompt, text, answer, advantage } = filter;
    const chooseRun = (id: string) => {
      run = id;
      reload();
    };
    render(
      html`
        ${problems}
        <div class="controls" role="search">
          ${choice("Run", runs.map(({ id, name }) => [id, name] as const), run, chooseRun)}
          ${field("From step", "from", "number")} ${field("To step", "to", "number")}
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
          ${field("Reward", "reward", "text", "rewards")}
          ${field("at least", "min", "number")} ${field("at most", "max", "number")}
        </div>
        <datalist id="rewards">${rewards().map((name) => html`<option value=${name}>`)}</datalist>
        <p class="note" role="status">${note}</p>
        ${groupRows(rows).map((group) => groupCard(group, prompt!, text!))}
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

/** Completions of the same step and prompt, in their order. */
function groupRows(rows: readonly CompletionRow[]): CompletionRow[][] {
  return [...Map.groupBy(rows, ({ step, prompt }) => `${step}\n${prompt}`).values()];
}

function groupCard(rows: readonly CompletionRow[], inPrompt: string, inText: string): Part {
  const { step, prompt } = rows[0]!;
  return html`
    <article class="card">
      <h2>Step ${step}</h2>
      <p class="note">Prompt</p>
      <pre tabindex="0">${marked(prompt, inPrompt)}</pre>
      ${rows.map(({ row, advantage, rewards, extracted, extras, completion }) =>
        html`
          <div data-row=${row}>
            <p>
              ${tag(`advantage ${short(advantage)}`, signKind(advantage ?? 0))}
              ${Object.entries(rewards).map(([name, value]) => tag(`${name} ${short(value)}`))}
              ${tag(extracted === null ? "no answer" : `answer: ${extracted}`)}
              ${Object.entries(extras).map(([name, value]) => tag(`${name}: ${value ?? "–"}`))}
            </p>
            <pre tabindex="0">${marked(completion, inText)}</pre>
          </div>
        `
      )}
    </article>
  `;
}

function signKind(value: number): "" | "good" | "bad" {
  return value > 0 ? "good" : value < 0 ? "bad" : "";
}
