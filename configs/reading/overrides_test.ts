import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import type { RunConfig } from "../schema/run_config.ts";
import { parseOverrides } from "./overrides.ts";
import { assertErrors, assertValues, errorsOf, load, MINIMAL } from "../testing.ts";
import { argv } from "../../tests/command_line.ts";

async function withArgs(...overrides: string[]): Promise<RunConfig> {
  return (await load(MINIMAL, { overrides })).config;
}

Deno.test("every spelling on the command line sets the same key", async () => {
  const rate = [
    "training.learning_rate=0.5|learning_rate=0.5|lr=0.5|++training.lr=0.5|+lr=0.5",
    "--learning-rate 0.5|--learning_rate 0.5|--learning-rate=0.5|--training.learning-rate 0.5",
    "lr=1e-9 --lr 5e-1",
  ].join("|").split("|").map((line) => line.split(" "));
  for (const spelling of [...rate, ["training={lr: 0.5}"]]) {
    assert.equal((await withArgs(...spelling)).training.learning_rate, 0.5, spelling.join(" "));
  }
  const file = ["--dataset r.jsonl", "--data=r.jsonl", "dataset=r.jsonl", "--dataset-name r.jsonl"];
  for (const spelling of file) {
    const overrides = ["task_name=null", ...spelling.split(" ")];
    const { config } = await load(MINIMAL, { overrides }, { "r.jsonl": "{}" });
    assert.equal(config.data.dataset_name, "r.jsonl", spelling);
  }
});

Deno.test("flags without a value are true, with no- false", async () => {
  const shuffles = async (...args: string[]) => (await withArgs(...args)).training.shuffle_dataset;
  assert.equal(await shuffles("--shuffle-dataset"), true);
  for (
    const off of ["--no-shuffle-dataset", "--shuffle-dataset false", "--shuffle-dataset=false"]
  ) {
    assert.equal(await shuffles(...off.split(" ")), false, off);
  }
  assert.equal((await withArgs("--no-add-instructions", "beta=0.1")).training.beta, 0.1);
});

Deno.test("the flags of TRL's command line may have several values, or none", async () => {
  const config = await withArgs(...argv`--bf16 --use_peft --lora_target_modules q_proj v_proj
    --reward_funcs accuracy_reward think_format_reward --reward_weights 1.0 0.5 beta=0.1
    --report_to tensorboard --stop a ${"b c"} +top_k=3`);
  assert.equal(config.training.compute_dtype, "bfloat16");
  assert.deepEqual(config.lora!.target_modules, ["q_proj", "v_proj"]);
  const { length } = config.rewards;
  assert.deepEqual([length, ...config.rewards.map(({ weight }) => weight)], [2, 1, 0.5]);
  assert.deepEqual(config.logging.report_to, ["tensorboard"]);
  assert.deepEqual([config.training.stop, config.training.top_k], [["a", "b c"], 3]);
  assert.throws(() => parseOverrides(["--seed", "1", "2"]), /"2" is no override/);
});

Deno.test("a bare flag of another trainer is a switch, and takes no override for its value", async () => {
  const args = ["--trust_remote_code", "max_steps=7", "--fsdp", "full_shard auto_wrap"]
    .concat("--optim-args", "betas=(0.9,0.95)", "--no_dataloader_pin_memory", "--torch_compile");
  const { config, notes } = await load(MINIMAL, { overrides: args });
  assert.equal(config.training.max_steps, 7);
  const noted = notes.map((note) => note.split(": ")[1]).sort();
  assert.deepEqual(noted, [
    "dataloader_pin_memory",
    "fsdp",
    "optim_args",
    "torch_compile",
    "trust_remote_code",
  ]);
});

Deno.test("null is as unset in TRL: nothing is resumed, and all completions are printed", async () => {
  assertValues(
    await withArgs("resume_from_checkpoint=null", "--num-completions-to-print", "null"),
    "training.resume_from_checkpoint: false, training.num_completions_to_print: null",
  );
});

Deno.test("a flag and a key that contradict each other are refused", async () => {
  const refused: [string[], RegExp][] = [
    [
      ["--batch-size", "4", "training.per_device_train_batch_size=2"],
      /--batch-size 4 and training\.per_device_train_batch_size=2 contradict/,
    ],
    [["lr=1e-3", "--learning-rate", "1e-4"], /lr=1e-3 and --learning-rate 1e-4 contradict/],
    [
      ["--batch-size", "4", "--per-device-train-batch-size", "2"],
      /contradict each other: both set training\.per_device_train_batch_size/,
    ],
    [
      ["eval.num_examples=5", "--skip-evaluation"],
      /eval\.num_examples=5 and --skip-evaluation contradict/,
    ],
    [
      ["--no-trackio", "report_to=[trackio]"],
      /report_to: names trackio, which --no-trackio switches off/,
    ],
  ];
  for (const [args, message] of refused) {
    await assert.rejects(withArgs(...args), message, args.join(" "));
  }
  const same = await withArgs("--batch-size", "8", "per_device_train_batch_size=8");
  assert.equal(same.training.per_device_train_batch_size, 8);
  const last = await withArgs("--max-steps", "4", "--max-steps", "5", "seed=1", "seed=2");
  assert.deepEqual([last.training.max_steps, last.training.seed], [5, 2]);
});

Deno.test("values are YAML scalars or flow collections; text keys take any text", async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const config = await withArgs(
    "lora={r: 4, target_modules: [k_proj]}",
    "rewards=[correctness, {name: brevity, weight: 0.5}]",
    "system_prompt=Answer: be brief, 1,2",
    "save_total_limit=null",
    'project="quoted"',
    "teacher.teacher_prompt_template={prompt} It is {answer}.",
    "--run-name",
    "123",
    "--chat-template",
    template,
  );
  assertValues(
    config,
    `teacher.teacher_prompt_template: "{prompt} It is {answer}.", model.chat_template: "${template}",
    lora.target_modules: [k_proj], rewards.1.weight: 0.5, logging.project: quoted,
    data.system_prompt: "Answer: be brief, 1,2", logging.run_name: "123",
    training.output_dir: ./experiments/123, training.save_total_limit: null`,
  );
});

Deno.test("list items and parameters of tasks and rewards can be set by path", async () => {
  const config = await withArgs(
    "rewards=[{name: correctness}, brevity]",
    ...argv`rewards.0.weight=0.25 +rewards.0.binary=true rewards.1=format_answer
      +rewards.2=brevity data.task_config.min_terms=3 task_config.max_terms=3`,
  );
  assertValues(
    config,
    `rewards.0.name: correctness, rewards.0.weight: 0.25, rewards.0.params.binary: true,
    rewards.1.name: format_answer, rewards.1.weight: 1, rewards.2.name: brevity,
    rewards.2.weight: 1, rewards.length: 3, data.task_config: {min_terms: 3, max_terms: 3}`,
  );
});

Deno.test("a map of tasks is added to those of the configuration, and a note says so", async () => {
  const yaml = MINIMAL.replace(/^task:.*$/m, "data: {tasks: {gcd: {}, lcm: {weight: 2}}}");
  const notes = async (value: string) => {
    const { notes, config } = await load(yaml, { overrides: [`data.tasks=${value}`] });
    return [notes.join(), config.data.tasks!.map(({ task_name }) => task_name)];
  };
  const [note, tasks] = await notes("{gcd: {weight: 3}}");
  assert.match(String(note), /data\.tasks: lcm of the configuration stays, too; _delete_: true in/);
  assert.deepEqual(tasks, ["gcd", "lcm"]);
  assert.deepEqual(await notes("{gcd: {weight: 3}, _delete_: true}"), ["", ["gcd"]]);
});

Deno.test("a part of a map that is not written makes the map", async () => {
  const overrides = argv`+data.apply_chat_template_kwargs.enable_thinking=False
    training.generation_kwargs.stop=[x] lora.rank_pattern.q_proj=3`;
  assertValues(
    (await load(MINIMAL + "lora: {r: 4}\n", { overrides })).config,
    `training.chat_template_kwargs: {enable_thinking: false}, training.stop: [x],
    lora.rank_pattern: {q_proj: 3}`,
  );
});

Deno.test("a deleted key has its default again, a deleted section is not there", async () => {
  const yaml = MINIMAL + "lr: 0.5\nlora: {r: 4}\n";
  const rewards = "rewards=[correctness, brevity]";
  const { config } = await load(yaml, { overrides: ["~lr", "~lora", rewards, "~rewards.0"] });
  assert.equal(config.training.learning_rate, 1e-6);
  assert.equal(config.lora, null);
  assert.deepEqual(config.rewards.map(({ name }) => name), ["brevity"]);
  assert.deepEqual(await errorsOf(yaml, { overrides: ["~trainig.learning_rate"] }), [
    "command line: ~trainig.learning_rate: nothing to delete, the key is not set, " +
    "did you mean training.learning_rate?",
  ]);
});

/** An override of MINIMAL, and deeper its error. */
const REFUSED = `
lr=1,2,3
  command line: training.learning_rate: expected a number ≥ 0, found text "1,2,3"; a run has one
    value, rgx sweep trains with several
training.learnig_rate=1
  command line: training.learnig_rate: unknown key, did you mean learning_rate?
+rewards=[brevity]
  command line: rewards: is set already (f.yaml:3:10); write rewards=… or ++rewards=…
rewards.5=brevity
  command line: rewards.5: there is no item 5: the list has items 0 to 0
rewards.0.weight=1
  command line: rewards.0.weight: there is no weight in text "correctness"
lr=[1, 2
  command line: lr: can not read the value [1, 2: Flow sequence must end with a ]
use_vllm=3
  command line: training.use_vllm: expected true or false…
--auto-find-batch-size
  command line: auto_find_batch_size: not supported yet…
data.learning_rate=1
  command line: data.learning_rate: wrong section…
model.nam=x
  command line: model.nam: unknown key, did you mean name?
data.task_config.min_trms=1
  command line: data.task_config.min_trms: unknown field of task chain_sum…
`;

Deno.test("wrong overrides are refused, with what is right", () =>
  assertErrors(
    REFUSED,
    (override) => errorsOf(MINIMAL, { overrides: [override.trimEnd()] }),
  ));

Deno.test("an argument that is no override is refused", () => {
  const refused = (args: string[], message: string) =>
    assert.throws(() => parseOverrides(args), (error) => {
      assert.ok(error instanceof UsageError);
      assert.equal(error.message, message);
      return true;
    });
  refused(["hello"], '"hello" is no override');
  refused(["=1"], '"=1" is no override');
  refused(["--learnin-rate", "1"], "--learnin-rate: unknown option, did you mean --learning-rate?");
  refused(["--output", "x"], "--output: unknown option, did you mean --output-dir?");
  refused(["--zzzzz"], "--zzzzz: unknown option");
  refused(["--lr"], "--lr: expected a value");
  refused(["--lr", "--beta", "1"], "--lr: expected a value");
  refused(["--"], "--: expected --key value");
  // After --resume, which takes a value only with "=".
  assert.throws(
    () => parseOverrides(["runs/a/checkpoint-8"]),
    (error) =>
      error instanceof UsageError && /^--resume=runs\/a\/checkpoint-8 /.test(error.advice!),
  );
});

Deno.test("environment variables stand between the file and the command line", async () => {
  const env = {
    RGX_LEARNING_RATE: "0.25",
    RGX_DATA__SEED: "9",
    RGX_BETA: "0.5",
    RGX_DEBUG: "1",
    RGX_NUM_THREADS: "2",
    RGX_SOMETHING_ELSE: "x",
    RGX_NUM_GENERATION: "4",
  };
  const loaded = await load(MINIMAL + "lr: 0.1\n", { env, overrides: ["beta=0.75"] });
  assert.equal(loaded.config.training.learning_rate, 0.25);
  assert.equal(loaded.config.data.seed, 9);
  assert.equal(loaded.config.training.seed, 42);
  assert.equal(loaded.config.training.beta, 0.75);
  assert.equal(loaded.origins.get("training.learning_rate"), "RGX_LEARNING_RATE");
  assert.equal(loaded.origins.get("training.beta"), "command line");
  assert.deepEqual(loaded.notes, [
    "RGX_NUM_GENERATION: num_generation: unknown key, ignored, did you mean num_generations?",
  ]);
  assert.deepEqual(await errorsOf(MINIMAL, { env: { RGX_BETA: "x" } }), [
    'RGX_BETA: training.beta: expected a number ≥ 0, found text "x"',
  ]);
});
