/**
 * How long the dashboard takes to show 50 runs of 10,000 steps: `deno run -A
 * reports/dashboard/open_bench.ts [RUNS] [STEPS]`. Lines are as long as those of a real run.
 */
import { metricsLine, withDashboard, writeRun } from "./testing.ts";
import type { CurvesOfRun, Overview } from "./data_routes.ts";

const [runs = 50, steps = 10_000] = Deno.args.map(Number);
const SHOWN = "reward,kl,entropy,loss,completions/mean_length,clip_ratio/region_mean," +
  "throughput/tokens_per_second,memory/peak_bytes,eval_accuracy,rewards/correctness/mean";

await withDashboard(async (folder) => {
  const more = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`time/phase_${i}_of_a_step`, Math.PI * i]),
  );
  const lines: string[] = [];
  for (let step = 1; step <= steps; step++) {
    lines.push(JSON.stringify({ ...JSON.parse(metricsLine(step)), ...more }) + "\n");
  }
  const text = lines.join("");
  console.log(`${runs} runs of ${steps} steps, ${(text.length / 1e6).toFixed(1)} MB each`);
  for (let i = 0; i < runs; i++) {
    await writeRun(`${folder}/run-${i}`, 0, { "metrics.jsonl": text });
  }
}, async ({ url }) => {
  const token = new URL(url).searchParams.get("token")!, { origin } = new URL(url);
  const ask = async <T>(path: string): Promise<T> => {
    const headers = { authorization: `Bearer ${token}` };
    return await (await fetch(`${origin}/api/${path}`, { headers })).json();
  };
  const seconds = (from: number) => ((performance.now() - from) / 1000).toFixed(2);
  const start = performance.now();
  const { runs: found } = await ask<Overview>("overview");
  console.log(`list: ${seconds(start)} s`);
  const curves = (points: number, of = found) =>
    Promise.all(
      of.map(({ id }) =>
        ask<CurvesOfRun>(`curves?run=${id}&metrics=${SHOWN}&points=${points}&smoothing=0.6`)
      ),
    );
  await curves(700, found.slice(0, 6));
  console.log(`and curves of 6 runs: ${seconds(start)} s`);
  await curves(180);
  console.log(`and a first look at the curves of all: ${seconds(start)} s`);
  while ((await curves(180)).some(({ complete }) => !complete)) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  console.log(`and every step of all: ${seconds(start)} s`);
  const again = performance.now();
  await curves(180);
  console.log(`all curves once more: ${seconds(again)} s`);
});
