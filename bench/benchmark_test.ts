/**
 * Local models on several tasks: result files, resume, samples, failures, refusals.
 */
import assert from "node:assert/strict";
import { Interrupted } from "../core/errors.ts";
import { namesIn } from "../core/testing.ts";
import { createDataset } from "../tasks/dataset.ts";
import type { Benchmark } from "./benchmark.ts";
import { readResultFile } from "./results/result_file.ts";
import { runsOf } from "./local/local_model.ts";
import { modelTest } from "./testing.ts";

const TASKS = ["chain_sum", "spell_backward"];
const DRAWN = { temperature: 1, max_new_tokens: 8 };
/** The result of the only model on a task. */
const on = ({ result }: Benchmark, task: string) => Object.values(result.tasks[task]!.models)[0]!;

modelTest(
  "one model on two tasks: documented files, problems of the test split",
  async (folder, model, _, bench) => {
    const outputDir = `${folder}/out`, parameters = { min_word_len: 3, max_word_len: 3 };
    const done = await bench({
      tasks: ["chain_sum", { name: "spell_backward", parameters }],
      seed: 9,
    });
    assert.deepEqual([done.exitCode, done.evaluated], [0, 10]);
    const { stamp } = done.result;
    assert.match(stamp, /^\d{8}_\d{6}$/);
    const names = [...TASKS, "all_tasks"].map((task) => `results_${task}_${stamp}.json`);
    assert.deepEqual(done.files, names.map((name) => `${outputDir}/${name}`));
    const all = await readResultFile(done.files[2]!);
    assert.ok(all.kind === "all_tasks");
    assert.deepEqual(all.parts, names.slice(0, 2));
    const part = await readResultFile(done.files[1]!);
    assert.ok(part.kind === "task");
    assert.deepEqual(part.models, all.tasks["spell_backward"]!.models);
    const result = part.models[model]!, [first] = result.examples;
    assert.deepEqual([result.examples.length, result.total], [5, 5]);
    assert.equal(result.accuracy, result.correct / result.total);
    assert.equal(result.prompt.format, "plain");
    assert.equal(result.device, "reference, 1 thread");
    const { question, answer } = createDataset("spell_backward", {
      ...parameters,
      seed: 9,
      split: "test",
    }).entry(0);
    assert.deepEqual([first!.question, first!.expected], [question, answer]);
    const shares = done.events.flatMap((e) => e.type === "loading" ? [e.share] : []);
    assert.deepEqual([shares[0], shares.at(-1)], [0, 1]);
    assert.deepEqual(shares, [...new Set(shares)].sort((a, b) => a - b), "one model, loaded once");
    assert.equal(done.events.filter(({ type }) => type === "progress").length, 10);
  },
);

modelTest(
  "a resume asks only for missing samples; a larger size adds problems",
  async (folder, _model, _, bench) => {
    const whole = await bench({ sampling: DRAWN, numExamples: 7 });
    let seen = 0;
    const other = { sampling: DRAWN, outputDir: `${folder}/other`, numExamples: 7 };
    await assert.rejects(
      bench({
        ...other,
        tasks: TASKS,
        numExamples: 400,
        onEvent: ({ type }) => void (type === "progress" && seen++),
        shouldStop: () => seen >= 32,
      }),
      Interrupted,
    );
    assert.ok(seen >= 32 && seen < 800, `${seen} answers before the stop`);
    assert.equal(namesIn(other.outputDir).length, 1, "samples and no results");
    const resume = (more: object = {}) => bench({ ...other, resume: true, ...more });
    const resumed = await resume();
    assert.equal(resumed.evaluated + resumed.resumed, 7);
    assert.ok(resumed.resumed > 0);
    assert.deepEqual(on(resumed, "chain_sum").examples, on(whole, "chain_sum").examples);
    const again = await resume();
    assert.deepEqual([again.resumed, again.evaluated], [7, 0]);
    const spelled = await resume({ models: [`${folder}/./model/`] });
    assert.equal(spelled.evaluated, 0, "another spelling of the same place");
    const more = await resume({ numExamples: 40 });
    assert.equal(more.resumed + more.evaluated, 40);
    assert.ok(more.resumed >= 7);
    const { evaluated } = await resume({ samplingSeed: 5 });
    assert.equal(evaluated, 7, "another seed of the draws is another measurement");
    assert.equal((await bench(other)).evaluated, 7);
  },
);

modelTest(
  "shards share the combinations and write no results",
  async (folder, _model, _, bench) => {
    const tasks = [...TASKS, "leg_counting"];
    const whole = await bench({ tasks, outputDir: `${folder}/whole` });
    const shard = (index: number) => bench({ tasks, resume: true, shard: { index, count: 2 } });
    for (const index of [1, 0]) {
      const part = await shard(index);
      assert.deepEqual(
        [part.evaluated, part.resumed, part.unanswered, part.exitCode, part.files.length],
        [index === 0 ? 10 : 5, 0, 0, 0, 0],
      );
      const labels = index === 0 ? ["chain_sum", "leg_counting"] : ["spell_backward"];
      assert.deepEqual(Object.keys(part.result.tasks), labels);
    }
    assert.match(
      namesIn(`${folder}/out`).join(" "),
      /^samples_\S+_part-1-of-2\.jsonl samples_\S+_part-0-of-2\.jsonl$/,
    );
    const again = await shard(0);
    assert.deepEqual([again.evaluated, again.resumed], [0, 10]);
    const merged = await bench({ tasks, merge: true });
    assert.equal(merged.exitCode, 0);
    for (const task of tasks) assert.deepEqual(on(merged, task).examples, on(whole, task).examples);
  },
);

modelTest(
  "parts are merged into one result, and missing samples are reported",
  async (folder, _model, _, bench) => {
    for (const task of TASKS) await bench({ tasks: [task] });
    const merge = (more: object = {}) => bench({ tasks: TASKS, merge: true, ...more });
    const merged = await merge();
    assert.deepEqual([merged.evaluated, merged.resumed, merged.exitCode], [0, 10, 0]);
    assert.deepEqual(Object.keys(merged.result.tasks), TASKS);
    const more = await merge({ tasks: [...TASKS, "gcd"] });
    assert.deepEqual([more.unanswered, more.exitCode], [5, 1]);
    const files = namesIn(`${folder}/out`);
    await assert.rejects(
      merge({ seed: 77 }),
      /out holds no answers of these models to these tasks/,
    );
    assert.deepEqual(namesIn(`${folder}/out`), files);
  },
);

modelTest(
  "several samples give pass@k, avg@k and majority, and do not interact",
  async (folder, _model, _, bench) => {
    const draw = (samples: number, name: string, more: object = {}) =>
      bench({
        tasks: ["spell_backward"],
        outputDir: `${folder}/${name}`,
        sampling: { samples, max_new_tokens: 8 },
        ...more,
      });
    const four = await draw(4, "four"), result = on(four, "spell_backward");
    assert.equal(four.result.sampling.temperature, 1);
    assert.deepEqual([result.total, result.num_examples], [20, 5]);
    assert.deepEqual(Object.keys(result.samples!.pass_at), ["1", "2", "4"]);
    assert.equal(result.samples!.avg_at_k, result.accuracy);
    const completions = result.examples.map(({ samples }) => samples!.map((s) => s.completion));
    assert.ok(completions.some((own) => new Set(own).size > 1), "samples differ");
    // A resume with more samples adds the missing ones.
    await draw(2, "two");
    const grown = await draw(4, "two", { resume: true });
    assert.deepEqual([grown.resumed, grown.evaluated], [10, 10]);
    assert.deepEqual(on(grown, "spell_backward").examples, result.examples);
  },
);

modelTest(
  "a batch size limits the completions decoded together and changes none",
  async (folder, _model, device, bench) => {
    let together = 0;
    const run = device.run.bind(device);
    device.run = (op, args) => {
      if ("branches" in args) together = Math.max(together, args.count);
      run(op, args);
    };
    const measured = async (batchSize?: number) => {
      together = 0;
      const outputDir = `${folder}/${batchSize}`,
        size = batchSize === undefined ? {} : { batchSize };
      const done = await bench({ tasks: TASKS, sampling: DRAWN, outputDir, ...size });
      return TASKS.map((task) => on(done, task).examples);
    };
    const all = await measured();
    assert.ok(together > 3, `${together} at once`);
    for (const size of [1, 3]) {
      assert.deepEqual(await measured(size), all);
      assert.equal(together, size);
    }
  },
);

modelTest(
  "impossible requests are refused before any work, with the nearest name",
  async (folder, model, _, bench) => {
    await Deno.mkdir(`${folder}/young`);
    await Deno.writeTextFile(`${folder}/young/run.json`, "{}");
    const labelled = (...labels: string[]) =>
      labels.map((label) => ({ name: "file", path: "x.jsonl", label }));
    const shots = { few_shot: 1, few_shot_as: "turns" } as const;
    const refused: readonly (readonly [Parameters<typeof bench>[0], RegExp])[] = [
      [{ tasks: ["chain_sum", "gdc", "lmc"] }, /"gdc", did.* gcd\?; .*"lmc", did.* lcm\?/],
      [{ tasks: ["chainsum"] }, /unknown task "chainsum", did you mean chain_sum\?/],
      [{ models: [`${folder}/modle`] }, /modle: no such model folder, did you mean .*\/model\?/],
      [{ tasks: ["chain_sum", "chain_sum"] }, /task chain_sum is named twice/],
      [{ models: [model, model] }, /is named twice/],
      [{ tasks: labelled("my sums", "my_sums") }, /my_sums and my sums would have the same result/],
      [{ tasks: labelled("all_tasks") }, /all_tasks and .* same result files/],
      [{ sampling: { activations: "int8" } }, /no weight of .*model has 4 bits/],
      [{ models: [] }, /no model is named/],
      [{ numExamples: 99_999_999 }, /chain_sum: 99999999 problems .* 1000000 is the most/],
      [{ models: [""] }, /the name of a model is empty/],
      [{ models: [`${folder}/young`] }, /young: the run has no checkpoint yet/],
      [{ prompt: shots }, /model: worked examples as turns need a chat template/],
      [{ tasks: [{ name: "chain_sum", parameters: { min_terms: 0 } }] }, /min_terms/],
      [{ tasks: ["file"] }, /the data set file is a file, and none is named/],
    ];
    for (const [changes, message] of refused) await assert.rejects(bench(changes), message);
    await assert.rejects(Deno.stat(`${folder}/out`), Deno.errors.NotFound);
  },
);

modelTest(
  "prompts longer than the model are counted, and the others are measured",
  async (_folder, _model, _, bench) => {
    // 128 positions of one character each: some words are too long, sums never are.
    const words = { min_word_len: 3, max_word_len: 12 };
    const prompt = (times: number) => ({
      system_prompt: "long ".repeat(times) + "l",
      add_instructions: false,
    });
    const asked = {
      tasks: ["chain_sum", { name: "spell_backward", parameters: words }],
      prompt: prompt(19),
      numExamples: 40,
    };
    const done = await bench(asked);
    assert.deepEqual([done.exitCode, done.unanswered], [0, 0]);
    const { total, too_long: count, errors, accuracy_of_all, correct, examples } = on(
      done,
      "spell_backward",
    );
    assert.ok(count > 0 && total > 0 && count + total === 40 && errors === 0, `${count} ${total}`);
    assert.equal(accuracy_of_all, correct / 40);
    const long = examples.find((example) => example.too_long)!;
    assert.match(long.error!, /the prompt has \d+ tokens, the model 128 positions/);
    const warnings = done.events.flatMap((e) => e.type === "warning" ? [e.message] : []);
    const said = new RegExp(`was not asked ${count} of 40 questions of spell_back`);
    assert.match(warnings.join(), said);
    assert.equal((await bench({ ...asked, resume: true })).evaluated, 0);

    // A task without a fitting prompt is in no average and in no comparison.
    const none = await bench({ prompt: prompt(30) });
    assert.equal(none.exitCode, 0);
    assert.equal(on(none, "chain_sum").total, 0);
    const { tasks, accuracy } = Object.values(none.result.average)[0]!;
    assert.deepEqual([tasks, accuracy], [0, NaN]);
    const several = await bench({ sampling: { samples: 3 }, prompt: prompt(30) });
    assert.equal(on(several, "chain_sum").samples, null);
    assert.match(JSON.stringify(several.events), /was not asked 5 of 5 questions of chain_sum/);
  },
);

modelTest(
  "a damaged model, or one without a tokenizer, is refused before any work",
  async (folder, model, _, bench) => {
    const mute = `${folder}/mute`;
    await Deno.mkdir(mute);
    for (const name of ["config.json", "model.safetensors"]) {
      await Deno.copyFile(`${model}/${name}`, `${mute}/${name}`);
    }
    await assert.rejects(bench({ models: [model, mute], tasks: ["gcd"] }), /mute: no tokenizer/);
    await assert.rejects(Deno.stat(`${folder}/out`), Deno.errors.NotFound);
    await Deno.writeTextFile(`${model}/model.safetensors`, "damaged");
    await assert.rejects(bench(), /safetensors/);
  },
);

Deno.test("samples are asked for in runs of consecutive numbers", () => {
  assert.deepEqual(runsOf([0, 1, 2, 5, 7, 8]), [[0, 1, 2], [5], [7, 8]]);
  assert.deepEqual(runsOf([]), []);
  assert.throws(() => runsOf([2, 1]), /must ascend/);
});
