import assert from "node:assert/strict";
import { batchSizes } from "../batch_sizes.ts";
import { bestMetric } from "../schema/metric_names.ts";
import { stepInterval } from "../step_interval.ts";
import { assertErrors, errorsOf, load, MINIMAL } from "../testing.ts";

const HELD_OUT = "eval: {num_examples: 9}\n";

/** YAML after MINIMAL, and deeper its one error. */
const REFUSED = String.raw`
generation_batch_size: 16\nsteps_per_generation: 2
  f.yaml:4:24: training.generation_batch_size: 16 and steps_per_generation 2…at most one…
advantage_estimator: rloo\nmulti_objective_aggregation: normalize_then_sum
  …training.advantage_estimator: rloo compares sums of rewards…
advantage_estimator: remax\nuse_rollout_activations: true
  …remax excludes use_rollout_activations…
environment: {name: second_tries}\ngeneration: {backend: openai, base_url: [http://h/v1], max_staleness: 1}
  …generation.max_staleness: found 1, expected 0 with environment…
environment: {url: ws://h, command: [python3, e.py]}
  …environment: command and url are two environments…
environment: {name: sokoban, tries: 3}
  …environment: tries does not go with sokoban
environment: {url: h:8000}
  …environment.url: expected an address such as ws://127.0.0.1:8000…
tools: [{mcp: {workers: 2}}]
  …tools.0: mcp: expected one of command and url
advantage_estimator: gae
  …training.advantage_estimator: expected grpo, rloo,…
teacher: {}
  …teacher.model_name_or_path: missing: without a model the policy is its own teacher…
teacher: {model_name_or_path: x, top_k: 20}
  …teacher.top_k: found 20, expected 1 with beta 1…
temperature: 0.7\nteacher: {base_url: http://localhost:8000/v1}
  …training.temperature: found 0.7, expected 1 with teacher.base_url…
teacher: {base_url: http://localhost:8000/v1, adapter_name_or_path: a}
  …teacher.adapter_name_or_path: has no effect with base_url…
teacher: {model_name_or_path: x, api_key_env: KEY}
  …teacher.api_key_env: has no effect without teacher.base_url
environment: {name: second_tries}\nteacher: {model_name_or_path: x, teacher_prompt_template: hi}
  …teacher.teacher_prompt_template: has no effect in dialogues…
generation_batch_size: 20
  …works with 16 or 24
generation_batch_size: 12\nper_device_train_batch_size: 4
  …works with 8 or 16
per_device_train_batch_size: 6\nsteps_per_generation: 3\ngradient_accumulation_steps: 4
  …8 does not divide the 18 completions of a generation…steps_per_generation 3…num_generations 6
    or 9…per_device_train_batch_size 8
use_rollout_log_probs: true
  f.yaml:4:24: training.use_rollout_log_probs: has no effect…set num_iterations or
    steps_per_generation
use_rollout_log_probs: true\nnum_iterations: 2\nlora: {r: 4}\ngeneration: {backend: openai, base_url: http://localhost:8000/v1}
  …training.use_rollout_log_probs: needs generation.backend in_process…
use_rollout_activations: true\nlora: {r: 4}\ngeneration: {backend: openai, base_url: http://localhost:8000/v1}
  …training.use_rollout_activations: needs generation.backend in_process…
lora: {r: 4}\ngeneration: {backend: openai, base_url: http://localhost:8000/v1, activations: int8}
  …generation.activations: needs generation.backend in_process…
generation: {activations: int8}
  …generation.activations: int8 needs a lora section…
use_rollout_activations: true\nlora: {r: 4}\ngeneration: {activations: int8}
  …generation.activations: int8 excludes use_rollout_activations…
lora: {r: 4}\ngeneration: {backend: openai, base_url: http://localhost:8000/v1, kv_cache_dtype: bfloat16}
  …generation.kv_cache_dtype: needs generation.backend in_process…
use_rollout_activations: true\ngeneration: {kv_cache_dtype: bfloat16}
  …generation.kv_cache_dtype: bfloat16 excludes use_rollout_activations…
use_rollout_activations: true\nlora: {r: 4, lora_dropout: 0.1}
  …training.use_rollout_activations: needs lora.lora_dropout 0…
use_rollout_activations: true\ndynamic_sampling: true
  …training.use_rollout_activations: and dynamic_sampling exclude each other…
use_rollout_activations: true\nsteps_per_generation: 1\ngradient_accumulation_steps: 2
  …training.use_rollout_activations: needs steps of one generation each…a multiple of
    gradient_accumulation_steps (2)
eval: {num_examples: 9}\neval_strategy: steps\nnum_generations_eval: 3
  …do not divide per_device_eval_batch_size 8…num_generations_eval 2 or
    4…per_device_eval_batch_size 6 or 9
lora: {r: 4}\nrope_scaling: {rope_type: yarn, factor: 4}
  f.yaml:5:15: model.rope_scaling: the files of an adapter…model_name_or_path
lora: {r: 4}\nload_in_4bit: true\nload_in_8bit: true
  f.yaml:5:15: model.load_in_4bit: load_in_8bit is set as well…
bf16_rounding: kahan
  f.yaml:4:16: training.bf16_rounding: only weights that are trained in bfloat16 are rounded…set
    model.dtype: bfloat16
lora: {r: 4}\ndtype: bfloat16\nbf16_rounding: stochastic
  f.yaml:6:16: training.bf16_rounding: only weights that are trained in bfloat16 are rounded…an
    adapter is trained in float32
optim: adafactor
  f.yaml:4:8: training.optim: adafactor is not supported yet…adamw_torch_fused or adamw_8bit
quantization: {load_in_8bit: true}
  f.yaml:4:30: model.load_in_8bit: full fine-tuning trains every weight, in float32 or
    bfloat16…add a lora section…
eval_strategy: epoch
  f.yaml:4:16: training.eval_strategy: needs held-out problems: set eval.num_examples…
eval_on_start: true
  …training.eval_on_start: needs held-out problems…
load_best_model_at_end: true
  …set eval_strategy and save_strategy to steps, or to epoch
eval: {num_examples: 9}\nload_best_model_at_end: true\neval_strategy: epoch
  …works with save_strategy epoch or best
eval: {num_examples: 9}\nload_best_model_at_end: true\neval_strategy: steps\neval_steps: 40\nsave_steps: 100
  …save_steps 100 is no multiple of eval_steps 40…works with save_steps 80 or 120
eval: {num_examples: 9}\nload_best_model_at_end: true\neval_strategy: steps\neval_steps: 0.1\nsave_steps: 100
  …save_steps 100 is no multiple of eval_steps 0.1
save_strategy: best
  …set eval_strategy to steps or epoch
metric_for_best_model: eval_acuracy
  …no metric of an evaluation is called "eval_acuracy", did you mean
    accuracy?…rewards/correctness/mean…
truncate_prompts: left
  …needs max_prompt_length…
min_new_tokens: 600
  …600 exceeds max_completion_length 512
sync_ref_model: true
  …there is no reference model with beta 0
sync_ref_model: true\nbeta: 0.1\nlora: {}
  …remove lora (~lora) or sync_ref_model
entropy_coef_min: 0.5\nentropy_coef_max: 0.1
  …0.5 exceeds entropy_coef_max 0.1
lr_scheduler_type: polynomial\nlr_scheduler_kwargs: {num_cycles: 2}
  f.yaml:5:35: training.lr_scheduler_kwargs.num_cycles: no parameter of polynomial (it has
    power, lr_end)
lr_scheduler_type: polynomial\nlr_scheduler_kwargs: {powr: 2}
  …training.lr_scheduler_kwargs.powr: unknown key, did you mean power?
lr_scheduler_type: cosine_with_min_lr
  …{min_lr_rate: 0.1} or {min_lr: 1e-7}
lr_scheduler_type: warmup_stable_decay
  …{num_decay_steps: 100}
lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 1e-9, min_lr_rate: 0}
  …expected one of them
lr_scheduler_type: polynomial\nlearning_rate: 1e-8
  …1e-7 exceeds learning_rate 1e-8
max_examples: 5
  …takes the first rows of a file; a task makes data.num_examples problems
generation_kwargs: {temprature: 0.5}
  …generation_kwargs.temprature: unknown key, did you mean temperature?
generation_kwargs: {top_p: 3}
  f.yaml:4:28: training.top_p: expected a number > 0 and ≤ 1, found 3…
`;

Deno.test("what does not go together is refused, with what works", async () => {
  await assertErrors(REFUSED);
});

Deno.test("combinations that fit are taken", async () => {
  for (
    const yaml of [
      "generation_batch_size: 32\n",
      "steps_per_generation: 4\nnum_iterations: 2\n",
      HELD_OUT + "eval_strategy: steps\nload_best_model_at_end: true\nsave_steps: 30\n" +
      "metric_for_best_model: eval_accuracy\n",
      HELD_OUT + "eval_strategy: steps\nload_best_model_at_end: true\nsave_steps: 0.3\n" +
      "eval_steps: 0.1\n",
      HELD_OUT + "eval_strategy: epoch\nsave_strategy: best\nnum_generations_eval: 1\n",
      "lr_scheduler_type: warmup_stable_decay\nlr_scheduler_kwargs: {num_decay_steps: 5}\n",
      "num_generations_eval: 3\n",
      "sync_ref_model: true\nbeta: 0.1\n",
    ]
  ) assert.deepEqual(await errorsOf(MINIMAL + yaml), [], yaml);
});

Deno.test("sizes of batches: cut by accumulation unless said otherwise", async () => {
  const sizes = async (yaml: string) => batchSizes((await load(MINIMAL + yaml)).config.training);
  assert.deepEqual(await sizes("gradient_accumulation_steps: 4\n"), {
    stepsPerGeneration: 4,
    generationBatchSize: 32,
    promptsPerGeneration: 4,
    completionsPerOptimizerStep: 32,
    generationsInEval: 8,
  });
  const larger = await sizes("generation_batch_size: 64\nnum_generations_eval: 1\n");
  assert.equal(larger.stepsPerGeneration, 8);
  assert.equal(larger.promptsPerGeneration, 8);
  assert.equal(larger.completionsPerOptimizerStep, 8);
  assert.equal(larger.generationsInEval, 1);
  assert.equal((await sizes("steps_per_generation: 3\n")).generationBatchSize, 24);
});

Deno.test("intervals below 1 are shares of all steps, at least one step", () => {
  assert.deepEqual([0.1, 0.001, 7].map((value) => stepInterval(value, 25)), [3, 1, 7]);
});

Deno.test("the best metric is the accuracy; greater is better except of a loss", () => {
  const best = (metric: string | null, greater: boolean | null = null) =>
    bestMetric({ metric_for_best_model: metric, greater_is_better: greater });
  assert.deepEqual(best(null), { name: "eval_accuracy", greaterIsBetter: true });
  assert.deepEqual(best("loss"), { name: "eval_loss", greaterIsBetter: false });
  assert.deepEqual(best("accuracy"), { name: "eval_accuracy", greaterIsBetter: true });
  assert.deepEqual(best("eval_reward", false), { name: "eval_reward", greaterIsBetter: false });
});

Deno.test("generation_kwargs override the keys of sampling, stop may be one text", async () => {
  const { config, notes, origins } = await load(
    MINIMAL + "temperature: 0.9\ngeneration_kwargs: {temperature: 0.5, stop: END, seed: 3, " +
      "min_new_tokens: 2, max_new_tokens: 40, do_sample: true}\n",
  );
  const { temperature, stop, generation_seed, min_new_tokens, max_completion_length } =
    config.training;
  assert.deepEqual(
    [temperature, stop, generation_seed, min_new_tokens, max_completion_length],
    [0.5, ["END"], 3, 2, 40],
  );
  assert.deepEqual(notes, [
    "f.yaml:5:34: generation_kwargs.temperature: overrides training.temperature",
  ]);
  assert.equal(
    origins.get("training.temperature"),
    "f.yaml:5 (generation_kwargs.temperature)",
  );
});

Deno.test("options that can not work as meant are noted", async () => {
  const notes = async (yaml: string) => (await load(MINIMAL + yaml)).notes;
  assert.match((await notes("loss_type: cispo\n"))[0]!, /5\.0 is usual/);
  assert.deepEqual(await notes("loss_type: cispo\nepsilon_high: 5.0\n"), []);
  assert.match((await notes("loss_type: luspo\n"))[0]!, /meant for sequence/);
  const sequence = (loss: string) =>
    notes(`loss_type: ${loss}\nimportance_sampling_level: sequence\n`);
  for (const loss of ["bnpo", "dr_grpo", "dapo", "cispo"]) {
    assert.match((await sequence(loss)).join(), /does not fit a loss that sums .* loss_type grpo/);
  }
  assert.match((await sequence("vespo")).join(), /of vespo is token/);
  for (const loss of ["grpo", "luspo"]) assert.deepEqual(await sequence(loss), []);
  assert.match((await notes("eval_steps: 5\n"))[0]!, /no effect while eval_strategy is no/);
});
