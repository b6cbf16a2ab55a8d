/** The list of runs, with the state of each, and links to curves of several. */
import type { AccuracyInfo, Overview, RunInfo } from "../api.ts";
import { debounced, field, h, type PageState, problemBox, type View } from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, agoText, short, timeText } from "./text.ts";

/** The interval goes to a line of its own where the table is narrow. */
function accuracyCell(value: AccuracyInfo | null): HTMLElement {
  const [share, ...interval] = accuracyText(value).split(" [");
  const rest = interval.length === 0 ? [] : [" ", h("span", { class: "ci" }, `[${interval[0]}`)];
  return h("span", {}, h("span", { class: "ci" }, share!), ...rest);
}

/** The columns of the list, and whether they hold numbers. */
const COLUMNS: readonly (readonly [head: string, isNumber: boolean])[] = [
  ["chosen", false],
  ["run", false],
  ["state", false],
  ["step", true],
  ["time left", true],
  ["reward", true],
  ["accuracy before", true],
  ["after", true],
  ["task", false],
  ["job", false],
  ["restarts", true],
  ["last sign", true],
];

const classOf = (isNumber: boolean) => isNumber ? "number" : null;

function runTable(body: HTMLElement): HTMLElement {
  const heads = COLUMNS.map(([head, isNumber]) =>
    h("th", { scope: "col", class: classOf(isNumber) }, head)
  );
  return h("table", { class: "list" }, h("thead", {}, h("tr", {}, heads)), body);
}

/** @param choose called when the user chooses the run, or no longer */
function runRow(
  run: RunInfo,
  isChosen: boolean,
  choose: (id: string, isChosen: boolean) => void,
): HTMLElement {
  const { id, name, status } = run;
  const box = h("input", { type: "checkbox", "aria-label": `choose ${name}` });
  box.checked = isChosen;
  box.addEventListener("change", () => choose(id, box.checked));
  // In the order of the columns.
  const contents: (Node | string)[] = [
    box,
    h("a", { href: `#/run?run=${id}` }, name),
    h("span", { class: `status ${status}` }, status),
    stepCell(run),
    status === "running" ? timeText(run.secondsLeft) : "–",
    short(run.latest["reward"]),
    accuracyCell(run.before),
    accuracyCell(run.after),
    run.task ?? "–",
    run.job === null ? "–" : run.job.id,
    restartsText(run),
    agoText(run.lastSign),
  ];
  const cells = COLUMNS.map(([head, isNumber], i) =>
    head === "run"
      ? h("th", { scope: "row" }, contents[i]!)
      : h("td", { "data-label": head, class: classOf(isNumber) }, contents[i]!)
  );
  return h("tr", { "data-run": id }, cells);
}

function stepCell({ name, step, totalSteps, progress }: RunInfo): HTMLElement {
  const bar = progress === null
    ? null
    : h("progress", { value: progress, max: 1, "aria-label": `progress of ${name}` });
  return h("span", {}, [bar, ` ${step ?? "–"}${totalSteps === null ? "" : ` / ${totalSteps}`}`]);
}

function restartsText({ restarts, job, restartsWithoutProgress: idle }: RunInfo): string {
  const count = Math.max(restarts, job?.restarts ?? 0);
  if (count === 0) return "–";
  return idle > 0 ? `${count}, ${idle} without progress` : `${count}`;
}

export function runsView({ overview, parameters, remember }: PageState): View {
  let { runs } = overview;
  const chosen = new Set((parameters.get("runs") ?? "").split(",").filter((id) => id !== ""));
  const body = h("tbody"), problems = h("div"), note = h("p", { class: "note", role: "status" });
  const search = h("input", { type: "search", value: parameters.get("search") ?? "" });
  const curves = h("button", { type: "button", onclick: () => open("curves") }, "Show curves");
  const compare = h("button", { type: "button", onclick: () => open("compare") }, "Compare two");
  search.addEventListener("input", () => {
    remember({ search: search.value });
    draw();
  });

  function open(view: "curves" | "compare"): void {
    const [first = "", second = ""] = chosen;
    const query = view === "curves"
      ? new URLSearchParams(chosen.size === 0 ? {} : { runs: [...chosen].join(",") })
      : new URLSearchParams({ first, second });
    location.hash = `#/${view}?${query}`;
  }

  function draw(): void {
    const wanted = search.value.trim().toLowerCase();
    const fitting = runs.filter((run) =>
      [run.name, run.folder, run.runName, run.task, run.model, run.status].some((text) =>
        text?.toLowerCase().includes(wanted)
      )
    );
    body.replaceChildren(...fitting.map((run) => runRow(run, chosen.has(run.id), choose)));
    compare.disabled = chosen.size !== 2;
    curves.textContent = chosen.size === 0 ? "Show curves" : `Show curves of ${chosen.size}`;
    note.textContent = runs.length === 0
      ? `No run yet in ${overview.folders.join(", ")}; one appears here when it starts.`
      : `${fitting.length} of ${runs.length} run${runs.length === 1 ? "" : "s"}`;
    const box = problemBox(runs.flatMap((run) => run.problems));
    problems.replaceChildren(...(box === null ? [] : [box]));
  }

  function choose(id: string, isChosen: boolean): void {
    if (isChosen) chosen.add(id);
    else chosen.delete(id);
    remember({ runs: [...chosen].join(",") });
    draw();
    body.querySelector<HTMLInputElement>(`[data-run="${id}"] input`)?.focus();
  }

  draw();
  const update = debounced(async () => {
    const found = await ask<Overview>("overview").catch(() => null);
    if (found === null) return;
    runs = found.runs;
    // A list that is drawn anew would lose the focus of a person at the keyboard.
    const focused = document.activeElement?.closest<HTMLElement>("[data-run]");
    const isLink = document.activeElement?.tagName === "A", id = focused?.dataset["run"];
    draw();
    if (id !== undefined) {
      body.querySelector<HTMLElement>(`[data-run="${id}"] ${isLink ? "a" : "input"}`)?.focus();
    }
  }, 300);
  return {
    title: "Runs",
    element: h(
      "div",
      {},
      problems,
      h("div", { class: "controls" }, field("Search", search), curves, compare),
      note,
      h(
        "div",
        { class: "wide", role: "region", "aria-label": "Runs", tabindex: 0 },
        runTable(body),
      ),
    ),
    changed: () => update(),
  };
}
