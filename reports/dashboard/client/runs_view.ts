/** The list of runs, with the state of each, and links to curves of several. */
import { html, nothing, render } from "lit-html";
import type { AccuracyInfo, Overview, RunInfo } from "../api.ts";
import { debounced, type PageState, type Part, problemBox, valueOf, type View } from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, agoText, short, timeText } from "./text.ts";

/** The interval goes to a line of its own where the table is narrow. */
function accuracyCell(value: AccuracyInfo | null): Part {
  const [share, interval] = accuracyText(value).split(" [");
  return html`<span><span class="ci">${share}</span>${
    interval === undefined ? nothing : html`
      <span class="ci">[${interval}</span>
    `
  }</span>`;
}

/** The columns of the list: heading, whether they hold numbers, and the cell of a run. */
const COLUMNS: readonly (readonly [
  head: string,
  isNumber: boolean,
  cell: (run: RunInfo) => Part | string,
])[] = [
  ["run", false, ({ id, name }) => html`<a href=${`#/run?run=${id}`}>${name}</a>`],
  ["state", false, ({ status }) => html`<span class=${`status ${status}`}>${status}</span>`],
  ["step", true, stepCell],
  ["time left", true, (run) => run.status === "running" ? timeText(run.secondsLeft) : "–"],
  ["reward", true, ({ latest }) => short(latest["reward"])],
  ["accuracy before", true, ({ before }) => accuracyCell(before)],
  ["after", true, ({ after }) => accuracyCell(after)],
  ["task", false, ({ task }) => task ?? "–"],
  ["job", false, ({ job }) => job?.id ?? "–"],
  ["restarts", true, restartsText],
  ["last sign", true, ({ lastSign }) => agoText(lastSign)],
];

const classOf = (isNumber: boolean) => isNumber ? "number" : nothing;

function stepCell({ name, step, totalSteps, progress }: RunInfo): Part {
  const bar = progress === null ? nothing : html`
    <progress value=${progress} max="1" aria-label=${`progress of ${name}`}></progress>
  `;
  return html`<span>${bar} ${step ?? "–"}${totalSteps === null ? "" : ` / ${totalSteps}`}</span>`;
}

function restartsText({ restarts, job, restartsWithoutProgress: idle }: RunInfo): string {
  const count = Math.max(restarts, job?.restarts ?? 0);
  if (count === 0) return "–";
  return idle > 0 ? `${count}, ${idle} without progress` : `${count}`;
}

/** @param choose called when the user checks or unchecks the box of the run */
function runRow(run: RunInfo, isChosen: boolean, choose: (id: string) => void): Part {
  const cells = COLUMNS.map(([head, isNumber, cell]) =>
    head === "run"
      ? html`<th scope="row">${cell(run)}</th>`
      : html`<td data-label=${head} class=${classOf(isNumber)}>${cell(run)}</td>`
  );
  return html`
    <tr data-run=${run.id}>
      <td data-label="chosen">
        <input
          type="checkbox"
          aria-label=${`choose ${run.name}`}
          .checked=${isChosen}
          @change=${() => choose(run.id)}
        >
      </td>
      ${cells}
    </tr>
  `;
}

export function runsView({ overview, parameters, remember }: PageState): View {
  let { runs } = overview, search = parameters.get("search") ?? "";
  const chosen = new Set((parameters.get("runs") ?? "").split(",").filter((id) => id !== ""));
  const content = document.createElement("div");

  function open(view: "curves" | "compare"): void {
    const [first = "", second = ""] = chosen;
    const query = view === "curves"
      ? new URLSearchParams(chosen.size === 0 ? {} : { runs: [...chosen].join(",") })
      : new URLSearchParams({ first, second });
    location.hash = `#/${view}?${query}`;
  }

  function find(event: Event): void {
    search = valueOf(event);
    remember({ search });
    draw();
  }

  function choose(id: string): void {
    if (!chosen.delete(id)) chosen.add(id);
    remember({ runs: [...chosen].join(",") });
    draw();
  }

  function draw(): void {
    const wanted = search.trim().toLowerCase();
    const fitting = runs.filter((run) =>
      [run.name, run.folder, run.runName, run.task, run.model, run.status].some((text) =>
        text?.toLowerCase().includes(wanted)
      )
    );
    const note = runs.length === 0
      ? `No run yet in ${overview.folders.join(", ")}; one appears here when it starts.`
      : `${fitting.length} of ${runs.length} run${runs.length === 1 ? "" : "s"}`;
    const curves = chosen.size === 0 ? "Show curves" : `Show curves of ${chosen.size}`;
    const heads = COLUMNS.map(([head, isNumber]) =>
      html`<th scope="col" class=${classOf(isNumber)}>${head}</th>`
    );
    render(
      html`
        ${problemBox(runs.flatMap((run) => run.problems))}
        <div class="controls">
          <label>Search<input type="search" value=${search} @input=${find}></label>
          <button type="button" @click=${() => open("curves")}>${curves}</button>
          <button
            type="button"
            ?disabled=${chosen.size !== 2}
            @click=${() => open("compare")}
          >Compare two</button>
        </div>
        <p class="note" role="status">${note}</p>
        <div class="wide" role="region" aria-label="Runs" tabindex="0">
          <table class="list">
            <thead>
              <tr><th scope="col">chosen</th>${heads}</tr>
            </thead>
            <tbody>${fitting.map((run) => runRow(run, chosen.has(run.id), choose))}</tbody>
          </table>
        </div>
      `,
      content,
    );
  }

  draw();
  const update = debounced(async () => {
    const found = await ask<Overview>("overview").catch(() => null);
    if (found === null) return;
    runs = found.runs;
    draw();
  }, 300);
  return { title: "Runs", content, changed: () => update() };
}
