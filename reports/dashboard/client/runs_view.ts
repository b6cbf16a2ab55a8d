/** The list of runs, sorted and filtered, with the course of each, and links to several. */
import { html, nothing, render, svg } from "lit-html";
import { counted } from "../../../core/counted.ts";
import type { Overview } from "../data_routes.ts";
import type { Spark } from "../reading/metrics_file.ts";
import type { RunInfo } from "../reading/run_state.ts";
import {
  ask,
  breakable,
  debounced,
  Fields,
  intervalBar,
  type PageState,
  type Part,
  problemBox,
  tag,
  type View,
} from "./dom.ts";
import { agoText, heldOut, intervalText, percent, pointsText, short, timeText } from "./text.ts";

type Sparks = Readonly<Record<string, Spark>>;
type Sortable = string | number | null | undefined;

interface Column {
  head: string;
  isNumber?: true;
  /** @param isBest whether no other run that is shown has answered more of the same problems */
  cell: (run: RunInfo, spark: Spark | undefined, isBest: boolean) => Part | string;
  /** What the list is sorted by. */
  by: (run: RunInfo, spark: Spark | undefined) => Sortable;
}

const COLUMNS: readonly Column[] = [
  { head: "run", cell: nameCell, by: ({ name }) => name },
  { head: "state", cell: stateCell, by: ({ status }) => status },
  {
    head: "reward",
    isNumber: true,
    cell: ({ latest }, spark) =>
      html`<span class="spark-cell">${sparkline(spark?.reward ?? [])}<b>${
        latest["reward"] === undefined ? "–" : short(Number(latest["reward"].toPrecision(3)))
      }</b></span>`,
    by: ({ latest }) => latest["reward"],
  },
  {
    head: "held-out accuracy",
    isNumber: true,
    cell: accuracyCell,
    by: accuracyNow,
  },
  {
    head: "gain [95 %]",
    isNumber: true,
    cell: ({ gain }) => gain === null ? "–" : gainCell(gain),
    by: ({ gain }) => gain?.difference,
  },
  { head: "model", cell: ({ model }) => shortPath(model), by: ({ model }) => model },
  { head: "task", cell: ({ task }) => shortPath(task), by: ({ task }) => task },
  {
    head: "duration",
    isNumber: true,
    cell: ({ seconds, secondsPerStep: pace }) =>
      html`<span>${timeText(seconds)}${
        pace === null ? nothing : html`<br><small>${timeText(pace)} a step</small>`
      }</span>`,
    by: ({ seconds }) => seconds,
  },
  {
    head: "last sign",
    isNumber: true,
    cell: ({ lastSign }) => agoText(lastSign),
    by: ({ lastSign }) => lastSign,
  },
];

function accuracyNow(run: RunInfo, spark: Spark | undefined): number | undefined {
  const { before, last } = heldOut(run, spark);
  return (last ?? before)?.accuracy;
}

function nameCell({ id, name, runName, tags, note, job, restarts, remarks }: RunInfo): Part {
  const more = [
    ...(runName === null || runName === name ? [] : [runName]),
    ...(job === null ? [] : [`job ${job.id}`]),
    ...(restarts === 0 ? [] : [counted(restarts, "restart")]),
    ...(note === "" ? [] : [note]),
  ].join(" · ");
  return html`
    <a href=${`#/run?run=${id}`}>${breakable(name)}</a> ${tags.map((one) => tag(one))}
    ${more === "" ? nothing : html`<small class="note">${more}</small>`}
    ${remarks.slice(-1).map(({ kind, text }) =>
      html`<small class="noticed" title=${text}>${kind}: ${text.split(/: |\. /)[0]}</small>`
    )}
  `;
}

/** The end of a path, and all of it at the pointer. */
function shortPath(path: string | null): Part | string {
  if (path === null) return "–";
  return html`<span title=${path}>${breakable(path.split("/").at(-1)!)}</span>`;
}

function stateCell({ name, status, step, totalSteps, progress, secondsLeft }: RunInfo): Part {
  const left = status === "running" ? html`<small>${timeText(secondsLeft)} left</small>` : nothing;
  return html`<span class="state-cell"><span class=${`status ${status}`}>${status}</span>
    <small class="note">${step ?? "–"}${totalSteps === null ? "" : ` / ${totalSteps}`}</small>
    ${
    progress === null || status === "completed" ? nothing : html`
      <progress value=${progress} max="1" aria-label=${`progress of ${name}`}></progress>
    `
  }${left}</span>`;
}

function accuracyCell(run: RunInfo, spark: Spark | undefined, isBest: boolean): Part {
  const { before, last } = heldOut(run, spark);
  if (before === null && last === null) return html`–`;
  const share = (value: typeof last) => value === null ? "–" : percent(value.accuracy);
  return html`<span class="accuracy-cell">
    <span class="ci">${isBest ? tag("best") : nothing} ${share(before)} →
      <b>${share(last)}</b></span>
    ${last === null ? nothing : intervalBar(last, "after")}</span>`;
}

function gainCell(gain: NonNullable<RunInfo["gain"]>): Part {
  const [low, high] = gain.ci95, kind = low > 0 ? "good" : high < 0 ? "bad" : "";
  return html`<span class="ci"><b class=${kind}>${pointsText(gain.difference)}</b>
    <small>${intervalText(gain)}</small></span>`;
}

/** The course of a metric without scales. */
function sparkline(values: readonly (number | null)[]): Part {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return html`<span class="spark"></span>`;
  const low = Math.min(...known), size = Math.max(...known) - low || 1, last = known.length - 1;
  const points = known.map((value, i) =>
    `${(100 * i / last).toFixed(1)},${(22 - 20 * (value - low) / size).toFixed(1)}`
  );
  return html`
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      ${svg`<polyline points=${points.join(" ")}></polyline>`}
    </svg>
  `;
}

const classOf = ({ isNumber }: Column) => isNumber ? "number" : nothing;

export function runsView(state: PageState): View {
  const { overview, parameters, remember } = state;
  let { runs } = overview, sparks: Sparks = {};
  const fields = new Fields(state, ["search", "status", "tag", "sort"], draw);
  const chosen = new Set((parameters.get("runs") ?? "").split(",").filter((id) => id !== ""));
  const content = document.createElement("div");

  function open(view: "curves" | "compare"): void {
    const [first = "", second = ""] = chosen;
    const query = view === "curves"
      ? new URLSearchParams(chosen.size === 0 ? {} : { runs: [...chosen].join(",") })
      : new URLSearchParams({ first, second });
    location.hash = `#/${view}?${query}`;
  }

  function choose(id: string): void {
    if (!chosen.delete(id)) chosen.add(id);
    remember({ runs: [...chosen].join(",") });
    draw();
  }

  function fitting(): RunInfo[] {
    const { search, status, tag, sort } = fields.values, wanted = search.trim().toLowerCase();
    const found = runs.filter((run) =>
      (status === "" || run.status === status) && (tag === "" || run.tags.includes(tag)) &&
      [run.name, run.folder, run.runName, run.task, run.model, run.note, ...run.tags]
        .some((text) => text?.toLowerCase().includes(wanted))
    );
    const column = COLUMNS.find(({ head }) => head === sort.replace(/^-/, ""));
    if (column === undefined) {
      return found.toSorted((one, other) => compared(one.started, other.started, -1));
    }
    const sign = sort.startsWith("-") ? -1 : 1;
    return found.toSorted((one, other) =>
      compared(column.by(one, sparks[one.id]), column.by(other, sparks[other.id]), sign)
    );
  }

  function heading(column: Column): Part {
    const { head } = column, { sort } = fields.values;
    const isUp = sort === head, isDown = sort === `-${head}`;
    // The largest number is mostly wanted first.
    const orders = column.isNumber ? [`-${head}`, head, ""] : [head, `-${head}`, ""];
    const next = orders[(orders.indexOf(sort) + 1) % orders.length]!;
    return html`
      <th
        scope="col"
        class=${classOf(column)}
        aria-sort=${isUp ? "ascending" : isDown ? "descending" : nothing}
      >
        <button type="button" class="sort" @click=${() => fields.set("sort", next)}>
          ${head}${isUp ? " ↑" : isDown ? " ↓" : ""}
        </button>
      </th>
    `;
  }

  /** The best of runs with the same kind of problems. */
  function bestOf(found: readonly RunInfo[]): Set<RunInfo> {
    const now = (run: RunInfo) => accuracyNow(run, sparks[run.id]) ?? -1;
    const groups = [...Map.groupBy(found, ({ problemSet }) => problemSet).values()];
    return new Set(
      groups.filter(({ length }) => length > 1)
        .map((runs) => runs.toSorted((one, other) => now(other) - now(one))[0]!)
        .filter((run) => now(run) > 0),
    );
  }

  function row(run: RunInfo, isBest: boolean): Part {
    const cells = COLUMNS.map((column) => {
      const cell = column.cell(run, sparks[run.id], isBest), { head } = column;
      return head === "run"
        ? html`<th scope="row">${cell}</th>`
        : html`<td data-label=${head} class=${classOf(column)}>${cell}</td>`;
    });
    return html`
      <tr data-run=${run.id}>
        <td class="choose">
          <input
            type="checkbox"
            aria-label=${`choose ${run.name}`}
            .checked=${chosen.has(run.id)}
            @change=${() => choose(run.id)}
          >
        </td>
        ${cells}
      </tr>
    `;
  }

  function draw(): void {
    const found = fitting(),
      best = bestOf(found),
      sorted = (names: string[]) => [...new Set(names)].sort();
    const note = runs.length === 0
      ? `No run yet in ${overview.folders.join(", ")}; one appears here when it starts.`
      : `${found.length} of ${counted(runs.length, "run")}`;
    const curves = chosen.size === 0 ? "Show curves" : `Show curves of ${chosen.size}`;
    const states = sorted(runs.map(({ status }) => status));
    const tags = sorted(runs.flatMap((run) => run.tags));
    render(
      html`
        ${problemBox(runs.flatMap((run) => run.problems))}
        <div class="controls">
          ${fields.input("search", "Search")}
          ${fields.choice("status", "State", [["", "all"], ...states])}
          ${tags.length > 0 ? fields.choice("tag", "Tag", [["", "all"], ...tags]) : nothing}
          <button type="button" @click=${() => open("curves")}>${curves}</button>
          <button
            type="button"
            ?disabled=${chosen.size !== 2}
            title="Choose two runs in the list"
            @click=${() => open("compare")}
          >Compare two</button>
          <span class="note" role="status">${note}</span>
        </div>
        <div class="wide" role="region" aria-label="Runs" tabindex="0">
          <table class="list cards">
            <thead>
              <tr>
                <th scope="col" class="choose"><span class="hidden">chosen</span></th>
                ${COLUMNS.map(heading)}
              </tr>
            </thead>
            <tbody>${found.map((run) => row(run, best.has(run)))}</tbody>
          </table>
        </div>
      `,
      content,
    );
  }

  draw();
  const look = async () => {
    sparks = await ask<Sparks>("sparks").catch(() => sparks);
    draw();
  };
  void look();
  const update = debounced(async () => {
    const found = await ask<Overview>("overview").catch(() => null);
    if (found === null) return;
    runs = found.runs;
    await look();
  }, 300);
  return { title: "Runs", content, changed: () => update() };
}

/** Unknown values come last. */
function compared(a: Sortable, b: Sortable, sign: number): number {
  const [isNone, isOtherNone] = [a, b].map((value) => value === null || value === undefined);
  if (isNone || isOtherNone) return Number(isNone) - Number(isOtherNone);
  return sign * (typeof a === "number" ? a - Number(b) : String(a).localeCompare(String(b)));
}
