import assert from "node:assert/strict";
import { batchSizes } from "../batch_sizes.ts";
import { bestMetric } from "../schema/metric_names.ts";
import { stepInterval } from "../step_interval.ts";
import { errorsOf, load, MINIMAL } from "../testing.ts";

const HELD_OUT = "eval: {num_examples: 9}\n";

/** Name, YAML after the minimal document, a part of the one message. */
const REFUSED: [name: string, yaml: string, ...words: string[]][] = [
  [
    "both ways to size a generation",
    "generation_batch_size: 16\nsteps_per_generation: 2\n",
    "f.yaml:4:24: training.generation_batch_size: 16 and steps_per_generation 2",
    "at most one",
  ],
  [
    "an estimator of sums where each reward is normalised",
    "advantage_estimator: rloo\nmulti_objective_aggregation: normalize_then_sum\n",
    "training.advantage_estimator: rloo compares sums of rewards",
  ],
  [
    "greedy completions beside activations of sampling",
    "advantage_estimator: remax\nuse_rollout_activations: true\n",
    "remax excludes use_rollout_activations",
  ],
  [
    "older policies in dialogues",
    "environment: {name: second_tries}\ngeneration: {backend: openai, base_url: [http://h/v1], " +
    "max_staleness: 1}\n",
    "generation.max_staleness: found 1, expected 0 with environment",
  ],
  [
    "two environments in one",
    "environment: {url: ws://h, command: [python3, e.py]}\n",
    "environment: command and url are two environments",
  ],
  [
    "tries of a game",
    "environment: {name: sokoban, tries: 3}\n",
    "environment: tries does not go with sokoban",
  ],
  [
    "an address that is none",
    "environment: {url: h:8000}\n",
    "environment.url: expected an address such as ws://127.0.0.1:8000",
  ],
  [
    "a server of MCP that is nowhere",
    "tools: [{mcp: {workers: 2}}]\n",
    "tools.0: mcp: expected one of command and url",
  ],
  [
    "an estimator that there is not",
    "advantage_estimator: gae\n",
    "training.advantage_estimator: expected grpo, rloo,",
  ],
  [
    "a teacher that is the policy with the same prompt",
    "teacher: {}\n",
    "teacher.model_name_or_path: missing: without a model the policy is its own teacher",
  ],
  [
    "reverse KL over several tokens",
    "teacher: {model_name_or_path: x, top_k: 20}\n",
    "teacher.top_k: found 20, expected 1 with beta 1",
  ],
  [
    "a teacher's server at another temperature",
    "temperature: 0.7\nteacher: {base_url: http://localhost:8000/v1}\n",
    "training.temperature: found 0.7, expected 1 with teacher.base_url",
  ],
  [
    "an adapter of a teacher on a server",
    "teacher: {base_url: http://localhost:8000/v1, adapter_name_or_path: a}\n",
    "teacher.adapter_name_or_path: has no effect with base_url",
  ],
  [
    "a key without a server",
    "teacher: {model_name_or_path: x, api_key_env: KEY}\n",
    "teacher.api_key_env: has no effect without teacher.base_url",
  ],
  [
    "another prompt in dialogues",
    "environment: {name: second_tries}\nteacher: {model_name_or_path: x, teacher_prompt_template: hi}\n",
    "teacher.teacher_prompt_template: has no effect in dialogues",
  ],
  [
    "a generation of broken micro-steps",
    "generation_batch_size: 20\n",
    "works with 16 or 24",
  ],
  [
    "a generation of broken groups",
    "generation_batch_size: 12\nper_device_train_batch_size: 4\n",
    "works with 8 or 16",
  ],
  [
    "steps of a generation that hold no whole groups",
    "per_device_train_batch_size: 6\nsteps_per_generation: 3\ngradient_accumulation_steps: 4\n",
    "8 does not divide the 18 completions of a generation",
    "steps_per_generation 3",
    "num_generations 6 or 9",
    "per_device_train_batch_size 8",
  ],
  [
    "old log-probabilities of sampling where none are needed",
    "use_rollout_log_probs: true\n",
    "f.yaml:4:24: training.use_rollout_log_probs: has no effect",
    "set num_iterations or steps_per_generation",
  ],
  [
    "old log-probabilities of sampling where a server samples",
    "use_rollout_log_probs: true\nnum_iterations: 2\nlora: {r: 4}\n" +
    "generation: {backend: openai, base_url: http://localhost:8000/v1}\n",
    "training.use_rollout_log_probs: needs generation.backend in_process",
  ],
  [
    "activations of sampling where a server samples",
    "use_rollout_activations: true\nlora: {r: 4}\n" +
    "generation: {backend: openai, base_url: http://localhost:8000/v1}\n",
    "training.use_rollout_activations: needs generation.backend in_process",
  ],
  [
    "rounded activations where a server samples",
    "lora: {r: 4}\ngeneration: {backend: openai, base_url: http://localhost:8000/v1, " +
    "activations: int8}\n",
    "generation.activations: needs generation.backend in_process",
  ],
  [
    "rounded activations of weights that are trained",
    "generation: {activations: int8}\n",
    "generation.activations: int8 needs a lora section",
  ],
  [
    "rounded activations that the training pass would read",
    "use_rollout_activations: true\nlora: {r: 4}\ngeneration: {activations: int8}\n",
    "generation.activations: int8 excludes use_rollout_activations",
  ],
  [
    "activations of sampling for a pass with dropout",
    "use_rollout_activations: true\nlora: {r: 4, lora_dropout: 0.1}\n",
    "training.use_rollout_activations: needs lora.lora_dropout 0",
  ],
  [
    "activations of sampling that is repeated",
    "use_rollout_activations: true\ndynamic_sampling: true\n",
    "training.use_rollout_activations: and dynamic_sampling exclude each other",
  ],
  [
    "activations of sampling for steps of several generations",
    "use_rollout_activations: true\nsteps_per_generation: 1\ngradient_accumulation_steps: 2\n",
    "training.use_rollout_activations: needs steps of one generation each",
    "a multiple of gradient_accumulation_steps (2)",
  ],
  [
    "groups that do not fit an evaluation",
    HELD_OUT + "eval_strategy: steps\nnum_generations_eval: 3\n",
    "do not divide per_device_eval_batch_size 8",
    "num_generations_eval 2 or 4",
    "per_device_eval_batch_size 6 or 9",
  ],
  [
    "RoPE scaling that an adapter's files would not say",
    "lora: {r: 4}\nrope_scaling: {rope_type: yarn, factor: 4}\n",
    "f.yaml:5:15: model.rope_scaling: the files of an adapter",
    "model_name_or_path",
  ],
  [
    "two quantisations at once",
    "lora: {r: 4}\nload_in_4bit: true\nload_in_8bit: true\n",
    "f.yaml:5:15: model.load_in_4bit: load_in_8bit is set as well",
  ],
  [
    "rounding of weights that are trained in floats",
    "bf16_rounding: kahan\n",
    "f.yaml:4:16: training.bf16_rounding: only weights that are trained in bfloat16 are rounded",
    "set model.dtype: bfloat16",
  ],
  [
    "rounding of an adapter",
    "lora: {r: 4}\ndtype: bfloat16\nbf16_rounding: stochastic\n",
    "f.yaml:6:16: training.bf16_rounding: only weights that are trained in bfloat16 are rounded",
    "an adapter is trained in float32",
  ],
  [
    "an optimizer that is not AdamW",
    "optim: adafactor\n",
    "f.yaml:4:8: training.optim: adafactor is not supported yet",
    "adamw_torch_fused or adamw_8bit",
  ],
  [
    "weights that are trained in blocks",
    "quantization: {load_in_8bit: true}\n",
    "f.yaml:4:30: model.load_in_8bit: full fine-tuning trains every weight, in float32 or bfloat16",
    "add a lora section",
  ],
  [
    "evaluation without problems",
    "eval_strategy: epoch\n",
    "f.yaml:4:16: training.eval_strategy: needs held-out problems: set eval.num_examples",
  ],
  [
    "evaluation at the start without problems",
    "eval_on_start: true\n",
    "training.eval_on_start: needs held-out problems",
  ],
  [
    "the best checkpoint without evaluations",
    "load_best_model_at_end: true\n",
    "set eval_strategy and save_strategy to steps, or to epoch",
  ],
  [
    "checkpoints at other times than evaluations",
    HELD_OUT + "load_best_model_at_end: true\neval_strategy: epoch\n",
    "works with save_strategy epoch or best",
  ],
  [
    "checkpoints between evaluations",
    HELD_OUT +
    "load_best_model_at_end: true\neval_strategy: steps\neval_steps: 40\nsave_steps: 100\n",
    "save_steps 100 is no multiple of eval_steps 40",
    "works with save_steps 80 or 120",
  ],
  [
    "a share of steps beside a number of steps",
    HELD_OUT +
    "load_best_model_at_end: true\neval_strategy: steps\neval_steps: 0.1\nsave_steps: 100\n",
    "save_steps 100 is no multiple of eval_steps 0.1",
  ],
  [
    "saving the best without evaluations",
    "save_strategy: best\n",
    "set eval_strategy to steps or epoch",
  ],
  [
    "a metric that is none",
    "metric_for_best_model: eval_acuracy\n",
    'no metric of an evaluation is called "eval_acuracy", did you mean accuracy?',
    "rewards/correctness/mean",
  ],
  ["cutting prompts to nothing", "truncate_prompts: left\n", "needs max_prompt_length"],
  [
    "a minimum above the maximum",
    "min_new_tokens: 600\n",
    "600 exceeds max_completion_length 512",
  ],
  [
    "a reference that is not there",
    "sync_ref_model: true\n",
    "there is no reference model with beta 0",
  ],
  [
    "a reference that follows an adapter",
    "sync_ref_model: true\nbeta: 0.1\nlora: {}\n",
    "remove lora (~lora) or sync_ref_model",
  ],
  [
    "bounds of the entropy bonus the wrong way round",
    "entropy_coef_min: 0.5\nentropy_coef_max: 0.1\n",
    "0.5 exceeds entropy_coef_max 0.1",
  ],
  [
    "a parameter of another schedule",
    "lr_scheduler_type: polynomial\nlr_scheduler_kwargs: {num_cycles: 2}\n",
    "f.yaml:5:35: training.lr_scheduler_kwargs.num_cycles: no parameter of polynomial " +
    "(it has power, lr_end)",
  ],
  [
    "an unknown parameter of a schedule",
    "lr_scheduler_type: polynomial\nlr_scheduler_kwargs: {powr: 2}\n",
    "training.lr_scheduler_kwargs.powr: unknown key, did you mean power?",
  ],
  [
    "a schedule without its lowest rate",
    "lr_scheduler_type: cosine_with_min_lr\n",
    "{min_lr_rate: 0.1} or {min_lr: 1e-7}",
  ],
  [
    "a schedule without its decay",
    "lr_scheduler_type: warmup_stable_decay\n",
    "{num_decay_steps: 100}",
  ],
  [
    "two lowest rates",
    "lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 1e-9, min_lr_rate: 0}\n",
    "expected one of them",
  ],
  [
    "a last rate above the first",
    "lr_scheduler_type: polynomial\nlearning_rate: 1e-8\n",
    "1e-7 exceeds learning_rate 1e-8",
  ],
  [
    "the first rows of a task",
    "max_examples: 5\n",
    "takes the first rows of a file; a task makes data.num_examples problems",
  ],
  [
    "an unknown generation argument",
    "generation_kwargs: {temprature: 0.5}\n",
    "generation_kwargs.temprature: unknown key, did you mean temperature?",
  ],
  [
    "a wrong value among the generation arguments",
    "generation_kwargs: {top_p: 3}\n",
    "f.yaml:4:28: training.top_p: expected a number > 0 and ≤ 1, found 3",
  ],
];

for (const [name, yaml, ...words] of REFUSED) {
  Deno.test(`refused, with what works: ${name}`, async () => {
    const lines = await errorsOf(MINIMAL + yaml);
    assert.equal(lines.length, 1, lines.join("\n"));
    for (const word of words) assert.ok(lines[0]!.includes(word), `${lines[0]} lacks ${word}`);
  });
}

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
