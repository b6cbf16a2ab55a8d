/** The differences between two runs' configurations. */
import { html, nothing, render } from "lit-html";
import type { ConfigComparison } from "../api.ts";
import { choice, failureBox, type PageState, type Part, problemBox, type View } from "./dom.ts";
import { ask } from "./server.ts";

export function compareView({ overview, parameters, remember }: PageState): View {
  const { runs } = overview;
  if (runs.length === 0) {
    return { title: "Configurations", content: html`<p>There is no run yet.</p>` };
  }
  let first = parameters.get("first") || runs[0]!.id;
  let second = parameters.get("second") ?? "", onlyDifferent = parameters.get("all") !== "1";
  const content = document.createElement("div");
  const options = runs.map(({ id, name }) => [id, name] as const);

  async function load(): Promise<void> {
    remember({ first, second, all: onlyDifferent ? "" : "1" });
    const found = ask<ConfigComparison>("config", { run: first, other: second });
    draw(await found.then((keys) => comparison(keys, onlyDifferent), failureBox));
  }

  function draw(result: Part): void {
    const check = (event: Event) => {
      onlyDifferent = (event.target as HTMLInputElement).checked;
      void load();
    };
    render(
      html`
        <div class="controls">
          ${choice("First run", options, first, (id) => {
            first = id;
            void load();
          })}
          ${choice("Second run", [["", "none"], ...options], second, (id) => {
            second = id;
            void load();
          })}
          <label class="check">
            <input type="checkbox" .checked=${onlyDifferent} @change=${check}>only what differs
          </label>
        </div>
        ${result}
      `,
      content,
    );
  }

  draw(nothing);
  void load();
  return { title: "Configurations", content };
}

function comparison(found: ConfigComparison, onlyDifferent: boolean): Part {
  const { first, second, keys, problems } = found;
  const different = keys.filter(({ differs }) => differs);
  const shown = second !== null && onlyDifferent ? different : keys;
  const heads = ["key", first.name, ...(second === null ? [] : [second.name])];
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
          ${shown.map(({ key, differs, ...values }) =>
            html`
              <tr class=${differs && !onlyDifferent ? "differs" : nothing}>
                <th scope="row">${key}</th>
                <td>${values.first ?? "not set"}</td>
                ${second === null ? nothing : html`<td>${values.second ?? "not set"}</td>`}
              </tr>
            `
          )}
        </tbody>
      </table>
    </div>
  `;
}
