/** `mod.ts` as somebody who writes a program with it. */
import assert from "node:assert/strict";
import {
  assemble,
  createDataset,
  createDevice,
  extractAnswer,
  formatQuestion,
  generate,
  GrpoTrainer,
  loadConfig,
  loadModel,
  registerReward,
  scoreAnswer,
  slurmScript,
  type TrainEvent,
  UNIVERSAL_INSTRUCTION,
} from "../mod.ts";

Deno.test("a data set is iterated and its own answers score 1", async () => {
  const dataset = await createDataset("chain_sum", { size: 3, seed: 7, max_terms: 2 });
  const entries = [...dataset];
  assert.equal(entries.length, 3);
  for (const entry of entries) {
    assert.equal(scoreAnswer(entry.answer, entry), 1);
    const prompt = formatQuestion(entry.question, { addInstructions: true });
    assert.equal(prompt, `${UNIVERSAL_INSTRUCTION}\n\n${entry.question}`);
  }
  assert.equal(extractAnswer("so <answer>12</answer>"), "12");
});

Deno.test("a reward of one's own trains a model, which is loaded and generates again", async () => {
  registerReward({
    name: "few_vowels",
    description: "1 − share of vowels in the completion",
    params: {},
    compute: ({ completion }) =>
      1 - (completion.match(/[aeiou]/g)?.length ?? 0) / Math.max(1, completion.length),
  });
  const folder = await Deno.makeTempDir();
  const device = await createDevice("wasm", { threads: 2 });
  try {
    const { config, yaml } = await loadConfig("quickstart", {
      overrides: [
        "model.init.hidden_size=32",
        "model.init.intermediate_size=48",
        "sft.max_steps=2",
        "eval.num_examples=4",
        "rewards=[{name: few_vowels}, {name: correctness, weight: 0.5}]",
        "training.max_steps=2",
        "training.per_device_train_batch_size=8",
        "training.num_generations=4",
        `training.output_dir=${folder}/run`,
      ],
    });
    const events: TrainEvent["type"][] = [];
    const { memory, ...parts } = await assemble(config, device);
    assert.ok(memory.peak > 0 && memory.peak < memory.available);
    const trainer = new GrpoTrainer({
      config,
      configText: yaml,
      device,
      ...parts,
      listeners: [(event) => events.push(event.type)],
    });
    const summary = await trainer.run();
    assert.equal(summary.status, "completed");
    assert.equal(summary.steps, 2);
    assert.equal(events[0], "plan");
    assert.equal(events.at(-1), "done");
    const metrics = (await Deno.readTextFile(`${folder}/run/metrics.jsonl`)).trimEnd().split("\n")
      .map((line) => JSON.parse(line));
    const steps = metrics.filter((line) => line.split === "train");
    assert.deepEqual(steps.map((line) => line.step), [1, 2]);
    for (const line of steps) assert.ok(line["rewards/few_vowels/mean"] > 0.3);

    // What was written is a model like any other.
    const loaded = await loadModel(summary.checkpoint!, device);
    const options = { n: 2, maxNewTokens: 8, seed: 1 };
    const first = await generate(loaded, ["Reverse the letters: deno"], options);
    const again = await generate(loaded, ["Reverse the letters: deno"], options);
    assert.equal(first[0]!.length, 2);
    assert.ok(first[0]!.every(({ ids }) => ids.length >= 1 && ids.length <= 8));
    assert.deepEqual(first, again);
    loaded.model.dispose();
    parts.model.dispose();
  } finally {
    device.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a job script is a text; nothing is written", async () => {
  const { text, jobName } = await slurmScript("quickstart", "acct", {
    gpus: 1,
    time: "00:30:00",
    overrides: ["training.max_steps=7"],
    workDir: "/tmp",
    program: ["/shared/rgx"],
  });
  assert.equal(jobName, "quickstart");
  assert.match(text, /^#SBATCH --time=00:30:00$/m);
  assert.match(text, /\/shared\/rgx\n {2}train quickstart training\.max_steps=7 "\$@" --resume/);
});
