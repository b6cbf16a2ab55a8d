/** A run that made its model from a seed is compared with exactly that first model. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { renderYaml } from "../../configs/to_yaml.ts";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { tinyRunConfig, trainOn } from "../../training/testing.ts";
import { collected } from "../testing.ts";

test.inFolder("a run from a seed is compared with its first model, as in eval_before", async (folder) => {
  using device = createReferenceDevice({ float: "f32" });
  const run = `${folder}/from_seed`;
  const config = tinyRunConfig(run, {
    sft: null,
    eval: { num_examples: 12, temperature: null, batch_size: 5 },
    training: { learning_rate: 0.02 },
  });
  const { summary } = await trainOn(device, config, {
    configText: renderYaml(config, {}, new Map()),
  });
  assert.ok(summary.eval_before !== null);
  const { data, eval: own, training } = config, task = data.task_name!;
  const options = {
    models: [run],
    tasks: [{ name: task, parameters: data.task_config }],
    numExamples: own.num_examples,
    seed: data.seed,
    samplingSeed: training.seed,
    prompt: {},
    sampling: { temperature: training.temperature, top_p: training.top_p },
    outputDir: `${folder}/out`,
    device,
  };
  const done = await collected(options), { models, comparisons } = done.result.tasks[task]!;
  const base = "from_seed (untrained)";
  assert.deepEqual(Object.keys(models), [run, base]);
  assert.deepEqual(
    comparisons.map(({ first, second }) => [first, second]),
    [[base, run]],
    "a gain",
  );
  for (
    const [name, told] of [[base, summary.eval_before], [run, summary.eval_after!]] as const
  ) {
    const { accuracy, mean_score, format_rate, mean_completion_tokens } = models[name]!;
    assert.deepEqual(
      { accuracy, mean_score, format_rate, mean_completion_tokens },
      {
        accuracy: told.accuracy,
        mean_score: told.mean_score,
        format_rate: told.format_rate,
        mean_completion_tokens: told.mean_completion_tokens,
      },
    );
  }
  assert.equal(models[base]!.prompt.from, "checkpoint");
  const isToldDifferent = /different/.test(JSON.stringify(done.events));
  assert.ok(!isToldDifferent, "it is asked as its base is");
  const again = await collected({ ...options, resume: true });
  assert.deepEqual([again.evaluated, again.resumed], [0, 24]);
  const named = await collected({ ...options, models: [`mine=${run}`], resume: true });
  assert.deepEqual(Object.keys(named.result.average), ["mine", "mine (untrained)"]);
  assert.equal(named.evaluated, 0, "the answers are those of the same models");
  const without = await collected({ ...options, includeBase: false, resume: true });
  assert.deepEqual(Object.keys(without.result.average), [run]);
});
