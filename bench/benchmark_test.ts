/**
 * Local models on several tasks: result files, resume, samples, failures, refusals.
 */
import assert from "node:assert/strict";
import { Interrupted } from "../core/errors.ts";
import { createDataset } from "../tasks/dataset.ts";
import { readResultFile } from "./results/result_file.ts";
import { runsOf } from "./local/local_model.ts";
import { collected, modelTest } from "./testing.ts";

modelTest(
  "one model on two tasks: documented files, problems of the test split",
  async (folder, model, device) => {
    const outputDir = `${folder}/out`;
    const parameters = { min_word_len: 3, max_word_len: 3 };
    const done = await collected({
      models: [model],
      tasks: ["chain_sum", { name: "spell_backward", parameters }],
      outputDir,
      device,
      seed: 9,
      prompt: { add_instructions: false },
    });
    assert.equal(done.exitCode, 0);
    assert.equal(done.evaluated, 10);
    const { stamp } = done.result;
    assert.match(stamp, /^\d{8}_\d{6}$/);
    assert.deepEqual(done.files, [
      `${outputDir}/results_chain_sum_${stamp}.json`,
      `${outputDir}/results_spell_backward_${stamp}.json`,
      `${outputDir}/results_all_tasks_${stamp}.json`,
    ]);
    const all = await readResultFile(done.files[2]!);
    assert.ok(all.kind === "all_tasks");
    assert.deepEqual(all.parts, done.files.slice(0, 2).map((path) => path.split("/").at(-1)));
    const part = await readResultFile(done.files[1]!);
    assert.ok(part.kind === "task");
    assert.deepEqual(part.models, all.tasks["spell_backward"]!.models);
    const result = part.models[model]!;
    assert.equal(result.examples.length, 5);
    assert.equal(result.total, 5);
    assert.equal(result.accuracy, result.correct / result.total);
    assert.equal(result.prompt.format, "plain");
    assert.equal(result.device, "reference, 1 thread");
    const test = createDataset("spell_backward", { ...parameters, seed: 9, split: "test" });
    assert.equal(result.examples[0]!.question, test.entry(0).question);
    assert.equal(result.examples[0]!.expected, test.entry(0).answer);
    const shares = done.events.flatMap((e) => e.type === "loading" ? [e.share] : []);
    assert.deepEqual([shares[0], shares.at(-1)], [0, 1]);
    assert.deepEqual(shares, [...new Set(shares)].sort((a, b) => a - b), "one model, loaded once");
    assert.equal(done.events.filter(({ type }) => type === "progress").length, 10);
  },
);

modelTest(
  "a resume asks only for missing samples; a larger size adds problems",
  async (folder, model, device) => {
    const common = { models: [model], outputDir: `${folder}/out`, device };
    const sampling = { temperature: 1, max_new_tokens: 8 };
    const whole = await collected({ ...common, sampling, tasks: ["chain_sum"], numExamples: 7 });
    let seen = 0;
    const other = { ...common, sampling, outputDir: `${folder}/other`, tasks: ["chain_sum"] };
    await assert.rejects(
      collected({
        ...other,
        tasks: ["chain_sum", "spell_backward"],
        numExamples: 2000,
        onEvent: ({ type }) => void (type === "progress" && seen++),
        shouldStop: () => seen >= 32,
      }),
      Interrupted,
    );
    assert.ok(seen >= 32 && seen < 4000, `${seen} answers before the stop`);
    assert.deepEqual([...Deno.readDirSync(`${folder}/other`)].length, 1, "samples and no results");
    const resumed = await collected({ ...other, numExamples: 7, resume: true });
    assert.equal(resumed.evaluated + resumed.resumed, 7);
    assert.ok(resumed.resumed > 0);
    assert.deepEqual(
      resumed.result.tasks["chain_sum"]!.models[model]!.examples,
      whole.result.tasks["chain_sum"]!.models[model]!.examples,
    );
    const again = await collected({ ...other, numExamples: 7, resume: true });
    assert.deepEqual([again.resumed, again.evaluated], [7, 0]);
    const spelled = { ...other, models: [`${folder}/./model/`], numExamples: 7, resume: true };
    assert.equal((await collected(spelled)).evaluated, 0, "another spelling of the same place");
    const more = await collected({ ...other, numExamples: 40, resume: true });
    assert.equal(more.resumed + more.evaluated, 40);
    assert.ok(more.resumed >= 7);
    const changed = await collected({ ...other, numExamples: 7, resume: true, samplingSeed: 5 });
    assert.equal(changed.evaluated, 7, "another seed of the draws is another measurement");
    const fresh = await collected({ ...other, numExamples: 7 });
    assert.equal(fresh.evaluated, 7);
  },
);

modelTest("shards share the combinations and write no results", async (folder, model, device) => {
  const common = { models: [model], tasks: ["chain_sum", "spell_backward", "leg_counting"] };
  const whole = await collected({ ...common, device, outputDir: `${folder}/whole` });
  const out = { ...common, outputDir: `${folder}/out` };
  for (const index of [1, 0]) {
    const part = await collected({ ...out, device, resume: true, shard: { index, count: 2 } });
    assert.deepEqual(
      [part.evaluated, part.resumed, part.unanswered, part.exitCode, part.files.length],
      [index === 0 ? 10 : 5, 0, 0, 0, 0],
    );
    const labels = index === 0 ? ["chain_sum", "leg_counting"] : ["spell_backward"];
    assert.deepEqual(Object.keys(part.result.tasks), labels);
  }
  const names = [...Deno.readDirSync(`${folder}/out`)].map(({ name }) => name).sort();
  assert.match(
    names.join(" "),
    /^samples_\S+_part-1-of-2\.jsonl samples_\S+_part-0-of-2\.jsonl$/,
  );
  const again = await collected({
    ...out,
    device,
    resume: true,
    shard: { index: 0, count: 2 },
  });
  assert.deepEqual([again.evaluated, again.resumed], [0, 10]);
  const merged = await collected({ ...out, merge: true });
  assert.equal(merged.exitCode, 0);
  const examples = ({ result }: typeof merged) =>
    Object.values(result.tasks).map((task) => task.models[model]!.examples);
  assert.deepEqual(examples(merged), examples(whole));
});

modelTest(
  "parts are merged into one result, and missing samples are reported",
  async (folder, model, device) => {
    const common = { models: [model], outputDir: `${folder}/out` };
    const tasks = ["chain_sum", "spell_backward"];
    for (const task of tasks) await collected({ ...common, tasks: [task], device });
    const merged = await collected({ ...common, tasks, merge: true });
    assert.deepEqual([merged.evaluated, merged.resumed, merged.exitCode], [0, 10, 0]);
    assert.deepEqual(Object.keys(merged.result.tasks), tasks);
    const more = await collected({ ...common, tasks: [...tasks, "gcd"], merge: true });
    assert.deepEqual([more.unanswered, more.exitCode], [5, 1]);
    // Two spellings of one path.
    const twice = await collected({ ...common, models: [model, `${model}/`], tasks, merge: true });
    assert.match(JSON.stringify(twice.events), /model\/ is the same model as [^ ]*model"/);
    const files = [...Deno.readDirSync(common.outputDir)].length;
    await assert.rejects(
      collected({ ...common, tasks, merge: true, seed: 77 }),
      /out holds no answers of these models to these tasks/,
    );
    assert.equal([...Deno.readDirSync(common.outputDir)].length, files);
  },
);

modelTest(
  "several samples give pass@k, avg@k and majority, and do not interact",
  async (folder, model, device) => {
    const common = { models: [model], tasks: ["spell_backward"], device };
    const four = await collected({
      ...common,
      outputDir: `${folder}/four`,
      sampling: { samples: 4, max_new_tokens: 8 },
    });
    assert.equal(four.result.sampling.temperature, 1);
    const result = four.result.tasks["spell_backward"]!.models[model]!;
    assert.equal(result.total, 20);
    assert.equal(result.num_examples, 5);
    assert.deepEqual(Object.keys(result.samples!.pass_at), ["1", "2", "4"]);
    assert.equal(result.samples!.avg_at_k, result.accuracy);
    const completions = result.examples.map(({ samples }) => samples!.map((s) => s.completion));
    assert.ok(completions.some((own) => new Set(own).size > 1), "samples differ");
    // A resume with more samples adds the missing ones.
    const two = { ...common, outputDir: `${folder}/two` };
    await collected({ ...two, sampling: { samples: 2, max_new_tokens: 8 } });
    const grown = await collected({
      ...two,
      sampling: { samples: 4, max_new_tokens: 8 },
      resume: true,
    });
    assert.deepEqual([grown.resumed, grown.evaluated], [10, 10]);
    assert.deepEqual(
      grown.result.tasks["spell_backward"]!.models[model]!.examples,
      result.examples,
    );
  },
);

modelTest(
  "a batch size limits the completions decoded together and changes none",
  async (folder, model, device) => {
    let together = 0;
    const run = device.run.bind(device);
    device.run = (op, args) => {
      if ("branches" in args) together = Math.max(together, args.count);
      run(op, args);
    };
    const sampling = { temperature: 1, max_new_tokens: 8 };
    const measured = async (batchSize: number | null) => {
      together = 0;
      const tasks = ["chain_sum", "spell_backward"], outputDir = `${folder}/${batchSize}`;
      const { result } = await collected({
        models: [model],
        tasks,
        device,
        sampling,
        outputDir,
        ...(batchSize !== null && { batchSize }),
      });
      return tasks.map((task) => result.tasks[task]!.models[model]!.examples);
    };
    const all = await measured(null);
    assert.ok(together > 3, `${together} at once`);
    for (const size of [1, 3]) {
      assert.deepEqual(await measured(size), all);
      assert.equal(together, size);
    }
  },
);

modelTest(
  "impossible requests are refused before any work, with the nearest name",
  async (folder, model, device) => {
    const common = { models: [model], tasks: ["chain_sum"], outputDir: `${folder}/out`, device };
    const refused = (changes: object, message: RegExp) =>
      assert.rejects(collected({ ...common, ...changes }), message);
    await refused(
      { tasks: ["chain_sum", "gdc", "lmc"] },
      /"gdc", did.* gcd\?; .*"lmc", did.* lcm\?/,
    );
    await refused({ tasks: ["chainsum"] }, /unknown task "chainsum", did you mean chain_sum\?/);
    await refused(
      { models: [`${folder}/modle`] },
      /modle: no such model folder, did you mean .*\/model\?/,
    );
    await refused({ tasks: ["chain_sum", "chain_sum"] }, /task chain_sum is named twice/);
    await refused({ models: [model, model] }, /is named twice/);
    const file = { name: "file", path: "x.jsonl" };
    await refused(
      { tasks: [{ ...file, label: "my sums" }, { ...file, label: "my_sums" }] },
      /my_sums and my sums would have the same result files/,
    );
    await refused(
      { tasks: [{ ...file, label: "all_tasks" }] },
      /all_tasks and .* same result files/,
    );
    await refused({ sampling: { activations: "int8" } }, /no weight of .*model has 4 bits/);
    await refused({ models: [] }, /no model is named/);
    await refused(
      { numExamples: 99_999_999 },
      /chain_sum: 99999999 problems .* 1000000 is the most/,
    );
    await refused({ models: [""] }, /the name of a model is empty/);
    await Deno.mkdir(`${folder}/young`);
    await Deno.writeTextFile(`${folder}/young/run.json`, "{}");
    await refused({ models: [`${folder}/young`] }, /young: the run has no checkpoint yet/);
    await refused(
      { prompt: { few_shot: 1, few_shot_as: "turns" } },
      /model: worked examples as turns need a chat template/,
    );
    await refused({ tasks: [{ name: "chain_sum", parameters: { min_terms: 0 } }] }, /min_terms/);
    await refused({ tasks: ["file"] }, /the data set file is a file, and none is named/);
    await assert.rejects(Deno.stat(`${folder}/out`), Deno.errors.NotFound);
  },
);

modelTest(
  "prompts longer than the model are counted, and the others are measured",
  async (folder, model, device) => {
    const common = { models: [model], outputDir: `${folder}/out`, device };
    // 128 positions of one character each: some words are too long, sums never are.
    const words = { min_word_len: 3, max_word_len: 12 };
    const tasks = ["chain_sum", { name: "spell_backward", parameters: words }];
    const prompt = { system_prompt: "long ".repeat(19) + "l", add_instructions: false };
    const done = await collected({ ...common, tasks, prompt, numExamples: 40 });
    assert.deepEqual([done.exitCode, done.unanswered], [0, 0]);
    const { total, too_long: count, errors, accuracy_of_all, correct, examples } = done.result
      .tasks["spell_backward"]!.models[model]!;
    assert.ok(count > 0 && total > 0 && count + total === 40 && errors === 0, `${count} ${total}`);
    assert.equal(accuracy_of_all, correct / 40);
    const long = examples.find((example) => example.too_long)!;
    assert.match(long.error!, /the prompt has \d+ tokens, the model 128 positions/);
    const warnings = done.events.flatMap((e) => e.type === "warning" ? [e.message] : []);
    assert.match(
      warnings.join(),
      new RegExp(`was not asked ${count} of 40 questions of spell_back`),
    );
    const again = await collected({ ...common, tasks, prompt, numExamples: 40, resume: true });
    assert.equal(again.evaluated, 0);

    // A task without a fitting prompt is in no average and in no comparison.
    const none = await collected({
      ...common,
      tasks: ["chain_sum"],
      prompt: { system_prompt: "long ".repeat(30), add_instructions: false },
    });
    assert.equal(none.exitCode, 0);
    assert.equal(none.result.tasks["chain_sum"]!.models[model]!.total, 0);
    const average = none.result.average[model]!;
    assert.deepEqual([average.tasks, average.accuracy], [0, NaN]);
    const several = await collected({
      ...common,
      tasks: ["chain_sum"],
      sampling: { samples: 3 },
      prompt: { system_prompt: "long ".repeat(30), add_instructions: false },
    });
    assert.equal(several.result.tasks["chain_sum"]!.models[model]!.samples, null);
    assert.match(JSON.stringify(several.events), /was not asked 5 of 5 questions of chain_sum/);
  },
);

modelTest(
  "a damaged model, or one without a tokenizer, is refused before any work",
  async (folder, model, device) => {
    const mute = `${folder}/mute`;
    await Deno.mkdir(mute);
    for (const name of ["config.json", "model.safetensors"]) {
      await Deno.copyFile(`${model}/${name}`, `${mute}/${name}`);
    }
    await assert.rejects(
      collected({ models: [model, mute], tasks: ["gcd"], outputDir: `${folder}/o`, device }),
      /mute: no tokenizer/,
    );
    await assert.rejects(Deno.stat(`${folder}/o`), Deno.errors.NotFound);
    await Deno.writeTextFile(`${model}/model.safetensors`, "damaged");
    await assert.rejects(
      collected({ models: [model], tasks: ["chain_sum"], outputDir: `${folder}/b`, device }),
      /safetensors/,
    );
  },
);

Deno.test("samples are asked for in runs of consecutive numbers", () => {
  assert.deepEqual(runsOf([0, 1, 2, 5, 7, 8]), [[0, 1, 2], [5], [7, 8]]);
  assert.deepEqual(runsOf([]), []);
  assert.throws(() => runsOf([2, 1]), /must ascend/);
});
