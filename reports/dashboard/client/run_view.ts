/** One run: its state, its job, its sessions, and its warnings and advice. */
import { html, nothing, render } from "lit-html";
import type { RunDetails } from "../api.ts";
import { debounced, type PageState, type Part, problemBox, table, type View } from "./dom.ts";
import { ask } from "./server.ts";
import { accuracyText, agoText, dateText, metricText, short, timeText } from "./text.ts";

/** The metrics of the newest step that are shown. */
const SHOWN = [
  "reward",
  "loss",
  "kl",
  "entropy",
  "completions/mean_length",
  "grad_norm",
  "throughput/tokens_per_second",
  "memory/peak_bytes",
];

export async function runView({ parameters }: PageState): Promise<View> {
  const run = parameters.get("run") ?? "", details = await ask<RunDetails>("run", { run });
  const content = document.createElement("div");
  render(contents(details), content);
  const update = debounced(async () => {
    const found = await ask<RunDetails>("run", { run }).catch(() => null);
    if (found !== null) render(contents(found), content);
  }, 300);
  return {
    title: details.name,
    content,
    changed({ metrics, states }) {
      if (metrics.includes(run) || states.includes(run)) update();
    },
  };
}

function contents(run: RunDetails): Part {
  const { id, job, step, totalSteps, latest, sessions, remarks } = run;
  const phases = Object.entries(run.secondsByPhase);
  return html`
    ${problemBox([...run.problems, ...(run.error === null ? [] : [`It failed: ${run.error}`])])}
    <p>
      <a href=${`#/curves?runs=${id}`}>Curves</a> ·
      ${run.hasCompletions
        ? html`
          <a href=${`#/completions?run=${id}`}>Completions</a> ·
        `
        : nothing}
      <a href=${`#/compare?first=${id}`}>Configuration</a>
    </p>
    ${facts([
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
      ...(run.runName === null ? [] : [["run_name", run.runName] as const]),
    ])}
    <h2>Job</h2>
    ${job === null ? html`<p>This run is not in a job of a scheduler.</p>` : facts([
      ["job", `${job.id}${job.name === null ? "" : ` (${job.name})`}`],
      ["node", job.node ?? "–"],
      ["requeued", `${job.restarts} times`],
      ["starts without progress", String(run.restartsWithoutProgress)],
      [
        "time left in the job",
        run.jobSecondsLeft === null ? "not known here" : timeText(run.jobSecondsLeft),
      ],
    ])}
    <h2>Starts (${sessions.length})</h2>
    ${table(
      "Starts of this run",
      ["start", "end", "state", "from", "to", "host", "job"],
      sessions.map(({ start, end, status, reason, from, to, host, job, restart }) => [
        dateText(start),
        dateText(end),
        reason === null ? status : `${status}: ${reason}`,
        from,
        to ?? "–",
        host,
        job === null ? "–" : `${job}${restart ? `, requeued ${restart} times` : ""}`,
      ]),
    )}
    <h2>Newest step</h2>
    ${facts(
      SHOWN.filter((name) => latest[name] !== undefined)
        .map((name) => [name, metricText(name, latest[name]!)]),
    )}
    <h2>What was noticed</h2>
    ${remarks.length === 0 ? html`<p>Nothing.</p>` : html`
      <ul>
        ${remarks.map(({ kind, step, text, tries }) =>
          html`
            <li>
              ${kind}${step === null ? "" : ` at step ${step}`}: ${text}
              ${tries.map((key) =>
                html`
                  <code>${key}</code>
                `
              )}
            </li>
          `
        )}
      </ul>
    `}
    ${phases.length === 0 ? nothing : html`
      <h2>Time by phase</h2>
      ${facts(phases.map(([phase, seconds]) => [
        phase,
        seconds < 60 ? `${short(seconds)} s` : timeText(seconds),
      ]))}
    `}
  `;
}

function facts(pairs: readonly (readonly [name: string, value: string])[]): Part {
  return html`
    <dl class="facts">
      ${pairs.map(([name, value]) =>
        html`
          <div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>
        `
      )}
    </dl>
  `;
}
