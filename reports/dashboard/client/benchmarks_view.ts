/** Results of benchmarks: accuracies, comparisons, and every problem with its answers. */
import { html, nothing, render } from "lit-html";
import { percentDigits } from "../../../core/counted.ts";
import type { ModelResult } from "../../../bench/results/result_file.ts";
import type { BenchmarkDetails, ExampleAnswer, ExamplePage, ExampleRow } from "../api.ts";
import {
  choice,
  debounced,
  failureBox,
  intervalBar,
  marked,
  type PageState,
  type Part,
  problemBox,
  table,
  valueOf,
  type View,
} from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, dateText, percent, pText, short } from "./text.ts";

export function benchmarksView(state: PageState): View {
  const { overview, parameters, remember } = state, { benchmarks } = overview;
  if (benchmarks.length === 0) {
    const where = overview.folders.join(", ");
    return {
      title: "Benchmarks",
      content: html`<p>There are no results_….json in ${where}; rgx bench writes them.</p>`,
    };
  }
  let id = parameters.get("id") ?? "";
  // The newest file with all tasks, or else the newest one.
  const byAge = benchmarks.toSorted((a, b) => (b.created ?? "").localeCompare(a.created ?? ""));
  if (!benchmarks.some((one) => one.id === id)) {
    id = (byAge.find(({ name }) => name.startsWith("all_tasks")) ?? byAge[0]!).id;
  }
  const options = byAge.map(({ id, name, created, folder }) =>
    [id, `${name}${created === null ? "" : ` of ${created}`} (${folder})`] as const
  );
  const content = document.createElement("div");
  let shown: Part = nothing;
  const draw = () => {
    const choose = (chosen: string) => {
      id = chosen;
      void load();
    };
    render(
      html`<div class="controls">${choice("Results", options, id, choose)}</div>${shown}`,
      content,
    );
  };
  const load = async () => {
    remember({ id });
    shown = await ask<BenchmarkDetails>("benchmark", { id })
      .then((details) => contents(details, state), failureBox);
    draw();
  };
  draw();
  void load();
  return { title: "Benchmarks", content };
}

function contents(details: BenchmarkDetails, state: PageState): Part {
  if (details.problem !== null) return problemBox([details.problem]);
  const { results, averages, comparisons, failures } = details;
  const measured = results.flatMap(({ task, models: ofTask }) =>
    ofTask.map((one) => [
      task,
      one.model,
      accuracyCell(one),
      // Without answers there is nothing to take a share or a mean of.
      ...(one.total === 0 ? Array(5).fill("–") : [
        `${one.correct} / ${one.total}`,
        short(one.mean_score),
        percent(one.format_rate),
        percent(one.truncated_rate),
        short(one.mean_completion_tokens),
      ]),
      String(one.errors ?? 0),
    ])
  );
  const means = averages.map((one) => [
    "average of the tasks",
    one.model,
    accuracyCell(one),
    ...Array(6).fill("–"),
  ]);
  return html`
    <p class="note">Measured ${dateText(details.created)}.</p>
    ${problemBox(
      failures.map(({ model, task, error, problems }) =>
        problems === undefined
          ? `${model} failed on ${task}: ${error}`
          : `${model} gave no answer to ${problems.length} of ${task}: ${error}`
      ),
    )}
    <h2>Accuracy</h2>
    ${table(
      "Accuracy",
      [
        "task",
        "model",
        "accuracy [95 %]",
        "correct",
        "mean score",
        "with format",
        "cut off",
        "tokens",
        "failed",
      ],
      [...measured, ...means],
      2,
    )}
    ${comparisons.length === 0 ? nothing : html`
      <h2>Models compared on the same problems</h2>
      ${table(
        "Comparisons",
        ["task", "first", "second", "difference in points [95 %]", "p"],
        comparisons.map(({ task, first, second, difference, ci95, p_value: p }) => [
          task,
          first,
          second,
          `${percentDigits(difference)} [${ci95.map(percentDigits).join(", ")}]`,
          pText(p),
        ]),
        3,
      )}
    `}
    <h2>Every problem</h2>
    ${examples(details, state)}
  `;
}

const OUTCOMES = [
  ["", "all"],
  ["right", "right"],
  ["wrong", "wrong"],
  ["unanswered", "no answer found"],
] as const;

/** The problems with their answers, filtered and searched. */
function examples(details: BenchmarkDetails, { parameters, remember }: PageState): HTMLElement {
  const { tasks, models, id } = details, given = (name: string) => parameters.get(name) ?? "";
  const filter: Record<string, string> = {
    task: tasks.includes(given("task")) ? given("task") : tasks[0] ?? "",
    model: models.includes(given("model")) ? given("model") : "",
    outcome: given("outcome"),
    text: given("text"),
  };
  const content = document.createElement("div");
  let rows: ExampleRow[] = [], next: number | null = null, number = 0;
  async function load(offset: number | null): Promise<void> {
    const mine = ++number;
    try {
      const page = await ask<ExamplePage>("examples", { id, ...filter, offset });
      if (mine !== number) return;
      rows = offset === null ? page.rows : [...rows, ...page.rows];
      next = page.next;
      draw(`${page.total} problems`);
    } catch (error) {
      draw((error as Error).message);
    }
  }
  const reload = debounced(() => {
    remember(filter);
    void load(null);
  });
  const set = (name: string) => (value: string) => {
    filter[name] = value;
    reload();
  };
  const same = (names: readonly string[]) => names.map((name) => [name, name] as const);
  function draw(note: string): void {
    const { task, model, outcome, text } = filter;
    const find = (event: Event) => set("text")(valueOf(event));
    render(
      html`
        <div class="controls" role="search">
          ${choice("Task", same(tasks), task!, set("task"))}
          ${choice("Model", [["", "all"], ...same(models)], model!, set("model"))}
          ${choice("Outcome", OUTCOMES, outcome!, set("outcome"))}
          <label>Search<input type="search" value=${text} @input=${find}></label>
        </div>
        <p class="note" role="status">${note}</p>
        ${answerTable(rows, models, text!)}
        <p>
          <button type="button" ?hidden=${next === null} @click=${() => load(next)}>More</button>
        </p>
      `,
      content,
    );
  }
  draw("");
  void load(null);
  return content;
}

/** A row for each problem: the question once, and the answer of each model beside it. */
function answerTable(rows: readonly ExampleRow[], models: readonly string[], text: string): Part {
  const head = (name: string) => html`<th scope="col">${name}</th>`;
  return html`
    <div class="wide" role="region" aria-label="Problems" tabindex="0">
      <table class="answers">
        <thead>
          <tr>${["problem", "expected", ...models].map(head)}</tr>
        </thead>
        <tbody>
          ${rows.map(({ index, question, expected, answers }) =>
            html`
              <tr data-problem=${index}>
                <td><small>${index}</small>
                  <span class="said">${marked(question.trim(), text)}</span></td>
                <td>${expected ?? html`<span class="note">any that is right</span>`}</td>
                ${models.map((model) => {
                  const own = answers.filter((one) => one.model === model);
                  return html`<td>${
                    own.length === 0
                      ? html`<span class="note">not asked</span>`
                      : own.map((one) => answer(one, text))
                  }</td>`;
                })}
              </tr>
            `
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** An answer with its outcome; the whole completion is below it when it is opened. */
function answer(
  { isRight, score, error, extracted, completion, truncated }: ExampleAnswer,
  text: string,
): Part {
  const outcome = isRight ? "right" : error !== undefined ? "failed" : "wrong";
  return html`
    <details class="answer" ?open=${text !== ""}>
      <summary>
        <b class=${isRight ? "good" : "bad"}><span aria-hidden="true">${isRight ? "✓" : "✗"}</span>
          <span class="hidden">${outcome}</span> ${extracted ?? "no answer"}</b>
        ${isRight || score === 0 ? nothing : html`<small>score ${short(score)}</small>`}
        ${truncated ? html`<small>cut off</small>` : nothing}
      </summary>
      <pre tabindex="0">${error ?? marked(completion, text)}</pre>
    </details>
  `;
}

/** An accuracy with its interval, as a picture and as numbers. */
function accuracyCell(value: Pick<ModelResult, "accuracy" | "ci95"> & { total?: number }): Part {
  return html`<span class="accuracy-cell">${accuracyText(value)}${
    value.total === 0 ? nothing : intervalBar(value, "after")
  }</span>`;
}
