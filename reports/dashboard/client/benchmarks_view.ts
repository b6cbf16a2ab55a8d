/** Results of benchmarks: accuracies, comparisons, and every problem with its answers. */
import { html, nothing, render } from "lit-html";
import { counted } from "../../../core/counted.ts";
import type { ModelResult } from "../../../bench/results/result_file.ts";
import type {
  BenchmarkDetails,
  ExampleAnswer,
  ExamplePage,
  ExampleRow,
} from "../reading/benchmarks.ts";
import {
  ask,
  debounced,
  failureBox,
  Fields,
  intervalBar,
  marked,
  PagedRows,
  type PageState,
  type Part,
  problemBox,
  table,
  type View,
} from "./dom.ts";
import { accuracyText, dateText, intervalText, percent, pointsText, pText, short } from "./text.ts";

export function benchmarksView(state: PageState): View {
  const { benchmarks, folders } = state.overview;
  if (benchmarks.length === 0) {
    const where = folders.join(", ");
    return {
      title: "Benchmarks",
      content: html`<p>There are no results_….json in ${where}; rgx bench writes them.</p>`,
    };
  }
  const content = document.createElement("div"), fields = new Fields(state, ["id"], load);
  // The newest file with all tasks, or else the newest one.
  const byAge = benchmarks.toSorted((a, b) => (b.created ?? "").localeCompare(a.created ?? ""));
  const usual = byAge.find(({ name }) => name.startsWith("all_tasks")) ?? byAge[0]!;
  if (!benchmarks.some(({ id }) => id === fields.values.id)) fields.values.id = usual.id;
  const options = byAge.map(({ id, name, created, folder }) =>
    [id, `${name}${created === null ? "" : ` of ${created}`} (${folder})`] as const
  );
  const draw = (shown: Part) =>
    render(
      html`<div class="controls">${fields.choice("id", "Results", options)}</div>${shown}`,
      content,
    );
  function load(): void {
    ask<BenchmarkDetails>("benchmark", fields.values)
      .then((details) => contents(details, state), failureBox).then(draw);
  }
  draw(nothing);
  load();
  return { title: "Benchmarks", content };
}

const HEADS = [
  "task",
  "model",
  "accuracy [95 %]",
  "correct",
  "mean score",
  "with format",
  "cut off",
  "tokens",
  "failed",
];

function contents(details: BenchmarkDetails, state: PageState): Part {
  if (details.problem !== null) return problemBox([details.problem]);
  const { tasks, average, failures } = details;
  const measured = tasks.flatMap(({ task, models }) =>
    Object.entries(models).map(([model, one]) => [
      task,
      model,
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
  const means = Object.entries(average).filter(([, { tasks }]) => tasks > 1)
    .map(([model, one]) => [
      `average of ${counted(one.tasks, "task")}`,
      model,
      accuracyCell(one),
      ...Array(6).fill("–"),
    ]);
  const comparisons = tasks.flatMap((task) => task.comparisons);
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
    ${table("Accuracy", HEADS, [...measured, ...means], 2)}
    ${comparisons.length === 0 ? nothing : html`
      <h2>Models compared on the same problems</h2>
      ${table(
        "Comparisons",
        ["task", "first", "second", "difference in points [95 %]", "p"],
        comparisons.map(({ task, first, second, difference, ci95, p_value: p }) => [
          task,
          first,
          second,
          `${pointsText(difference)} ${intervalText({ ci95 })}`,
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
function examples({ tasks, id }: BenchmarkDetails, state: PageState): HTMLElement {
  const content = document.createElement("div"), names = tasks.map(({ task }) => task);
  const models = [...new Set(tasks.flatMap((task) => Object.keys(task.models)))];
  const reload = debounced(() => void pages.load());
  const fields = new Fields(state, ["task", "model", "outcome", "text"], reload);
  const filter = fields.values;
  if (!names.includes(filter.task)) filter.task = names[0] ?? "";
  if (!models.includes(filter.model)) filter.model = "";
  const pages = new PagedRows<ExamplePage>(
    (offset) => ask<ExamplePage>("examples", { id, ...filter, offset }),
    (page, problem) => draw(page === null ? problem : `${page.total} problems`),
  );
  function draw(note: string): void {
    render(
      html`
        <div class="controls" role="search">
          ${fields.choice("task", "Task", names)}
          ${fields.choice("model", "Model", [["", "all"], ...models])}
          ${fields.choice("outcome", "Outcome", OUTCOMES)} ${fields.input("text", "Search")}
        </div>
        <p class="note" role="status">${note}</p>
        ${answerTable(pages.rows, models, filter.text)} ${pages.more}
      `,
      content,
    );
  }
  draw("");
  void pages.load();
  return content;
}

/** A row for each problem: the question once, and the answer of each model beside it. */
function answerTable(rows: readonly ExampleRow[], models: readonly string[], text: string): Part {
  const head = (name: string) => html`<th scope="col">${name}</th>`;
  return html`
    <div class="wide" role="region" aria-label="Problems" tabindex="0">
      <table class="answers cards">
        <thead>
          <tr>${["problem", "expected", ...models].map(head)}</tr>
        </thead>
        <tbody>
          ${rows.map(({ index, question, expected, answers }) =>
            html`
              <tr data-problem=${index}>
                <td data-label="problem"><small>${index}</small>
                  <span class="said">${marked(question.trim(), text)}</span></td>
                <td data-label="expected">${expected ??
                  html`<span class="note">any that is right</span>`}</td>
                ${models.map((model) => {
                  const own = answers.filter((one) => one.model === model);
                  return html`<td data-label=${model}>${
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
