/**
 * A long haul: 20,000 steps in one process, whose memory stays flat and whose steps take as much
 * of the processor at the end as at the beginning; and a metrics file of a million lines.
 */
import assert from "node:assert/strict";
import { ask, withDashboard, writeLongMetrics, writeRun } from "../../reports/dashboard/testing.ts";
import type { CurvesOfRun, Overview } from "../../reports/dashboard/data_routes.ts";
import { argv } from "../command_line.ts";
import { delay } from "../jobs/waiting.ts";
import { rgxProgram, succeeds, tinyConfig } from "../support.ts";
import type { Campaign } from "./campaign.ts";

/** What a process has used at a step. */
interface Sample {
  step: number;
  /** Bytes in memory. */
  resident: number;
  /** Seconds of the processor, of all its threads. */
  cpu: number;
}

async function sample(pid: number, metrics: string): Promise<Sample | null> {
  try {
    const stat = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ")[1]!.split(" ");
    const status = await Deno.readTextFile(`/proc/${pid}/status`);
    const resident = 1024 * Number(/VmRSS:\s*(\d+)/.exec(status)![1]);
    const { size } = await Deno.stat(metrics);
    using file = await Deno.open(metrics);
    await file.seek(Math.max(0, size - 8000), Deno.SeekMode.Start);
    const end = await new Response(file.readable).text();
    const steps = [...end.matchAll(/^\{"step":(\d+),.*"split":"train"/gm)];
    const ticks = Number(stat[11]) + Number(stat[12]);
    return { step: Number(steps.at(-1)?.[1] ?? 0), resident, cpu: ticks / 100 };
  } catch {
    return null;
  }
}

/**
 * Memory, and processor seconds of a step, between two steps of a run. The memory is the least that
 * was seen, right after a collection of garbage. What V8 has not collected yet depends on how fast
 * the steps are: a run collects every ten seconds.
 */
function within(samples: readonly Sample[], from: number, to: number) {
  const some = samples.filter(({ step }) => step >= from && step <= to);
  assert.ok(some.length > 3, "too few samples");
  const first = some[0]!, last = some.at(-1)!;
  return {
    resident: Math.min(...some.map(({ resident }) => resident)),
    time: (last.cpu - first.cpu) / (last.step - first.step),
  };
}

async function longRun(campaign: Campaign, steps: number): Promise<void> {
  const { folder } = campaign, config = await tinyConfig(folder), run = `${folder}/long`;
  const [program, ...args] = rgxProgram(argv`train ${config} --output-dir ${run} --threads 1
    training.max_steps=${steps} training.logging_steps=10 training.save_steps=2000
    training.log_completions=false training.lr_scheduler_type=constant eval.num_examples=0`);
  const child = new Deno.Command(program!, { args, stdout: "null", stderr: "null" }).spawn();
  const samples: Sample[] = [];
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  while (!hasEnded) {
    const found = await sample(child.pid, `${run}/metrics.jsonl`);
    if (found !== null) samples.push(found);
    await delay(500);
  }
  assert.equal((await child.status).code, 0);
  const early = within(samples, 0.1 * steps, 0.3 * steps);
  const late = within(samples, 0.8 * steps, steps);
  const memory = late.resident / early.resident - 1, time = late.time / early.time - 1;
  const percent = (x: number) => `${(100 * x).toFixed(1)} %`;
  const ms = (x: number) => `${(1000 * x).toFixed(2)} ms`;
  console.error(
    `${steps} steps: memory ${percent(memory)} (${(early.resident / 1e6).toFixed(0)} MB), ` +
      `time of a step ${percent(time)} (${ms(early.time)}, then ${ms(late.time)})`,
  );
  assert.ok(Math.abs(memory) <= 0.03, `memory changed by ${percent(memory)}`);
  assert.ok(time <= 0.1, `a step takes ${percent(time)} more`);
}

/** A run's page, its curves, the report and the charts of a long metrics file. */
async function longMetrics(campaign: Campaign, count: number): Promise<void> {
  const seconds = (from: number) => `${((performance.now() - from) / 1000).toFixed(1)} s`;
  await withDashboard(async (folder) => {
    await writeRun(`${folder}/run`, 0, { "metrics.jsonl": null });
    await writeLongMetrics(`${folder}/run/metrics.jsonl`, count);
    for (const command of ["report", "curves"]) {
      const begin = performance.now();
      const out = command === "curves" ? ["--output", `${campaign.folder}/curves.png`] : [];
      await succeeds([command, `${folder}/run`, ...out]);
      console.error(`${count} lines, rgx ${command}: ${seconds(begin)}`);
    }
  }, async ({ url }) => {
    const begin = performance.now();
    const { runs: [found] } = await ask<Overview>(url, "overview");
    console.error(`${count} lines, the page's list: ${seconds(begin)}`);
    const curves = () =>
      ask<CurvesOfRun>(url, `curves?run=${found!.id}&metrics=reward,loss&points=700&smoothing=0.6`);
    while (!(await curves()).complete) await delay(200);
    console.error(`${count} lines, every step on the page: ${seconds(begin)}`);
  });
}

/** Part of the campaign. */
export async function haul(campaign: Campaign): Promise<void> {
  const { isShort } = campaign;
  const count = isShort ? 5_000 : 1_000_000;
  await campaign.try(`a metrics file of ${count} lines`, "", () => longMetrics(campaign, count));
  if (isShort || Deno.build.os !== "linux") return;
  await campaign.try("steps in one run", "", () => longRun(campaign, 20_000));
  campaign.tried("steps in one run", 19_999);
}
