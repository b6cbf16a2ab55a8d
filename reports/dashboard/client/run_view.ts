/**
 * One run as a story: where it is, what the training is worth so far, the reward with the
 * evaluations in it, what was noticed, completions of now; its details are folded.
 */
import { html, nothing, render } from "lit-html";
import type { CurvesOfRun, RunPage } from "../data_routes.ts";
import type { Said } from "../launch.ts";
import type { CompletionPage } from "../reading/completions.ts";
import type { Spark } from "../reading/metrics_file.ts";
import { Chart, type ShownRun } from "./chart.ts";
import { byPrompt, completionTable, TokenRows } from "./completions_view.ts";
import {
  ask,
  debounced,
  facts,
  folded,
  intervalBar,
  type PageState,
  type Part,
  problemBox,
  table,
  valueOf,
  type View,
} from "./dom.ts";
import {
  accuracyText,
  agoText,
  dateText,
  gainText,
  heldOut,
  intervalText,
  metricText,
  percent,
  timeText,
} from "./text.ts";

/** The metrics of the newest step that are shown. */
const SHOWN = [
  "reward",
  "loss",
  "kl",
  "entropy",
  "completions/mean_length",
  "grad_norm",
  "learning_rate",
  "step_time",
  "throughput/tokens_per_second",
  "num_tokens",
  "memory/peak_bytes",
  "memory/host_bytes",
];
/** Completions of the newest step that are read, and prompts that are shown. */
const COMPLETIONS = 64, PROMPTS = 3;

export async function runView({ overview, parameters }: PageState): Promise<View> {
  const run = parameters.get("run") ?? "", content = document.createElement("div");
  let range: [number, number] | null = null;
  const chart = new Chart(
    "reward",
    (next) => {
      range = next;
      void load();
    },
    300,
    "Reward and held-out accuracy",
    "Reward: weighted sum of all rewards, mean over the completions of a step. " +
      "The band is the 95 % interval of the accuracy.",
  );
  const tokens = new TokenRows(() => run, () => draw());
  let draw = () => {};
  const load = async () => {
    const metrics = "reward,sft/loss,eval_accuracy", [from, to] = range ?? [null, null];
    const [details, sparks, found, completions] = await Promise.all([
      ask<RunPage>("run", { run }),
      ask<Record<string, Spark>>("sparks", { run }),
      ask<CurvesOfRun>("curves", { run, metrics, points: 800, smoothing: 0.8, from, to }),
      ask<CompletionPage>("completions", { run, limit: COMPLETIONS }),
    ]);
    const { reward, eval_accuracy: accuracy } = found.curves, isShown = reward !== undefined;
    draw = () =>
      render(
        [
          overview.allowsRuns ? control(details) : nothing,
          contents(details, sparks[run]!, isShown ? chart.element : null, completions, tokens),
        ],
        content,
      );
    draw();
    const shown: ShownRun[] = [
      { id: run, name: "reward", index: 0 },
      { id: run, name: "held-out accuracy", index: 1, right: "eval_accuracy" },
    ];
    // The chart has its width after it is on the page.
    const curves = () => chart.draw(shown.slice(0, accuracy ? 2 : 1), [reward, accuracy]);
    if (isShown) requestAnimationFrame(curves);
    return details;
  };
  const details = await load(), update = debounced(() => void load().catch(() => {}), 300);
  return {
    title: details.name,
    content,
    changed: ({ runs }) => runs.includes(run) && update(),
    redraw: () => chart.redraw(),
    leave: () => chart.destroy(),
  };
}

function contents(
  run: RunPage,
  spark: Spark,
  chart: HTMLElement | null,
  completions: CompletionPage,
  tokens: TokenRows,
): Part {
  const { id, remarks } = run, phases = Object.entries(run.secondsByPhase);
  return html`
    ${problemBox([...run.problems, ...(run.error === null ? [] : [`It failed: ${run.error}`])])}
    <p class="links">
      <a href=${`#/curves?runs=${id}`}>All curves</a>
      ${run.hasCompletions ? html`<a href=${`#/completions?run=${id}`}>Completions</a>` : nothing}
      <a href=${`#/compare?first=${id}`}>Configuration</a>
      ${run.report
        ? html`<a href=${run.report} target="_blank" rel="noopener">Report</a>`
        : nothing}
    </p>
    <div class="story">
      <section class="panel">${progress(run)}</section>
      <section class="panel">${worth(run, spark)}</section>
    </div>
    <h2 class="hidden">Course</h2>
    ${chart ?? html`<p class="note">No step of GRPO yet; All curves has the warm start.</p>`}
    <h2>What was noticed</h2>
    ${remarks.length === 0 ? html`<p class="note">Nothing that needs your attention.</p>` : html`
      <ul class="remarks">
        ${remarks.map(({ kind, step, text, tries }) =>
          html`
            <li class=${kind}>
              <b>${kind}${step === null ? "" : `, step ${step}`}</b> ${text}
              ${tries.length === 0 ? nothing : html`
                <div class="tries">
                  Try: ${tries.map((key) =>
                    html`
                      <code>${key}</code>
                    `
                  )}
                </div>
              `}
            </li>
          `
        )}
      </ul>
    `}
    ${completions.rows.length === 0 ? nothing : html`
      <h2>Completions of step ${completions.rows[0]!.step}</h2>
      ${completionTable(bestAndWorst(completions.rows), run.weights, tokens)}
    `}
    ${notes(run)}
    ${folded(
      "Newest step",
      facts(
        SHOWN.filter((name) => run.latest[name] !== undefined)
          .map((name) => [name, metricText(name, run.latest[name]!)]),
      ),
    )}
    ${phases.length === 0 ? nothing : folded(
      "Time by phase",
      facts(phases.map(([phase, seconds]) => [phase.replaceAll("_", " "), timeText(seconds)])),
    )}
    ${folded("Where it runs", where(run))}
  `;
}

/** Of some prompts the two best completions, and the two worst. */
function bestAndWorst(rows: CompletionPage["rows"]): CompletionPage["rows"] {
  return byPrompt(rows).slice(0, PROMPTS).flatMap((group) => {
    const sorted = group.toSorted((a, b) => (b.advantage ?? 0) - (a.advantage ?? 0));
    const texts = [...new Set(sorted.map(({ completion }) => completion))];
    const shown = [...texts.slice(0, 2), ...texts.slice(-2)];
    return sorted.filter(({ completion }) => shown.includes(completion));
  });
}

/** Stops a run, or goes on with one that has not ended. */
function control({ id, status }: RunPage): Part {
  if (status === "completed") return nothing;
  const what = status === "running" ? "stop" : "resume";
  const send = async (event: Event) => {
    const said = (event.target as HTMLElement).nextElementSibling as HTMLOutputElement;
    said.value = "…";
    said.value = await ask<Said>(what, { run: id }, {})
      .then(({ text }) => text, (error) => (error as Error).message);
  };
  return html`
    <p class="control">
      <button type="button" @click=${send}>${what === "stop" ? "Stop and save" : "Resume"}</button>
      <output class="note"></output>
    </p>
  `;
}

/** The state, how far it is, and how long it still takes. */
function progress(run: RunPage): Part {
  const { status, step, totalSteps, seconds, lastSign } = run;
  const steps = `step ${step ?? 0}${totalSteps === null ? "" : ` of ${totalSteps}`}`;
  const isRunning = status === "running";
  return html`
    <p class="label">State</p>
    <p class="big"><span class=${`status ${status}`}>${status}</span> <small>${steps}</small></p>
    <progress value=${run.progress ?? 0} max="1" aria-label="progress"></progress>
    <p class="note">
      ${isRunning
        ? html`
          <b>${timeText(run.secondsLeft)} left</b> if steps stay as fast as the newest
                  ones, and the evaluation at the end.
        `
        : nothing}
      ${seconds === null ? nothing : `${timeText(seconds)}${isRunning ? " so far" : ""}. `}
      ${isRunning ? `Last sign ${agoText(lastSign)}.` : `Started ${dateText(run.started)}.`}
    </p>
    ${run.secondsPerStep === null ? nothing : html`
      <p class="note">A step takes <b>${timeText(run.secondsPerStep)}</b>${phaseShares(run)}</p>
    `}
    <p class="note">${run.model ?? "–"} on ${run.task ?? "–"}${run.device === null
      ? ""
      : `, ${run.device}`}</p>
  `;
}

/** The phases that take most of the time, with their shares. */
function phaseShares({ secondsByPhase }: RunPage): string {
  const phases = Object.entries(secondsByPhase).sort(([, one], [, other]) => other - one);
  const all = phases.reduce((sum, [, seconds]) => sum + seconds, 0);
  const most = phases.slice(0, 3).filter(([, seconds]) => seconds > 0.05 * all);
  const texts = most.map(([name, seconds]) =>
    `${Math.round(100 * seconds / all)} % ${name.replaceAll("_", " ")}`
  );
  return texts.length === 0 ? "." : `; of all time ${texts.join(", ")}.`;
}

/** Held-out accuracy before, and now or after. */
function worth(run: RunPage, spark: Spark): Part {
  const { after, gain, status } = run, { now } = spark, { before, last } = heldOut(run, spark);
  const name = after !== null ? "after" : now === null ? "now" : `step ${now.step}`;
  const line = (label: string, value: typeof last, kind: string) =>
    html`
      <div class="measure">
        <span class="label">${label}</span>
        ${value === null ? html`<span class="note">not measured yet</span>` : html`
          <span class="big">${percent(value.accuracy)}</span>
          <span class="ci">${intervalText(value)} of ${value.total}</span>
          ${intervalBar(value, kind)}
        `}
      </div>
    `;
  const isShown = gain !== null && (gain.ci95[0] > 0 || gain.ci95[1] < 0);
  const verdict = gain === null
    ? status === "running"
      ? "The interval of the difference follows at the end, where the same problems are asked."
      : ""
    : `${gainText(gain)} on the same problems: ${
      !isShown ? "within chance" : gain.difference > 0 ? "the model got better" : "it got worse"
    }.`;
  return html`
    <p class="label">Held-out accuracy, with 95 % intervals</p>
    ${before === null && last === null
      ? html`<p class="note">Nothing was measured (eval.num_examples).</p>`
      : html`
        ${line("before", before, "before")} ${line(name, last, "after")}
        <p class="note">${verdict}</p>
      `}
  `;
}

/** Tags and a note, which everybody sees who looks at the run. */
function notes(run: RunPage): Part {
  const given = { tags: run.tags.join(", "), note: run.note };
  const keep = async (event: Event) => {
    event.preventDefault();
    const said = (event.target as HTMLElement).querySelector("output")!;
    said.value = await ask("notes", { run: run.id }, {
      tags: given.tags.split(","),
      note: given.note,
    }).then(() => "Saved.", (error) => (error as Error).message);
  };
  return html`
    <h2>Tags and notes</h2>
    <form class="controls" @submit=${keep}>
      <label>Tags, with commas<input value=${given.tags} @input=${(event: Event) =>
        given.tags = valueOf(event)}></label>
      <label class="grow">Note<input value=${given.note} @input=${(event: Event) =>
        given.note = valueOf(event)}></label>
      <button>Save</button>
      <output class="note"></output>
    </form>
  `;
}

function where(run: RunPage): Part {
  const { job, sessions } = run;
  return html`
    ${facts([
      ["folder", run.folder],
      ...(run.runName === null ? [] : [["run_name", run.runName] as const]),
      ["job", job === null ? "none" : `${job.id}${job.name === null ? "" : ` (${job.name})`}`],
      ...(job === null ? [] : [
        ["node", job.node ?? "–"] as const,
        ["requeued", `${job.restarts} times`] as const,
        ["starts without progress", String(run.restartsWithoutProgress)] as const,
        [
          "time left in the job",
          run.jobSecondsLeft === null ? "not known here" : timeText(run.jobSecondsLeft),
        ] as const,
      ]),
      ["accuracy before", accuracyText(run.before)],
      ["accuracy after", accuracyText(run.after)],
    ])}
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
  `;
}
