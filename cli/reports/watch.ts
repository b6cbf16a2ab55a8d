/**
 * `rgx watch`: a run in the terminal, from the files that it writes. On a terminal the picture is
 * redrawn until the run or a signal ends it. In a pipe there is one line for now, and one when the
 * run has ended.
 */
import { percentDigits } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import { UsageError } from "../../core/errors.ts";
import { atMost } from "../../core/machine/running_time.ts";
import { percent } from "../../reports/charts/style.ts";
import {
  type CompletionRow,
  readCompletions,
} from "../../reports/dashboard/reading/completions.ts";
import { checkFolders } from "../../reports/dashboard/reading/find_runs.ts";
import {
  type AccuracyInfo,
  MetricsFile,
  type SparkAccuracy,
} from "../../reports/dashboard/reading/metrics_file.ts";
import {
  readRunDetails,
  readRunInfo,
  type RunDetails,
} from "../../reports/dashboard/reading/run_state.ts";
import { short } from "../../reports/run_report/sections.ts";
import type { FlagsOf } from "../flags.ts";
import { stopSignal } from "../signals.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import {
  columns,
  isInteractive,
  paint,
  print,
  withoutControl,
  wrap,
} from "../terminal/terminal.ts";

/** Lines of the curve, and columns of the whole picture. */
const HEIGHT = 8, WIDTH = 80;
/** Different completions of the newest step that are shown, of those that are read. */
const COMPLETIONS = 4, READ = 64;
const REDRAW_MS = 2000;

export async function watch(run: string, options: FlagsOf<"WATCH">): Promise<void> {
  const folder = run.replace(/(?<=.)\/+$/, "");
  await checkFolders([folder]);
  const watched = new WatchedRun(folder);
  if (options.json) {
    const { details, now } = await watched.look();
    const { status, step, totalSteps, secondsLeft, latest, before, after } = details;
    const reward = latest["reward"] ?? null;
    return print(
      JSON.stringify({ status, step, totalSteps, secondsLeft, reward, before, now, after }),
    );
  }
  let isStopped = false;
  const stop = stopSignal().then(() => isStopped = true);
  const isLive = isInteractive() && !options.once;
  const lines = new RedrawnLines();
  for (let isFirst = true;; isFirst = false) {
    const look = await watched.look(), isOver = look.details.status !== "running";
    if (isLive) lines.draw(...picture(look));
    else if (options.once) print(picture(look).join("\n"));
    else if (isFirst || isOver) print(summary(look));
    if (isOver || options.once) return;
    await atMost(REDRAW_MS, stop);
    if (isStopped) return;
  }
}

interface Look {
  details: RunDetails;
  rewards: readonly number[];
  steps: readonly [first: number, last: number];
  /** The newest evaluation while training. */
  now: SparkAccuracy | null;
  completions: readonly CompletionRow[];
}

class WatchedRun {
  readonly #metrics: MetricsFile;

  constructor(private readonly folder: string) {
    this.#metrics = new MetricsFile(`${folder}/metrics.jsonl`);
  }

  async look(): Promise<Look> {
    const { folder } = this, name = folder.split("/").at(-1)!;
    const details = await readRunDetails(await readRunInfo({ id: "", name, folder }));
    if (details.status === "unknown" && details.step === null) {
      throw new UsageError(`${folder}: no run in this folder`, {
        advice: "Name the output folder of a run of rgx train.",
      });
    }
    await this.#metrics.update();
    await this.#metrics.readRest();
    const curve = this.#metrics.series.get("reward")?.curve(4 * WIDTH, 0.6);
    const { rows } = await readCompletions(folder, details.task, { limit: READ });
    return {
      details,
      rewards: (curve?.smooth ?? []).filter((value) => value !== null),
      steps: [curve?.steps[0] ?? 0, curve?.steps.at(-1) ?? 0],
      now: this.#metrics.evaluation("last"),
      completions: [...new Map(rows.map((row) => [row.completion, row])).values()]
        .slice(0, COMPLETIONS),
    };
  }
}

function stepText({ step, totalSteps }: RunDetails): string {
  return `step ${step ?? 0}${totalSteps === null ? "" : ` of ${totalSteps}`}`;
}

function summary({ details, now }: Look): string {
  const { name, status, secondsLeft, latest, after } = details, last = after ?? now;
  return [
    `${name}: ${status}, ${stepText(details)}`,
    ...(latest["reward"] === undefined ? [] : [`reward ${short(latest["reward"])}`]),
    ...(last === null ? [] : [`held-out accuracy ${percent(last.accuracy)}`]),
    ...(status !== "running" || secondsLeft === null ? [] : [`${duration(secondsLeft)} left`]),
  ].join(", ");
}

function picture({ details, rewards, steps, now, completions }: Look): string[] {
  const { name, status, secondsLeft, before, after, latest, remarks } = details;
  const width = Math.min(WIDTH, columns() - 1), isRunning = status === "running";
  const share = (value: AccuracyInfo) =>
    `${percent(value.accuracy)} [${value.ci95.map(percentDigits).join(", ")}]`;
  const last = after ?? now;
  const advice = remarks.at(-1);
  return [
    `${paint("bold", name)}  ${paint(isRunning ? "cyan" : "green", status)}  ${stepText(details)}`,
    ...(isRunning && secondsLeft !== null
      ? [
        `${duration(secondsLeft)} left, if steps stay as fast as the newest ones,`,
        paint("dim", "and the time of the evaluation at the end"),
      ]
      : []),
    ...(last === null && before === null ? [] : [
      `held-out accuracy ${before === null ? "" : `${share(before)} → `}${
        last === null ? "not measured since" : share(last)
      }`,
    ]),
    "",
    ...curveLines(rewards, steps, width, latest["reward"]),
    ...(advice === undefined
      ? []
      : ["", ...wrap(`${advice.kind}: ${withoutControl(advice.text)}`, width)]),
    ...(completions.length === 0 ? [] : [
      "",
      `completions of step ${completions[0]!.step}: advantage, completion`,
      ...completions.map(({ advantage, completion }) =>
        `${short(advantage ?? 0).padStart(7)}  ${
          withoutControl(completion.replaceAll("\n", " ⏎ "))
        }`
      ),
    ]),
  ];
}

function curveLines(
  rewards: readonly number[],
  [first, last]: readonly [number, number],
  width: number,
  newest: number | undefined,
): string[] {
  if (rewards.length < 2) return ["No curve of the reward yet."];
  const [low, high] = [Math.min(...rewards), Math.max(...rewards)], labels = [high, low].map(short);
  const room = Math.max(...labels.map((label) => label.length)) + 1;
  const curve = brailleCurve(rewards, width - room - 1, HEIGHT);
  const axis = `${" ".repeat(room)}${String(first)}`;
  return [
    `reward, a running mean; now ${newest === undefined ? "–" : short(newest)}`,
    ...curve.map((line, i) => {
      const label = i === 0 ? labels[0]! : i === HEIGHT - 1 ? labels[1]! : "";
      return `${label.padStart(room - 1)} ${paint("cyan", line)}`;
    }),
    `${axis}${`step ${last}`.padStart(width - axis.length)}`,
  ];
}

/** The bits of a character's dots, by column and by row from the top. */
const DOTS = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]] as const;

/** The lines of a curve in braille characters, the lowest value at the bottom. */
export function brailleCurve(values: readonly number[], width: number, height: number): string[] {
  const low = Math.min(...values), size = Math.max(...values) - low || 1;
  const cells = Array.from({ length: height }, () => new Uint8Array(width));
  const across = 2 * width, down = 4 * height;
  let before: number | null = null;
  for (let x = 0; x < across; x++) {
    const at = values.length === 1 ? 0 : x * (values.length - 1) / (across - 1);
    const left = values[Math.floor(at)]!, right = values[Math.ceil(at)]!;
    const value = left + (right - left) * (at % 1);
    const y = Math.round((down - 1) * (1 - (value - low) / size));
    // Steep parts are joined, so that the curve has no gaps.
    const [from, to] = before === null ? [y, y] : y > before ? [before + 1, y] : [y, before - 1];
    for (let row = Math.min(from, y); row <= Math.max(to, y); row++) {
      cells[row >> 2]![x >> 1]! |= DOTS[x % 2]![row % 4]!;
    }
    before = y;
  }
  return cells.map((line) => String.fromCharCode(...Array.from(line, (bits) => 0x2800 + bits)));
}
