/** Results of benchmarks: charts, numbers, and every problem with its answers. */
import type { BenchmarkDetails, ExamplePage, ExampleRow } from "../api.ts";
import {
  choice,
  debounced,
  field,
  h,
  marked,
  type PageState,
  problemBox,
  svg,
  type View,
} from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, dateText, percent, short } from "./text.ts";
import { lineStyle } from "./chart.ts";

export async function benchmarksView(state: PageState): Promise<View> {
  const { overview, parameters, remember } = state, { benchmarks } = overview;
  if (benchmarks.length === 0) {
    const where = overview.folders.join(", ");
    return {
      title: "Benchmarks",
      element: h("p", {}, `There are no results_….json in ${where}; rgx bench writes them.`),
    };
  }
  let id = parameters.get("id") ?? "";
  // The newest file with all tasks, or else the newest one.
  const byAge = benchmarks.toSorted((a, b) => (b.created ?? "").localeCompare(a.created ?? ""));
  if (!benchmarks.some((one) => one.id === id)) {
    id = (byAge.find(({ name }) => name.startsWith("all_tasks")) ?? byAge[0]!).id;
  }
  const content = h("div");
  const load = async () => {
    remember({ id });
    try {
      const details = await ask<BenchmarkDetails>("benchmark", { id });
      content.replaceChildren(...contents(details, state));
    } catch (error) {
      content.replaceChildren(problemBox([(error as Error).message])!);
    }
  };
  await load();
  const options = byAge.map(({ id, name, created, folder }) =>
    [id, `${name}${created === null ? "" : ` of ${created}`} (${folder})`] as const
  );
  return {
    title: "Benchmarks",
    element: h(
      "div",
      {},
      h(
        "div",
        { class: "controls" },
        field(
          "Results",
          choice(options, id, (chosen) => {
            id = chosen;
            void load();
          }),
        ),
      ),
      content,
    ),
    redraw: () => void 0,
  };
}

function contents(details: BenchmarkDetails, state: PageState): Node[] {
  if (details.problem !== null) return [problemBox([details.problem])!];
  const { models, results, averages, comparisons, failures } = details;
  const indexOf = (model: string) => models.indexOf(model);
  const charts = [
    ...results,
    ...(averages.length === 0 ? [] : [{
      task: "Average of the tasks",
      models: averages,
    }]),
  ].map(({ task, models: ofTask }) =>
    h(
      "section",
      { class: "chart" },
      h("h3", {}, task),
      barChart(
        task,
        ofTask.map((one) => ({ ...one, label: one.model, index: indexOf(one.model) })),
      ),
    )
  );
  return [
    h(
      "p",
      { class: "note" },
      `Measured ${dateText(details.created)}. Bars are accuracies, the ` +
        "lines on them their 95 % intervals.",
    ),
    ...[
      problemBox(
        failures.map(({ model, task, error, problems }) =>
          problems === undefined
            ? `${model} failed on ${task}: ${error}`
            : `${model} gave no answer to ${problems.length} of ${task}: ${error}`
        ),
      ),
    ]
      .filter((box) => box !== null),
    h("h2", {}, "Accuracy"),
    h("div", { class: "charts" }, charts),
    h("h2", {}, "Numbers"),
    table(
      "Numbers",
      ["task", "model"],
      [
        "accuracy [95 %]",
        "correct",
        "mean score",
        "with format",
        "cut off",
        "tokens",
        "failed",
      ],
      results.flatMap(({ task, models: ofTask }) =>
        ofTask.map((one) => [
          task,
          one.model,
          accuracyText(one),
          `${one.correct} / ${one.total}`,
          short(one.meanScore),
          percent(one.formatRate),
          percent(one.truncatedRate),
          short(one.meanTokens),
          String(one.errors),
        ])
      ),
    ),
    ...(comparisons.length === 0 ? [] : [
      h("h2", {}, "Models compared on the same problems"),
      table(
        "Comparisons",
        ["task", "first", "second"],
        ["difference in points [95 %]", "p"],
        comparisons.map(({ task, first, second, difference, ci95: [low, high], p }) => [
          task,
          first,
          second,
          `${(100 * difference).toFixed(1)} [${(100 * low).toFixed(1)}, ${
            (100 * high).toFixed(1)
          }]`,
          p < 0.001 ? "< 0.001" : p.toFixed(3),
        ]),
      ),
    ]),
    h("h2", {}, "Every problem"),
    examples(details, state),
  ];
}

function table(
  name: string,
  texts: readonly string[],
  numbers: readonly string[],
  rows: readonly string[][],
): HTMLElement {
  const head = (text: string, isNumber: boolean) =>
    h("th", { scope: "col", class: isNumber ? "number" : null }, text);
  return h(
    "div",
    { class: "wide", role: "region", "aria-label": name, tabindex: 0 },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h("tr", {}, texts.map((t) => head(t, false)), numbers.map((t) => head(t, true))),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            row.map((cell, i) => h("td", { class: i < texts.length ? null : "number" }, cell)),
          )
        ),
      ),
    ),
  );
}

/** The problems with their answers, filtered and searched. */
function examples(details: BenchmarkDetails, { parameters, remember }: PageState): HTMLElement {
  const filter: Record<string, string> = {
    task: parameters.get("task") ?? details.tasks[0] ?? "",
    model: parameters.get("model") ?? "",
    outcome: parameters.get("outcome") ?? "",
    text: parameters.get("text") ?? "",
  };
  if (!details.tasks.includes(filter["task"]!)) filter["task"] = details.tasks[0] ?? "";
  if (!details.models.includes(filter["model"]!)) filter["model"] = "";
  const list = h("div"), note = h("p", { class: "note", role: "status" });
  let next: number | null = null, number = 0;
  const more = h("button", { type: "button", onclick: () => void load(next) }, "More");
  async function load(offset: number | null): Promise<void> {
    const mine = ++number;
    try {
      const page = await ask<ExamplePage>("examples", { id: details.id, ...filter, offset });
      if (mine !== number) return;
      const cards = page.rows.map((row) => card(row, filter["text"]!));
      if (offset === null) list.replaceChildren(...cards);
      else list.append(...cards);
      next = page.next;
      more.hidden = next === null;
      note.textContent = `${page.total} answers`;
    } catch (error) {
      note.textContent = (error as Error).message;
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
  const search = h("input", { type: "search", value: filter["text"]! });
  search.addEventListener("input", () => set("text")(search.value));
  void load(null);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "controls", role: "search" },
      field(
        "Task",
        choice(details.tasks.map((t) => [t, t] as const), filter["task"]!, set("task")),
      ),
      field(
        "Model",
        choice(
          [["", "all"], ...details.models.map((m) => [m, m] as const)],
          filter["model"]!,
          set("model"),
        ),
      ),
      field(
        "Outcome",
        choice(
          [["", "all"], ["right", "right"], ["wrong", "wrong"], ["unanswered", "no answer found"]],
          filter["outcome"]!,
          set("outcome"),
        ),
      ),
      field("Search", search),
    ),
    note,
    list,
    h("p", {}, more),
  );
}

function card(row: ExampleRow, text: string): HTMLElement {
  const isRight = row.score >= 1 - 1e-9;
  const tag = (shown: string, kind = "") => h("span", { class: `tag ${kind}` }, shown);
  return h(
    "article",
    { class: "card" },
    h(
      "p",
      {},
      h("strong", {}, `Problem ${row.index}`),
      ` · ${row.model} `,
      tag(isRight ? "right" : row.error !== null ? "failed" : "wrong", isRight ? "good" : "bad"),
      " ",
      tag(`score ${short(row.score)}`),
      " ",
      tag(row.extracted === null ? "no answer" : `answer: ${row.extracted}`),
      row.expected === null ? "" : " ",
      row.expected === null ? null : tag(`expected: ${row.expected}`),
      row.truncated ? " " : "",
      row.truncated ? tag("cut off", "bad") : null,
    ),
    row.error === null ? null : h("p", {}, row.error),
    h("pre", { tabindex: 0 }, marked(row.question, text)),
    h("pre", { tabindex: 0 }, marked(row.completion, text)),
  );
}

// Accuracies as bars with their 95 % intervals, drawn as a picture that has a text of its own.

interface Bar {
  label: string;
  /** Position of the model, which gives the bar its colour. */
  index: number;
  accuracy: number;
  ci95: readonly [number, number];
  /** Number of answers; 0: nothing was measured. */
  total?: number;
}

/** About the width of a column, so that letters keep their size. */
const MAX_WIDTH = 390, ROW = 46, TOP = 4, RIGHT = 72, BOTTOM = 26;

function barChart(title: string, bars: readonly Bar[]): SVGElement {
  const width = Math.max(240, Math.min(MAX_WIDTH, innerWidth - 48)), plot = width - RIGHT;
  const height = TOP + bars.length * ROW + BOTTOM;
  const text = bars.map(({ label, ...value }) => `${label}: ${accuracyText(value)}`).join("; ");
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    svg("line", {
      class: "grid",
      x1: share * plot + 1,
      x2: share * plot + 1,
      y1: TOP,
      y2: height - BOTTOM,
    }),
    svg("text", {
      class: "axis",
      x: share * plot + 1,
      y: height - 8,
      "text-anchor": share === 0 ? "start" : "middle",
    }, `${100 * share} %`),
  ]);
  const rows = bars.flatMap(({ label, index, accuracy, ci95: [low, high], total }, i) => {
    const y = TOP + i * ROW, middle = y + 30;
    const whisker = (x1: number, x2: number, y1: number, y2: number) =>
      svg("line", { x1, x2, y1, y2 });
    const name = svg("text", { x: 2, y: y + 15 }, label);
    if (total === 0) return [name, svg("text", { class: "axis", x: 2, y: y + 34 }, "no answers")];
    return [
      name,
      svg("rect", {
        x: 1,
        y: y + 20,
        width: Math.max(1, accuracy * plot),
        height: 20,
        rx: 2,
        fill: lineStyle(index).color,
      }),
      whisker(low * plot + 1, high * plot + 1, middle, middle),
      whisker(low * plot + 1, low * plot + 1, middle - 5, middle + 5),
      whisker(high * plot + 1, high * plot + 1, middle - 5, middle + 5),
      svg("text", { x: Math.max(accuracy, high) * plot + 8, y: middle + 5 }, percent(accuracy)),
    ];
  });
  return svg(
    "svg",
    {
      class: "bars",
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${title}. ${text}`,
    },
    ...grid,
    ...rows,
  );
}
