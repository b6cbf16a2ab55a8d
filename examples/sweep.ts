/**
 * A search over learning rates: one short run for each, with the same seed and problems, and a
 * table with intervals at the end. On a cluster, `rgx slurm CONFIG ACCOUNT --sweep
 * training.learning_rate=…` does the same with an array of jobs.
 *
 *     deno run -A examples/sweep.ts
 */
import { type ConfigOverrides, train, type TrainSummary } from "@rgx/rgx";

export async function run(
  rates: readonly number[] = [3e-4, 6e-4, 1.2e-3],
  overrides: ConfigOverrides = {},
): Promise<[rate: number, summary: TrainSummary][]> {
  const results: [number, TrainSummary][] = [];
  for (const rate of rates) {
    const summary = await train({
      config: "quickstart",
      overrides: {
        ...overrides,
        training: {
          max_steps: 60,
          output_dir: `sweep/lr_${rate}`,
          ...overrides.training,
          learning_rate: rate,
        },
      },
      force: true,
    });
    results.push([rate, summary]);
  }
  const percent = (share: number) => (100 * share).toFixed(1).padStart(5);
  for (const [rate, { eval_after: after }] of results) {
    if (after === null) continue;
    const [low, high] = after.ci95;
    console.log(`${rate}: ${percent(after.accuracy)} % [${percent(low)}, ${percent(high)}]`);
  }
  return results;
}

if (import.meta.main) await run();
