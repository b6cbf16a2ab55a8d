/** The reports of `rgx eval`. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { SYSTEM_PROMPTS } from "../../data/prompt.ts";
import { DEFAULT_PROMPT_SETTINGS } from "../evaluation/prompt_settings.ts";
import { benchmark } from "../benchmark.ts";
import type { ExampleResult, SampleResult } from "../results/result_file.ts";
import { allTasksFile, modelResult } from "../results/testing.ts";
import { modelTest } from "../testing.ts";
import { readEvalConfig } from "./eval_config.ts";
import { folderName, writeEvalReports } from "./eval_reports.ts";

modelTest(
  "reports by category, with the mean and the best of the repeats",
  async (folder, model, device) => {
    await Deno.writeTextFile(
      `${folder}/eval.yaml`,
      `
model_path: ${model}
temperature: 1
max_tokens: 6
eval_repeats: 2
add_instructions: false
save_full_results: true
output_dir: ${folder}/results
categories:
  - category: arithmetic
    datasets: [{ dataset: chain_sum, size: 4 }]
  - category: words
    datasets: [{ dataset: spell_backward, size: 3, min_word_len: 3, max_word_len: 3 }]
`,
    );
    const described = await readEvalConfig(`${folder}/eval.yaml`);
    const { result } = await benchmark({ ...described.options, device });
    const [path] = await writeEvalReports(result, described);
    assert.match(path!, /results\/_tmp_.*_model_\d{8}_\d{6}\/summary\.json$/);
    const summary = JSON.parse(await Deno.readTextFile(path!));
    assert.deepEqual(Object.keys(summary.categories), ["arithmetic", "words"]);
    const { average_mean_score, average_best_score, total } =
      summary.categories.words.spell_backward;
    assert.ok(average_best_score >= average_mean_score);
    assert.equal(total, 6);
    const folderOfReports = path!.replace("/summary.json", "");
    const read = async (name: string) =>
      JSON.parse(await Deno.readTextFile(`${folderOfReports}/${name}`));
    const part = await read("words/spell_backward.json");
    assert.equal(part.results.length, 3);
    assert.equal(part.results[0].completions.length, 2);
    assert.ok(!("metadata" in part.results[0]));
    const all = await read("results.json");
    assert.deepEqual(all.categories.map(({ name }: { name: string }) => name), [
      "arithmetic",
      "words",
    ]);
    assert.deepEqual(all.categories[1].datasets, [part]);
    // Models with the same file name get separate reports.
    for (const task of Object.values(result.tasks)) {
      task.models = { "m/x": task.models[model]!, "m_x": task.models[model]! };
    }
    const twins = await writeEvalReports(result, described);
    const named = await Promise.all(
      twins.map(async (path) => JSON.parse(await Deno.readTextFile(path)).model),
    );
    assert.deepEqual(named, ["m/x", "m_x"]);
  },
);

test.inFolder("the reports have the names and the sums of reasoning-gym's evaluations", async (folder) => {
  const sample = (extracted: string | null, score: number) => ({
    completion: `<answer>${extracted}</answer>`,
    extracted,
    score,
    truncated: false,
    completion_tokens: 3,
  });
  const failed = { ...sample(null, 0), completion: "", error: "503" };
  const example = (question: string, samples: SampleResult[]): ExampleResult => ({
    ...samples[0]!,
    index: 0,
    question,
    expected: "5",
    metadata: { source_dataset: "chain_sum" },
    samples,
  });
  const examples = [
    example("2 + 3", [sample(null, 0), sample("is 5", 0.25), sample("5", 1)]),
    example("1 + 4", [sample(null, 0), sample("6", 0), failed]),
    example("0 + 5", [failed, failed, failed]),
  ];
  const model = {
    ...modelResult(1, 5),
    num_examples: 3,
    prompt: {
      ...DEFAULT_PROMPT_SETTINGS,
      system_prompt: SYSTEM_PROMPTS["simple"]!,
      from: "benchmark" as const,
    },
    usage: { prompt_tokens: 9, completion_tokens: 15, seconds: 2 },
    device: "http://localhost/v1",
    examples,
  };
  const file = allTasksFile({ chain_sum: {} }), task = file.tasks["chain_sum"]!;
  const parts = { category: "sums", parameters: { min_terms: 2 }, seed: 43 };
  const result = {
    ...file,
    seed: 42,
    sampling: { ...file.sampling, samples: 3, max_new_tokens: 9, temperature: 0.5, top_p: 0.8 },
    tasks: { chain_sum: { ...task, ...parts, models: { "openai:org/m": model } } },
  };
  const options = { models: [], tasks: [], outputDir: folder, remote: { provider: "P" } };
  const [path] = await writeEvalReports(result, {
    options,
    saveMetadata: true,
    saveFullResults: false,
  });
  assert.equal(path, `${folder}/org_m_sums_20260102_030405/summary.json`);
  const { categories: _, average: __, sampling: ___, ...summary } = JSON.parse(
    await Deno.readTextFile(path),
  );
  assert.deepEqual(summary, {
    model: "org/m",
    provider: "P",
    timestamp: file.created,
    rgx_version: file.rgx_version,
    device: "http://localhost/v1",
    duration_seconds: 2,
    system_prompt: SYSTEM_PROMPTS["simple"],
    system_prompt_id: "simple",
    max_tokens: 9,
    temperature: 0.5,
    top_p: 0.8,
    completions_per_prompt: 3,
    seed: 42,
    total_datasets: 1,
    total_examples: 3,
    dataset_best_scores: { chain_sum: 0.5 }, // of the two problems with an answer
    dataset_mean_scores: { chain_sum: (1.25 / 3 + 0) / 2 },
  });
  const report = JSON.parse(
    await Deno.readTextFile(path.replace("summary.json", "sums/chain_sum.json")),
  );
  assert.deepEqual(report.config, { size: 3, seed: 43, min_terms: 2 });
  assert.equal(report.average_score, report.average_mean_score);
  const [first, second, third] = report.results;
  assert.deepEqual([first.best_model_answer, first.best_score], ["5", 1]);
  assert.deepEqual([second.best_model_answer, second.best_score], ["6", 0]);
  assert.deepEqual([third.best_full_model_response, third.error], [null, "503"]);
  assert.deepEqual(first.metadata, { source_dataset: "chain_sum" });
  assert.equal(first.completions[1].full_model_response, "<answer>is 5</answer>");
  await assert.rejects(Deno.stat(path.replace("summary", "results")), Deno.errors.NotFound);
});

Deno.test("a model in a relative path does not get a hidden folder", () => {
  assert.equal(folderName("./models/tiny"), "models_tiny");
  assert.equal(folderName("../tiny"), "tiny");
  assert.equal(folderName("/m/tiny"), "_m_tiny");
});
