/** Two runs beside each other: curves, differences of the configurations, their answers. */
import { html, nothing, render } from "lit-html";
import type { ConfigComparison, CurvesOfRun } from "../data_routes.ts";
import type { AnswerPairs } from "../reading/run_state.ts";
import { Chart, type ShownRun } from "./chart.ts";
import {
  ask,
  breakable,
  failureBox,
  Fields,
  type PageState,
  type Part,
  problemBox,
  table,
  type View,
} from "./dom.ts";
import { gainText, pText } from "./text.ts";

/** Metrics whose curves are shown of two runs. */
const METRICS = ["reward", "eval_accuracy"];
/** Keys that always differ come last. */
const NAMES = ["training.output_dir", "logging.run_name"];
/** Problems with different answers that are shown. */
const MAX_PROBLEMS = 20;

export function compareView(state: PageState): View {
  const { runs } = state.overview;
  if (runs.length === 0) {
    return { title: "Configurations", content: html`<p>There is no run yet.</p>` };
  }
  const content = document.createElement("div"),
    options = runs.map(({ id, name }) => [id, name] as const);
  const fields = new Fields(state, ["first", "second", "all"], () => void load());
  fields.values.first ||= runs[0]!.id;
  const charts = METRICS.map((metric) => new Chart(metric, () => {}));

  async function load(): Promise<void> {
    const { first, second, all } = fields.values;
    try {
      const keys = comparison(
        await ask<ConfigComparison>("config", { run: first, other: second }),
        all === "",
      );
      if (second === "") return draw(keys);
      const metrics = METRICS.join(","), ids = [first, second];
      const [pairs, ...curves] = await Promise.all([
        ask<AnswerPairs>("pairs", { run: first, other: second }),
        ...ids.map((run) =>
          ask<CurvesOfRun>("curves", { run, metrics, points: 500, smoothing: 0.8 })
        ),
      ]);
      const shown = ids.map((id): ShownRun => {
        const index = runs.findIndex((run) => run.id === id);
        return { id, name: runs[index]!.name, index };
      });
      const names = shown.map(({ name }) => name);
      draw(html`
        <h2 class="hidden">Curves</h2>
        <div class="charts few">${charts.map(({ element }) => element)}</div>
        <h2>What differs in the configurations</h2>
        ${keys}
        <h2>Answers to the same held-out problems</h2>
        ${answers(pairs, names)}
      `);
      for (const chart of charts) {
        chart.draw(shown, curves.map((one) => one.curves[chart.metric]));
      }
    } catch (error) {
      draw(failureBox(error));
    }
  }

  function draw(result: Part): void {
    const check = (event: Event) =>
      fields.set("all", (event.target as HTMLInputElement).checked ? "" : "1");
    render(
      html`
        <div class="controls">
          ${fields.choice("first", "First run", options)}
          ${fields.choice("second", "Second run", [["", "none"], ...options])}
          <label class="check">
            <input type="checkbox" .checked=${fields.values.all ===
              ""} @change=${check}>only what differs
          </label>
        </div>
        ${result}
      `,
      content,
    );
  }

  draw(nothing);
  void load();
  return {
    title: "Configurations",
    content,
    redraw: () => charts.forEach((chart) => chart.redraw()),
    leave: () => charts.forEach((chart) => chart.destroy()),
  };
}

function comparison(found: ConfigComparison, onlyDifferent: boolean): Part {
  const { first, second, keys, problems } = found;
  const different = keys.filter(({ before, after }) => before !== after)
    .toSorted((one, other) => NAMES.indexOf(one.key) - NAMES.indexOf(other.key));
  const shown = second !== null && onlyDifferent ? different : keys;
  const heads = ["key", first, ...(second === null ? [] : [second])];
  return html`
    ${problemBox(problems)}
    <p class="note" role="status">
      ${second === null
        ? `${keys.length} keys`
        : `${different.length} of ${keys.length} keys differ`}
    </p>
    <div class="wide" role="region" aria-label="Keys" tabindex="0">
      <table class="keys">
        <thead>
          <tr>
            ${heads.map((head) => html`<th scope="col">${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${shown.map(({ key, before, after }) =>
            html`
              <tr class=${before !== after && !onlyDifferent ? "differs" : nothing}>
                <th scope="row">${breakable(key)}</th>
                <td>${before ?? "not set"}</td>
                ${second === null ? nothing : html`<td>${after ?? "not set"}</td>`}
              </tr>
            `
          )}
        </tbody>
      </table>
    </div>
  `;
}

function answers({ test, different, isGreedy }: AnswerPairs, names: readonly string[]): Part {
  if (test === null) {
    return html`<p class="note">They did not answer the same held-out problems after training.</p>`;
  }
  const { n, only_first: one, only_second: other, p_value: p } = test;
  const rows = different.slice(0, MAX_PROBLEMS).map((
    { question, expected, firstIsRight, ...given },
  ) => [
    question,
    expected ?? "–",
    `${firstIsRight ? "✓" : "✗"} ${given.first}`,
    `${firstIsRight ? "✗" : "✓"} ${given.second}`,
  ]);
  return html`
    <p>
      ${names[1]} beside ${names[0]}: <b>${gainText(
        test,
      )}</b>, ${n} problems${isGreedy ? ", greedy answers" : ""}. Only the first is right
      on ${one} of them, only the second on ${other} (p ${pText(p, "= ")}:
      how often chance alone makes such a difference).
    </p>
    ${rows.length === 0 ? nothing : table("Answers", ["problem", "expected", ...names], rows)}
    ${different.length > MAX_PROBLEMS
      ? html`<p class="note">and ${different.length - MAX_PROBLEMS} problems more</p>`
      : nothing}
  `;
}
