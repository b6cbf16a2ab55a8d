/**
 * `rgx bench` and `rgx eval` as a user runs them: training and comparing, stopping and resuming,
 * and what is refused.
 */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { tinyModelFolder } from "../../training/tiny_model_testing.ts";
import { lines, namesIn, refuses, rgx, startRgx, succeeds } from "../support.ts";

const THREE = ["gsm_symbolic", "letter_counting", "mini_sudoku"];

Deno.test("a model is trained, compared with its base on three tasks, and plotted", async () => {
  const base = goldenPath("models/tinystories-656k");
  await withFolder(async (folder) => {
    const run = `${folder}/leg_counting`;
    await Deno.writeTextFile(
      `${folder}/leg_counting.yaml`,
      `model: { model_name_or_path: ${base} }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj] }
data: { task_name: leg_counting, num_examples: 32 }
rewards: [{ name: correctness }, { name: brevity, weight: 0.2 }]
eval: { num_examples: 4 }
training:
  { output_dir: ${run}, max_steps: 2, save_steps: 2, per_device_train_batch_size: 4,
    num_generations: 4, max_completion_length: 8, learning_rate: 1.0e-3 }
`,
    );
    await succeeds(["train", `${folder}/leg_counting.yaml`, "--quiet"]);

    const out = `${folder}/results`, checkpoint = `${run}/checkpoint-2`;
    const flags = ["--num-examples", "4", "--output-dir", out, "--plain"];
    const tasks = ["--tasks", ...THREE];
    const bench = await rgx(["bench", "--models", checkpoint, ...tasks, ...flags, "--json"]);
    const result = JSON.parse(bench.out);
    assert.equal(bench.code, result.unanswered === 0 ? 0 : 1, bench.err);
    assert.deepEqual(Object.keys(result.average), [checkpoint, base]);
    assert.deepEqual(Object.keys(result.tasks), THREE);
    assert.equal(result.sampling.max_new_tokens, 8, "as the run was trained");
    assert.equal(result.tasks.gsm_symbolic.models[base].prompt.from, "checkpoint");
    assert.ok(result.files.every((path: string) => Deno.statSync(path).isFile));

    const again = await rgx(argv`bench --models ${checkpoint} ${tasks} ${flags} --resume --table csv
      --no-charts`);
    assert.equal(lines(again.out).length, 1 + 6);
    assert.match(again.err, /samples were known/);

    const [file] = result.files;
    await succeeds(argv`plot ${file} --title Impact --output ${folder}/chart.svg
      --rename ${checkpoint}=Fine-tuned --rename ${base}=Baseline`);
    assert.match(await Deno.readTextFile(`${folder}/chart.svg`), /Fine-tuned/);
  });
});

test.inFolder("samples can be written to the folder of the results, which is created", async (folder) => {
  await tinyModelFolder(`${folder}/model`);
  const args = ["bench", "--models", `${folder}/model`, "--tasks", "chain_sum", "--no-charts"];
  const small = ["--max-new-tokens", "2", "--num-examples", "2", "--no-instructions", "--quiet"];
  const out = ["--output-dir", `${folder}/out/`, "--samples-out"];
  await succeeds([...args, ...small, ...out, `${folder}/out/samples.jsonl`]);
  assert.equal((await Deno.readTextFile(`${folder}/out/samples.jsonl`)).split("\n").length, 3);
  // A name of one's own stands in results; the answers are those of the same model.
  const named = ["bench", "--models", `mine=${folder}/model`, "--tasks", "chain_sum", "--resume"];
  const again = await rgx([...named, "--no-charts", ...small, "--json", ...out.slice(0, 2)]);
  const { average, resumed } = JSON.parse(again.out);
  assert.deepEqual([Object.keys(average), resumed], [["mine"], 2], again.err);
  const elsewhere = [...args, ...small, ...out, `${folder}/no/samples.jsonl`];
  await refuses([[elsewhere, /--samples-out .*: there is no folder/]]);
});

test.inFolder("results are printed and written even if charts and samples cannot be", async (folder) => {
  await tinyModelFolder(`${folder}/model`);
  const args = argv`bench --models ${folder}/model --tasks chain_sum --device reference
      --no-instructions --max-new-tokens 2 --num-examples 2 --output-dir ${folder}/out
      --samples-out ${folder}/model`;
  // No file may be larger than 30 KB. Results are smaller, and charts are larger.
  const { code, out } = await startRgx(args, { shell: "trap '' XFSZ; ulimit -f 60" }).end;
  assert.equal(code, 1);
  assert.match(out, /chain_sum +2 /);
  assert.match(out, /results_all_tasks_/);
  assert.doesNotMatch(out, /\.png/);
});

test.inFolder("rgx eval writes to the --output-dir, and refuses a file without a model", async (folder) => {
  await tinyModelFolder(`${folder}/model`);
  const eval_ = async (text: string) => {
    await Deno.writeTextFile(`${folder}/eval.yaml`, text);
    return await rgx(argv`eval ${folder}/eval.yaml --output-dir ${folder}/flag
        --device reference --no-charts --category sums --full-results --verbose`);
  };
  const tasks = "categories: [{ category: sums, datasets: " +
    "[{ dataset: chain_sum, size: 2, seed: 3 }] }, { category: words, datasets: [ab] }]";
  const model = `models: ["${folder}/model"]\nmax_tokens: 2\nadd_instructions: false`;
  const done = await eval_(`output_dir: ${folder}/file\n${model}\n${tasks}\n`);
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /^\/.*\/flag\/.*_model_sums_\d+_\d+\/summary\.json$/m);
  await assert.rejects(Deno.stat(`${folder}/file`), Deno.errors.NotFound);
  const summary = /^.*summary\.json$/m.exec(done.out)![0];
  const full = JSON.parse(await Deno.readTextFile(summary.replace("summary", "results")));
  assert.deepEqual(Object.keys(full.summary.dataset_mean_scores), ["chain_sum"]);
  assert.equal(done.err.split("[Prompt]").length - 1, 2);
  const flags = argv`--num-examples 1 --seed 7 --output-dir ${folder}/bench --json
      --category sums`;
  const { out } = await rgx(argv`bench --config ${folder}/eval.yaml ${flags} --device reference`);
  const [task] = Object.values(JSON.parse(out).tasks) as { seed: number; models: object }[];
  const [{ total }] = Object.values(task!.models) as [{ total: number }];
  assert.deepEqual([task!.seed, total], [7, 1], "the command line wins over the file");
  const none = await eval_(tasks);
  assert.equal(none.code, 2);
  assert.match(none.err, /eval\.yaml: no model is named\nhelp: model_path: FOLDER/);
});

test.inFolder("a stopped benchmark ends with 75, and --resume evaluates nothing twice", async (folder) => {
  await tinyModelFolder(`${folder}/model`);
  const args = argv`bench --models ${folder}/model --tasks chain_sum spell_backward
      --no-instructions --max-new-tokens 60 --device reference --no-charts --num-examples 150
      --output-dir ${folder}/out`;
  const session = startRgx(args);
  const written = async () => {
    const [samples] = namesIn(`${folder}/out`);
    const text = await Deno.readTextFile(`${folder}/out/${samples}`).catch(() => "");
    return text.split("\n").length - 1;
  };
  await session.reaches("an answer", async () => await written() > 0);
  const { code, err } = await session.ends("SIGTERM");
  assert.equal(code, 75, err);
  assert.match(err, /--resume continues from there/);
  const known = await written();
  assert.ok(known > 0 && known < 300, `${known} samples`);
  const done = JSON.parse((await rgx([...args, "--resume", "--json"])).out);
  assert.deepEqual([done.resumed, done.evaluated], [known, 300 - known]);
});

test.inFolder("mistakes end with 2 and a suggestion, and an unreachable server with 1", async (folder) => {
  await tinyModelFolder(`${folder}/model`);
  const bench = ["bench", "--output-dir", `${folder}/out`];
  const sum = ["--tasks", "chain_sum"], model = ["--models", `${folder}/model`];
  await refuses([
    [[...model, "--tasks", "chainsum"], /did you mean chain_sum\?/],
    [[...model, "--tasks", "chain_sum=x"], /only a data set has a path/],
    [[...model, ...sum, "--table", "html"], /expected markdown or csv/],
    [[...model, ...sum, "--devices", "cuda"], /numbers of graphics cards/],
    [[...model, ...sum, "--devices", "wasm,99"], /there is no card 99/],
    [sum, /no model is named/],
    [["--category", "x"], /--category: without --config/],
    [["--merge"], /models and tasks of the parts.*\n.*--merge in place of --shard/],
    [["--models", "openai:x", ...sum], /needs the address of its server/],
    [["--config", `${folder}/none.yaml`], /there is no such file/],
  ], { before: bench });
  const nobody = ["--models", "openai:x", ...sum, "--base-url", "http://127.0.0.1:4"];
  await refuses([[nobody, "cannot be reached"]], { before: bench, code: 1 });
  await assert.rejects(Deno.stat(`${folder}/out`), Deno.errors.NotFound);
});
