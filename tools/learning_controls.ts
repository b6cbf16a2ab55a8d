/**
 * `deno task test:learning`: checks that the quickstart learns from its reward. It makes three
 * whole runs: the quickstart as it is, the quickstart with the rewards permuted among the
 * completions of each group (the same distribution without information), and with a learning rate
 * of 0. Only the first may gain.
 *
 * Prints the table of docs/results.md. The exit code is 1 if the interval of a control's gain does
 * not contain 0, or if that of the real run is not above 0. This takes a few minutes, so it is no
 * part of the tests.
 */
import { loadConfig } from "../configs/load.ts";
import { RandomStream } from "../core/philox.ts";
import { differenceInterval } from "../core/intervals.ts";
import { createDevice } from "../kernels/mod.ts";
import type { Rubric } from "../rewards/rubric.ts";
import { assemble } from "../training/assemble.ts";
import type { TrainSummary } from "../training/run/events.ts";
import { GrpoTrainer } from "../training/trainer.ts";

/** A rubric that permutes the rewards of the `groupSize` completions of each prompt. */
function permuted(rubric: Rubric, groupSize: number, seed: number): Rubric {
  let call = 0;
  return {
    ...rubric,
    async score(inputs) {
      const scores = await rubric.score(inputs);
      const random = RandomStream.forPurpose(seed, "shuffle", "permuted rewards", call++);
      const values = [];
      for (let at = 0; at < inputs.length; at += groupSize) {
        values.push(...random.shuffle(scores.values.slice(at, at + groupSize)));
      }
      return { ...scores, values };
    },
  };
}

async function run(overrides: string[], permute: boolean): Promise<TrainSummary> {
  const folder = await Deno.makeTempDir();
  const device = await createDevice("wasm");
  try {
    const { config, yaml } = await loadConfig("quickstart", {
      overrides: [...overrides, `training.output_dir=${folder}/run`],
    });
    const { memory: _, rubric, ...parts } = await assemble(config, device);
    const { num_generations: groupSize, seed } = config.training;
    const trainer = new GrpoTrainer({
      config,
      configText: yaml,
      device,
      ...parts,
      rubric: permute ? permuted(rubric, groupSize, seed) : rubric,
    });
    return await trainer.run();
  } finally {
    device.close();
    await Deno.remove(folder, { recursive: true });
  }
}

const percent = (x: number) => `${(100 * x).toFixed(1)} %`;
const points = (x: number) => `${x >= 0 ? "+" : "−"}${Math.abs(100 * x).toFixed(1)}`;

const runs = [
  { name: "quickstart", overrides: [], permute: false, gains: true },
  { name: "rewards permuted in each group", overrides: [], permute: true, gains: false },
  {
    name: "learning rate 0",
    overrides: ["training.learning_rate=0"],
    permute: false,
    gains: false,
  },
];
let wrong = 0;
console.log("| run | before | after | gain, points | 95 % interval of the gain | n |");
console.log("| --- | --- | --- | --- | --- | --- |");
for (const { name, overrides, permute, gains } of runs) {
  const { eval_before: before, eval_after: after } = await run(
    [...overrides, ...Deno.args],
    permute,
  );
  const [low, high] = differenceInterval(
    { successes: before!.correct, total: before!.total },
    { successes: after!.correct, total: after!.total },
  );
  const zeroInside = low <= 0 && high >= 0;
  if (gains ? low <= 0 : !zeroInside) wrong++;
  console.log(
    `| ${name} | ${percent(before!.accuracy)} | ${percent(after!.accuracy)} | ` +
      `${points(after!.accuracy - before!.accuracy)} | ${points(low)} … ${points(high)} | ${
        after!.total
      } |`,
  );
}
Deno.exit(wrong === 0 ? 0 : 1);
