/** The list of runs, with the state of each, and links to curves of several. */
import type { AccuracyInfo, Overview, RunInfo } from "../api.ts";
import type { PageState, View } from "./view.ts";
import { debounced, field, h, problemBox } from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, agoText, short, timeText } from "./text.ts";

/** The interval goes to a line of its own where the table is narrow. */
function accuracyCell(value: AccuracyInfo | null): HTMLElement {
  const [share, ...interval] = accuracyText(value).split(" [");
  const rest = interval.length === 0 ? [] : [" ", h("span", { class: "ci" }, `[${interval[0]}`)];
  return h("span", {}, h("span", { class: "ci" }, share!), ...rest);
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
    body.replaceChildren(...fitting.map(row));
    compare.disabled = chosen.size !== 2;
    curves.textContent = chosen.size === 0 ? "Show curves" : `Show curves of ${chosen.size}`;
    note.textContent = runs.length === 0
      ? `No run yet in ${overview.folders.join(", ")}; one appears here when it starts.`
      : `${fitting.length} of ${runs.length} runs`;
    const box = problemBox(runs.flatMap((run) => run.problems));
    problems.replaceChildren(...(box === null ? [] : [box]));
  }

  function row(run: RunInfo): HTMLElement {
    const { id, name, status, step, totalSteps, progress } = run;
    const box = h("input", { type: "checkbox", "aria-label": `choose ${name}` });
    box.checked = chosen.has(id);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(id);
      else chosen.delete(id);
      remember({ runs: [...chosen].join(",") });
      draw();
      body.querySelector<HTMLInputElement>(`[data-run="${id}"] input`)?.focus();
    });
    const count = Math.max(run.restarts, run.job?.restarts ?? 0);
    const restarts = count === 0
      ? "–"
      : `${count}${
        run.restartsWithoutProgress > 0 ? `, ${run.restartsWithoutProgress} without progress` : ""
      }`;
    const cell = (label: string, content: Node | string, isNumber = false) =>
      h("td", { "data-label": label, class: isNumber ? "number" : null }, content);
    return h(
      "tr",
      { "data-run": id },
      cell("chosen", box),
      h("th", { scope: "row" }, h("a", { href: `#/run?run=${id}` }, name)),
      cell("state", h("span", { class: `status ${status}` }, status)),
      cell(
        "step",
        h("span", {}, [
          progress === null ? null : h("progress", {
            value: progress,
            max: 1,
            "aria-label": `progress of ${name}`,
          }),
          ` ${step ?? "–"}${totalSteps === null ? "" : ` / ${totalSteps}`}`,
        ]),
        true,
      ),
      cell("time left", status === "running" ? timeText(run.secondsLeft) : "–", true),
      cell("reward", short(run.latest["reward"]), true),
      cell("accuracy before", accuracyCell(run.before), true),
      cell("after", accuracyCell(run.after), true),
      cell("task", run.task ?? "–"),
      cell("job", run.job === null ? "–" : run.job.id),
      cell("restarts", restarts, true),
      cell("last sign", agoText(run.lastSign), true),
    );
  }

  const heads = [
    "chosen",
    "run",
    "state",
    "step",
    "time left",
    "reward",
    "accuracy before",
    "after",
    "task",
    "job",
    "restarts",
    "last sign",
  ];
  const numbers = ["step", "time left", "reward", "accuracy before", "after", "restarts"];
  const table = h(
    "table",
    { class: "list" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) =>
          h("th", {
            scope: "col",
            class: numbers.includes(head) || head === "last sign" ? "number" : null,
          }, head)
        ),
      ),
    ),
    body,
  );
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
      h("div", { class: "wide", role: "region", "aria-label": "Runs", tabindex: 0 }, table),
    ),
    changed: () => update(),
  };
}
