/**
 * `deno task bench:tasks`: how many entries each task makes per second at default parameters, and
 * how many answers it scores, in one thread. Rates are per second of processor time of all threads
 * of the process. This counts the garbage collector, and hardly depends on other work on the
 * machine.
 *
 *     --seconds S      measures each task for this long (0.2)
 *     --only a,b       measures only these tasks
 *     --python PATH    also measures reasoning-gym with this Python, and prints the ratios
 */
import { parseArgs } from "node:util";
import { ownSeconds } from "../core/machine/other_work.ts";
import type { Dataset } from "../tasks/dataset.ts";
import { Contestant } from "./peers/contestant.ts";
import { table } from "./performance_page.ts";

interface Rates {
  /** Entries made and answers scored per second. */
  entries: number;
  scores: number;
}

interface TaskRates extends Rates {
  task: string;
  /** The rates of Python; null if it was not measured or failed. */
  python: Rates | null;
}

/** Number of entries whose answers are scored in turns. */
const SCORED = 8;

/** Calls of work(i) per second, i = 0, 1, 2, … */
function rate(seconds: number, work: (i: number) => void): number {
  const begin = ownSeconds();
  // Fast tasks make several entries between two reads of the clock.
  for (let done = 0, pause = 1;;) {
    for (const end = done + pause; done < end; done++) work(done);
    const spent = ownSeconds() - begin;
    if (spent >= seconds) return done / spent;
    if (spent < seconds / 20) pause *= 2;
  }
}

function measure(data: Dataset, seconds: number): Rates {
  const entries = Array.from({ length: SCORED }, (_, i) => data.entry(i));
  // Warms up the compiler.
  rate(seconds / 2, (i) => data.entry(1e6 + i));
  return {
    entries: rate(seconds, (i) => data.entry(i)),
    scores: rate(seconds / 2, (i) => {
      const entry = entries[i % SCORED]!;
      data.scoreAnswer(entry.answer ?? "[]", entry);
    }),
  };
}

/** The rates of reasoning-gym in a task; null if it failed. */
async function pythonRates(
  peer: Contestant<Rates | { error: string }>,
  task: string,
  seconds: number,
): Promise<Rates | null> {
  const reply = await peer.round(JSON.stringify({ task, seconds }));
  if (!("error" in reply)) return reply;
  console.error(`reasoning-gym, ${task}: ${reply.error}`);
  return null;
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(2);
}

function report(rows: readonly TaskRates[], version: string): string {
  const measured = rows.filter((row) => row.python !== null);
  const withPython = measured.length > 0;
  const head = ["task", "entries/s", "scores/s"];
  if (withPython) head.push("Python entries/s", "×", "Python scores/s", "×");
  const cellsOf = ({ task, entries, scores, python }: TaskRates) => {
    const cells = [task, rounded(entries), rounded(scores)];
    if (python !== null) {
      cells.push(rounded(python.entries), rounded(entries / python.entries));
      cells.push(rounded(python.scores), rounded(scores / python.scores));
    } else if (withPython) cells.push("", "", "", "");
    return cells;
  };
  const lines = [
    table(head, rows.map(cellsOf)),
    "",
    `Geometric mean: ${rounded(geometricMean(rows.map((row) => row.entries)))} entries/s, ` +
    `${rounded(geometricMean(rows.map((row) => row.scores)))} scores/s.`,
  ];
  if (withPython) {
    const ratios = measured.map(({ task, entries, python }) => ({
      task,
      ratio: entries / python!.entries,
    })).sort((a, b) => a.ratio - b.ratio);
    const scoring = measured.map(({ scores, python }) => scores / python!.scores);
    lines.push(
      `Over the ${measured.length} tasks that reasoning-gym ${version} was measured on: ` +
        `${rounded(geometricMean(ratios.map(({ ratio }) => ratio)))} × its entries/s and ` +
        `${
          rounded(geometricMean(scoring))
        } × its scores/s in the geometric mean; the smallest ratios are ` +
        ratios.slice(0, 5).map(({ task, ratio }) => `${task} ${rounded(ratio)}`).join(", ") + ".",
    );
  }
  return lines.join("\n");
}

if (import.meta.main) {
  const before = ownSeconds(), start = performance.now();
  const { getTask, taskNames } = await import("../tasks/registry.ts");
  const registry = { processor: ownSeconds() - before, wall: performance.now() - start };
  const { createDataset } = await import("../tasks/dataset.ts");
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { seconds: text, only: text, python: text } });
  const seconds = Number(values.seconds ?? 0.2), only = values.only?.split(",");
  const { python = null } = values, script = "tools/peers/reasoning_gym_speed.py";
  // It needs a Python with reasoning-gym: pip install reasoning-gym
  const started = python === null
    ? null
    : await Contestant.start<Rates>({ name: "reasoning-gym", command: [python, script] });
  const peer = started?.contestant ?? null;
  const rows: TaskRates[] = [];
  for (const task of only ?? taskNames().filter((name) => getTask(name).open === undefined)) {
    const rates = measure(createDataset(task, { seed: 42 }), seconds);
    rows.push({ task, ...rates, python: peer && await pythonRates(peer, task, seconds) });
  }
  await peer?.end();
  console.log(report(rows, started?.version ?? ""));
  console.log(
    `\nLoading the registry: ${(registry.processor * 1000).toFixed(0)} ms of processor time, ` +
      `${registry.wall.toFixed(0)} ms on the clock.`,
  );
}
