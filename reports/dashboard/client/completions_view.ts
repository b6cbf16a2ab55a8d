/** The completions of a run by step and prompt, filtered and searched. */
import type { CompletionPage, CompletionRow } from "../api.ts";
import {
  choice,
  debounced,
  field,
  h,
  marked,
  type PageState,
  problemBox,
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
  let run = parameters.get("run") ?? runs[0]?.id ?? "", number = 0, next: string | null = null;
  const filter: Record<string, string> = {};
  for (const name of FILTERS) filter[name] = parameters.get(name) ?? "";
  const list = h("div"), note = h("p", { class: "note", role: "status" }), problems = h("div");
  const more = h("button", { type: "button", onclick: () => void load(next) }, "More");
  const rewards = h("datalist", { id: "rewards" });
  let steps = "";

  async function load(after: string | null): Promise<void> {
    const mine = ++number;
    note.textContent = "Reading …";
    try {
      const page = await ask<CompletionPage>("completions", { run, ...filter, after, limit: 40 });
      if (mine !== number) return;
      const groups = groupRows(page.rows).map((group) => groupCard(group, filter));
      if (after === null) list.replaceChildren(...groups);
      else list.append(...groups);
      next = page.next;
      more.hidden = next === null;
      steps = page.steps === null
        ? "no steps yet"
        : `${page.steps.count} steps, ${page.steps.first} to ${page.steps.last}`;
      const count = list.querySelectorAll("[data-row]").length;
      note.textContent = `${count} completions shown${
        next === null ? "" : ", there are more"
      }; the run has completions of ${steps}.`;
      const names = new Set(page.rows.flatMap((row) => Object.keys(row.rewards)));
      rewards.replaceChildren(...[...names].map((value) => h("option", { value })));
      const box = problemBox(page.problems);
      problems.replaceChildren(...(box === null ? [] : [box]));
    } catch (error) {
      note.textContent = "";
      problems.replaceChildren(problemBox([(error as Error).message])!);
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
  const input = (name: string, type: string, attributes: Record<string, string> = {}) => {
    const element = h("input", { type, value: filter[name]!, ...attributes });
    element.addEventListener("input", () => set(name)(element.value));
    return element;
  };
  if (runs.length === 0) {
    return {
      title: "Completions",
      element: h("p", {}, "No run has written completions (log_completions: true writes them)."),
    };
  }
  void load(null);
  return {
    title: "Completions",
    element: h(
      "div",
      {},
      problems,
      h(
        "div",
        { class: "controls", role: "search" },
        field(
          "Run",
          choice(
            runs.map(({ id, name }) => [id, name] as const),
            run,
            (id) => {
              run = id;
              reload();
            },
          ),
        ),
        field("From step", input("from", "number", { min: "0", size: "6" })),
        field("To step", input("to", "number", { min: "0", size: "6" })),
        field("Prompt contains", input("prompt", "search")),
        field("Completion contains", input("text", "search")),
        field(
          "Answer",
          choice(
            [["", "any"], ["found", "found"], ["none", "not found"]],
            filter["answer"]!,
            set("answer"),
          ),
        ),
        field(
          "Advantage",
          choice(
            [["", "any"], ["positive", "above 0"], ["negative", "below 0"], ["zero", "0"]],
            filter["advantage"]!,
            set("advantage"),
          ),
        ),
        field("Reward", input("reward", "text", { list: "rewards", placeholder: "its name" })),
        field("at least", input("min", "number", { step: "any" })),
        field("at most", input("max", "number", { step: "any" })),
      ),
      rewards,
      note,
      list,
      h("p", {}, more),
    ),
    changed({ completions }) {
      // New steps come first; a list that a person is reading further down stays as it is.
      if (completions.includes(run) && scrollY < 200 && next !== undefined) void load(null);
    },
  };
}

/** Completions of the same step and prompt, in their order. */
function groupRows(rows: readonly CompletionRow[]): CompletionRow[][] {
  const groups = new Map<string, CompletionRow[]>();
  for (const row of rows) {
    const key = `${row.step}\n${row.prompt}`, group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

function groupCard(
  rows: readonly CompletionRow[],
  filter: Readonly<Record<string, string>>,
): HTMLElement {
  const { step, prompt } = rows[0]!;
  return h(
    "article",
    { class: "card" },
    h("h2", {}, `Step ${step}`),
    h("p", { class: "note" }, "Prompt"),
    h("pre", { tabindex: 0 }, marked(prompt, filter["prompt"]!)),
    rows.map((row) =>
      h(
        "div",
        { "data-row": row.row },
        h(
          "p",
          {},
          tag(`advantage ${short(row.advantage)}`, Math.sign(row.advantage ?? 0)),
          Object.entries(row.rewards).map(([name, value]) => [
            document.createTextNode(" "),
            tag(`${name} ${short(value)}`),
          ]).flat(),
          " ",
          tag(row.extracted === null ? "no answer" : `answer: ${row.extracted}`),
          Object.entries(row.extras).map(([name, value]) => [
            document.createTextNode(" "),
            tag(`${name}: ${value ?? "–"}`),
          ]).flat(),
        ),
        h("pre", { tabindex: 0 }, marked(row.completion, filter["text"]!)),
      )
    ),
  );
}

function tag(text: string, sign = 0): HTMLElement {
  return h("span", { class: `tag${sign > 0 ? " good" : sign < 0 ? " bad" : ""}` }, text);
}
