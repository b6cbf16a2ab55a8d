/**
 * The contents of a run's report, for Markdown and for HTML: the settings of the run, its
 * accuracies with their intervals, the course of the metrics, warnings and advice, the cost, and
 * samples.
 */
import { bytesText } from "../../core/bytes.ts";
import { counted } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import { metricOf } from "../charts/metric_table.ts";
import { evaluation, evaluations, verdict } from "./evaluation_section.ts";
import {
  type GivenAnswer,
  type Json,
  objectIn,
  type RunRecord,
  type SampledGroup,
  type Table,
  taskNames,
} from "./run_record.ts";

/** Metrics with TRL's names; those that a run has are shown. */
const COURSE = ["reward", "reward_std", "frac_reward_zero_std", "completions/mean_length"];
const MORE_COURSE = ["completions/clipped_ratio", "entropy", "kl", "loss", "grad_norm"];
const SUPERVISED_COURSE = ["sft/loss", "sft/entropy", "sft/grad_norm"];
const COURSE_STEPS = 10;
const SHOWN_COMPLETIONS = 4;

export function reportSections(record: RunRecord) {
  const { samples } = record, [before, after] = evaluations(record);
  return {
    title: record.name,
    /** The result of the run, in a few sentences. */
    verdict: verdict(record, before, after, ending(record)),
    facts: facts(record),
    /** null when no problems were held out. */
    evaluation: evaluation(record, before, after),
    /** Metrics at about ten steps; the supervised warm start has its own steps. */
    warmStart: course(record, "sft/loss", SUPERVISED_COURSE),
    course: course(record, "reward", grpoCourse(record)),
    /** Held-out problems with the expected and the given answers. */
    answers: answers(record),
    remarks: record.remarks,
    cost: cost(record),
    /** Time and memory of each phase; null when nothing was measured. */
    phases: phases(record),
    samples: samples.map((group) => ({ ...group, completions: bestAndWorst(group) })),
    /** The words of the report that not every reader knows. */
    words: words(record),
  };
}

/** Words of all reports, then the metrics of this run. */
function words(record: RunRecord): Table {
  const metrics = [...grpoCourse(record), ...SUPERVISED_COURSE]
    .filter((name) => record.metrics.series.has(name));
  return {
    rows: [
      ["word", "meaning"],
      ["held-out problems", "problems of the same kind that the model was not trained on"],
      ["95 %", "the range in which the true value lies, in 95 of 100 such measurements"],
      ["p", "how often chance alone makes a difference as large as this one"],
      ["points", "differences of percentages: from 20 % to 30 % are 10 points"],
      ["group", "the completions of one prompt, which are compared with one another"],
      ["advantage", "how much better than its group a completion was; the loss weighs it by that"],
      ["greedy", "the likeliest token is always taken; sampled: tokens are drawn"],
      ...metrics.map((name) => [name, metricOf(name).meaning]),
    ],
  };
}

/**
 * The different texts from the highest advantage to the lowest; of many, the first and the last.
 */
function bestAndWorst({ completions }: SampledGroup): SampledGroup["completions"] {
  const seen = new Set<string>();
  const sorted = completions.toSorted((a, b) => b.advantage - a.advantage)
    .filter(({ text }) => !seen.has(text) && seen.add(text));
  if (sorted.length <= SHOWN_COMPLETIONS) return sorted;
  return [...sorted.slice(0, SHOWN_COMPLETIONS / 2), ...sorted.slice(-SHOWN_COMPLETIONS / 2)];
}

/** How an incomplete run ended; "" for a completed run. */
function ending({ run: { status, steps }, metrics: { series } }: RunRecord): string {
  if (status === "completed") return "";
  const names = [...series.keys()].filter((name) => !name.startsWith("sft/"));
  const last = Math.max(0, ...names.map((name) => series.get(name)!.at(-1)!.step));
  const step = steps ?? last;
  if (status === "stopped") return ` The run was stopped after step ${step}.`;
  if (status === "failed") return ` The run failed after step ${step}.`;
  return ` The run has not ended${last === 0 ? "" : `; its last step is ${last}`}.`;
}

function facts({ run, config, folder, metrics: { series } }: RunRecord): Table {
  const rows: string[][] = [["what", ""]];
  const add = (name: string, value: unknown) => {
    if (value !== undefined && value !== null && value !== "") rows.push([name, String(value)]);
  };
  const [model, data, training] = ["model", "data", "training"]
    .map((name) => objectIn(config[name])) as [Json, Json, Json];
  const lora = config["lora"] as Json | null | undefined;
  add("folder", folder);
  const bits = model["load_in_4bit"] ? ", in 4 bits" : model["load_in_8bit"] ? ", in 8 bits" : "";
  const name = model["model_name_or_path"];
  add("model", name ? `${name}${bits}` : model["init"] ? "made from a seed" : undefined);
  add("trained", lora ? adapter(lora) : "all weights");
  add("problems", taskNames(data));
  const rewards = config["rewards"] as
    | { name?: string; path?: string; weight?: number }[]
    | undefined;
  const sft = config["sft"] as Json | null | undefined, isSupervised = series.has("sft/loss");
  if (sft && isSupervised) {
    const { max_steps: steps, per_device_train_batch_size: size, learning_rate: rate } = sft;
    const { gradient_accumulation_steps: parts = 1 } = sft;
    add(
      "warm start",
      `${counted(Number(steps), "supervised step")} of ${
        Number(size) * Number(parts)
      }, learning rate ${rate}`,
    );
  }
  // If a run only did its warm start, the other settings had no effect.
  const dpo = config["dpo"] as Json | null | undefined;
  if (dpo) {
    const size = Number(training["per_device_train_batch_size"]);
    const pairs = size * Number(training["gradient_accumulation_steps"]);
    add("preferences", `${pairs} pairs a step, loss ${dpo["loss_type"]}, beta ${dpo["beta"]}`);
    add("learning rate", `${training["learning_rate"]} (${training["lr_scheduler_type"]})`);
  } else if ("training" in config && !(isSupervised && !series.has("reward"))) {
    add("rewards", rewards?.map((r) => `${r.name ?? r.path} × ${r.weight ?? 1}`).join(", "));
    add(
      "batch",
      `${training["per_device_train_batch_size"]} × ${training["gradient_accumulation_steps"]} ` +
        `completions a step, ${training["num_generations"]} a prompt`,
    );
    add("loss", `${training["loss_type"]}, beta ${training["beta"]}`);
    add("learning rate", `${training["learning_rate"]} (${training["lr_scheduler_type"]})`);
  }
  add("seed", run["seed"]);
  add("rgx", run["version"]);
  add("device", device(run));
  add("started", run["start"]);
  add("ended", run["end"]);
  const sessions = run["sessions"];
  if (Array.isArray(sessions) && sessions.length > 1) add("sessions", sessions.length);
  add("status", run["status"]);
  add("error", run["error"]);
  return { rows };
}

function adapter(
  { r, lora_alpha: alpha, lora_dropout: dropout, target_modules: on }: Json,
): string {
  const modules = Array.isArray(on) ? `, on ${on.join(", ")}` : "";
  return `a LoRA adapter, r ${r}, alpha ${alpha}${dropout ? `, dropout ${dropout}` : ""}${modules}`;
}

function device({ device, threads, host }: Json): string | undefined {
  if (device === undefined) return undefined;
  const how = device === "wasm" ? `${device}, ${threads} threads` : String(device);
  return host === undefined ? how : `${how}, on ${host}`;
}

function grpoCourse({ metrics: { series } }: RunRecord): string[] {
  const rewards = [...series.keys()].filter((name) => /^rewards\/.+\/mean$/.test(name));
  return [...COURSE.slice(0, 1), ...rewards, ...COURSE.slice(1), ...MORE_COURSE];
}

/**
 * Metrics at about ten steps.
 * @param main the metric that every step has
 */
function course(
  { metrics: { series } }: RunRecord,
  main: string,
  names: readonly string[],
): Table | null {
  const steps = (series.get(main) ?? []).map(({ step }) => step);
  if (steps.length === 0) return null;
  const count = Math.min(COURSE_STEPS, steps.length);
  const chosen = Array.from(
    { length: count },
    (_, i) => steps[count === 1 ? 0 : Math.round(i * (steps.length - 1) / (count - 1))]!,
  );
  const valueAt = (name: string, step: number) => {
    const point = series.get(name)!.find((one) => one.step === step);
    return point === undefined ? "" : short(point.value);
  };
  return {
    rows: [
      ["step", ...chosen.map(String)],
      ...names.filter((name) => series.has(name)).map((
        name,
      ) => [name, ...chosen.map((step) => valueAt(name, step))]),
    ],
  };
}

/** Longest text in a cell of the table of answers. */
const MAX_CELL = 60;

function answers({ heldOut }: RunRecord): { title: string; table: Table } | null {
  if (heldOut === null) return null;
  const { temperature, problems } = heldOut;
  const isMeasured = problems.some(({ score }) => score !== null);
  const given = (answer: GivenAnswer | null) =>
    answer === null
      ? "(not asked)"
      : answer.extracted === null
      ? `no answer in: ${clipped(answer.completion)}`
      : clipped(answer.extracted);
  const rows = [["problem", "expected", "before", ...(isMeasured ? ["after", "score"] : [])]];
  for (const { question, expected, before, after, score } of problems) {
    rows.push([
      clipped(question, true),
      expected === null ? "(any that is right)" : clipped(expected),
      given(before),
      ...(isMeasured ? [given(after), score === null ? "–" : short(score)] : []),
    ]);
  }
  const how = temperature === 0 ? "greedy" : `sampled at temperature ${temperature}`;
  return { title: `Held-out problems (${how}, the first ${problems.length})`, table: { rows } };
}

/** A text for a cell: on one line, and its end or its beginning. */
function clipped(text: string, isEnd = false): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ⏎ "), characters = [...line];
  if (characters.length <= MAX_CELL) return line;
  // The text is cut at the boundary of a word if one is near.
  return isEnd
    ? `…${characters.slice(-MAX_CELL).join("").replace(/^\S{1,20}\s/, "")}`
    : `${characters.slice(0, MAX_CELL).join("").replace(/\s\S{1,20}$/, "")}…`;
}

function cost({ run, metrics: { series } }: RunRecord): Table {
  const rows: string[][] = [["cost", ""]];
  const seconds = run["seconds"];
  if (typeof seconds === "number") rows.push(["time", duration(seconds)]);
  const maxOf = (name: string, inRecord?: unknown) => {
    const values = [name, `sft/${name}`].flatMap((one) => series.get(one) ?? [])
      .map(({ value }) => value);
    if (typeof inRecord === "number") values.push(inRecord);
    return values.length === 0 ? undefined : values.reduce((a, b) => Math.max(a, b));
  };
  const memory: [string, unknown][] = [
    ["tensors, planned at most", run["memory_planned_bytes"]],
    // run.json has only the maximum of the last session.
    ["tensors, at most", maxOf("memory/peak_bytes", run["peak_memory_bytes"])],
    ["memory of the CPU's kernels", maxOf("memory/wasm_bytes")],
    ["memory of the card", maxOf("memory/webgpu_bytes")],
    ["memory of the process", maxOf("memory/host_bytes")],
  ];
  for (const [name, bytes] of memory) {
    if (typeof bytes === "number") rows.push([name, bytesText(bytes)]);
  }
  const tokens = (series.get("num_tokens") ?? series.get("sft/num_tokens"))?.at(-1)?.value;
  if (tokens !== undefined) rows.push(["tokens", String(tokens)]);
  return { rows: [...rows, ...rewardCosts(series)] };
}

/** Requests, time and cost of rewards that ask a server, such as a judge. */
function rewardCosts(series: RunRecord["metrics"]["series"]): string[][] {
  return [...series.keys()].flatMap((key) => {
    const [, name] = /^rewards\/(.+)\/requests$/.exec(key) ?? [];
    if (name === undefined) return [];
    const values = (what: string) =>
      (series.get(`rewards/${name}/${what}`) ?? []).map(({ value }) => value);
    const sum = (what: string) => values(what).reduce((a, b) => a + b, 0);
    const cached = sum("cached"), price = values("total_cost").at(-1);
    return [
      [
        `requests of ${name}`,
        `${sum("requests")}${cached > 0 ? `, ${cached} from the cache` : ""}`,
      ],
      [`waited for ${name}`, duration(values("total_seconds").at(-1) ?? 0)],
      ...(price === undefined ? [] : [[`price of ${name}`, String(Number(price.toPrecision(4)))]]),
    ];
  });
}

/** Columns of the phases' memory: the suffix of the metric's name, and the heading. */
const MEMORY: readonly (readonly [suffix: string, title: string])[] = [
  ["", "tensors"],
  ["_wasm", "kernels"],
  ["_webgpu", "card"],
  ["_host", "process"],
];

/** Time and maximum memory of each phase. */
function phases({ run, metrics: { series } }: RunRecord): Table | null {
  // run.json of a finished run also has the time outside of steps.
  const total = Object.entries((run["seconds_by_phase"] ?? {}) as Record<string, number>);
  const seconds = new Map<string, number>(total), bytes = new Map<string, number>();
  for (const [name, points] of series) {
    const [, kind, what] = /^(?:\w+\/)?(time|memory)\/(.+)$/.exec(name) ?? [];
    const values = points.map(({ value }) => value);
    if (kind === "memory") {
      bytes.set(what!, values.reduce((a, b) => Math.max(a, b), bytes.get(what!) ?? 0));
    } else if (kind === "time" && total.length === 0) {
      seconds.set(what!, values.reduce((sum, value) => sum + value, seconds.get(what!) ?? 0));
    }
  }
  const names = [...seconds.keys()].filter((name) =>
    seconds.get(name)! > 0 || bytes.has(`${name}_bytes`)
  );
  if (names.length === 0) return null;
  const shown = MEMORY.filter(([suffix]) =>
    names.some((name) => bytes.has(`${name}${suffix}_bytes`))
  );
  const cell = (name: string, suffix: string) => {
    const value = bytes.get(`${name}${suffix}_bytes`);
    return value === undefined ? "" : bytesText(value);
  };
  const time = (value: number) => value < 10 ? `${value.toFixed(1)} s` : duration(value);
  return {
    rows: [
      ["phase", "time", ...shown.map(([, title]) => title)],
      ...names.map((name) => [
        name.replaceAll("_", " "),
        time(seconds.get(name)!),
        ...shown.map(([suffix]) => cell(name, suffix)),
      ]),
    ],
  };
}

/** A number with three digits, and the minus sign of all texts; rounding errors become 0. */
export function short(value: number): string {
  return Math.abs(value) < 1e-12 ? "0" : String(Number(value.toPrecision(3))).replace(/^-/, "−");
}
