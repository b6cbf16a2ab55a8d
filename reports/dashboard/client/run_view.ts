/** One run: its state, its job, its sessions, and what was noticed. */
import type { RunDetails } from "../api.ts";
import { debounced, h, type PageState, problemBox, type View } from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, agoText, dateText, metricText, short, timeText } from "./text.ts";

export async function runView({ parameters }: PageState): Promise<View> {
  const run = parameters.get("run") ?? "";
  const element = h("div"), details = await ask<RunDetails>("run", { run });
  element.replaceChildren(...contents(details));
  const update = debounced(async () => {
    const found = await ask<RunDetails>("run", { run }).catch(() => null);
    if (found !== null && !element.contains(document.activeElement)) {
      element.replaceChildren(...contents(found));
    }
  }, 300);
  return {
    title: details.name,
    element,
    changed({ metrics, states }) {
      if (metrics.includes(run) || states.includes(run)) update();
    },
  };
}

function contents(run: RunDetails): Node[] {
  const { job, step, totalSteps, latest } = run;
  const links = [
    [`#/curves?runs=${run.id}`, "Curves"],
    ...(run.hasCompletions ? [[`#/completions?run=${run.id}`, "Completions"]] : []),
    [`#/compare?first=${run.id}`, "Configuration"],
  ];
  const shown = ["reward", "loss", "kl", "entropy", "completions/mean_length", "grad_norm"]
    .concat("throughput/tokens_per_second", "memory/peak_bytes");
  return [
    problemBox([...run.problems, ...(run.error === null ? [] : [`It failed: ${run.error}`])]),
    h(
      "p",
      {},
      links.flatMap(([href, text], i) => [
        i === 0 ? "" : " · ",
        h("a", { href: href! }, text!),
      ]),
    ),
    facts([
      ["state", run.status],
      ["step", `${step ?? "–"}${totalSteps === null ? "" : ` of ${totalSteps}`}`],
      ["time left (estimate)", run.status === "running" ? timeText(run.secondsLeft) : "–"],
      ["last sign of life", agoText(run.lastSign)],
      ["started", dateText(run.started)],
      ["accuracy before", accuracyText(run.before)],
      ["accuracy after", accuracyText(run.after)],
      ["model", run.model ?? "–"],
      ["task", run.task ?? "–"],
      ["device", run.device ?? "–"],
      ["folder", run.folder],
      ...(run.runName === null ? [] : [["run_name", run.runName]]),
    ]),
    h("h2", {}, "Job"),
    job === null ? h("p", {}, "This run is not in a job of a scheduler.") : facts([
      ["job", `${job.id}${job.name === null ? "" : ` (${job.name})`}`],
      ["node", job.node ?? "–"],
      ["requeued", `${job.restarts} times`],
      ["starts without progress", String(run.restartsWithoutProgress)],
      [
        "time left in the job",
        run.jobSecondsLeft === null ? "not known here" : timeText(run.jobSecondsLeft),
      ],
    ]),
    h("h2", {}, `Starts (${run.sessions.length})`),
    table(
      ["start", "end", "state", "from", "to", "host", "job"],
      run.sessions.map((session) => [
        dateText(session.start),
        dateText(session.end),
        session.reason === null ? session.status : `${session.status}: ${session.reason}`,
        session.from,
        session.to ?? "–",
        session.host,
        session.job === null
          ? "–"
          : `${session.job}${session.restart ? `, requeued ${session.restart} times` : ""}`,
      ]),
      "Starts of this run",
    ),
    h("h2", {}, "Newest step"),
    facts(
      shown.filter((name) => latest[name] !== undefined)
        .map((name) => [name, metricText(name, latest[name]!)]),
    ),
    h("h2", {}, "What was noticed"),
    run.remarks.length === 0 ? h("p", {}, "Nothing.") : h(
      "ul",
      {},
      run.remarks.map(({ kind, step, text, tries }) =>
        h(
          "li",
          {},
          `${kind}${step === null ? "" : ` at step ${step}`}: ${text}`,
          tries.map((key) => h("span", {}, " ", h("code", {}, key))),
        )
      ),
    ),
    Object.keys(run.secondsByPhase).length === 0 ? null : h("h2", {}, "Time by phase"),
    Object.keys(run.secondsByPhase).length === 0 ? null : facts(
      Object.entries(run.secondsByPhase).map(([phase, seconds]) => [
        phase,
        seconds < 60 ? `${short(seconds)} s` : timeText(seconds),
      ]),
    ),
  ].filter((node) => node !== null);
}

function facts(pairs: readonly (readonly string[])[]): HTMLElement {
  return h(
    "dl",
    { class: "facts" },
    pairs.map(([name, value]) => h("div", {}, h("dt", {}, name!), h("dd", {}, value!))),
  );
}

function table(heads: readonly string[], rows: readonly string[][], name: string): HTMLElement {
  return h(
    "div",
    { class: "wide", role: "region", "aria-label": name, tabindex: 0 },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))),
    ),
  );
}
