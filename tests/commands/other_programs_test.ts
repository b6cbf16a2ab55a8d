/** Commands as those who come from TRL and verl type them. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { FOREIGN_COMMANDS, foreignCommandHint } from "../../configs/foreign/config_arguments.ts";
import { argv } from "../command_line.ts";
import { rgx, succeeds } from "../support.ts";

test.inFolder("overrides without a file begin with the defaults of verl or TRL", async (cwd) => {
  for (const name of ["train", "test"]) await Deno.writeTextFile(`${cwd}/${name}.jsonl`, "");
  const show = async (...args: string[]) => {
    const { out } = await succeeds(["config", "show", ...args, "--json"], { cwd });
    return JSON.parse(out).config;
  };
  const overrides = argv`algorithm.adv_estimator=grpo data.train_files=train.jsonl
      data.val_files=test.jsonl actor_rollout_ref.model.path=m actor_rollout_ref.rollout.n=4
      rewards=[correctness]`;
  const verl = await show(...overrides);
  assert.equal(verl.training.num_generations, 4);
  assert.equal(verl.training.delta, 3);
  const named = ["--config-path=config", "--config-name=ppo_megatron_trainer.yaml"];
  assert.deepEqual(await show(...named, ...overrides), verl);

  const flags = ["--model_name_or_path", "m", "--dataset_name", "train.jsonl"];
  const trl = await show(...flags, "--reward_funcs", "accuracy_reward", "--max_steps", "3");
  assert.equal(trl.model.model_name_or_path, "m");
  assert.equal(trl.training.max_steps, 3);
  assert.equal(trl.training.delta, null);

  // Sizes that divide nothing are refused at once.
  for (const size of ["1e-296", "0.3", "-4", "1e300"]) {
    const key = "actor_rollout_ref.actor.ppo_mini_batch_size";
    const args = ["config", "check", ...overrides, `${key}=${size}`];
    const { code, err } = await rgx(args, { cwd });
    assert.equal(code, 2, `${size}: ${err}`);
    assert.match(err, /ppo_mini_batch_size/);
  }

  // A file of that name is the configuration.
  await Deno.writeTextFile(`${cwd}/a=b.yaml`, "_base_: rgx:experiments/quickstart.yaml\n");
  assert.equal((await show("a=b.yaml")).data.task_name, "spell_backward");
  const run = await rgx(["train", ...flags, "--dry-run"], { cwd });
  assert.equal(run.code, 2);
  assert.match(run.err, /rewards: missing/);
});

Deno.test("a command of another program is refused with the command of rgx", async () => {
  const { code, err } = await rgx(["grpo", "--model", "m"]);
  assert.equal(code, 2);
  assert.match(err, /^error: grpo: a command of another program\nhelp: write rgx train FILE …/);
  const page = await Deno.readTextFile(new URL("../../docs/coming_from.md", import.meta.url));
  for (const [ours, typed] of FOREIGN_COMMANDS) {
    assert.ok(page.includes(ours.split(",")[0]!), ours);
    for (const word of typed.split(" ")) assert.ok(foreignCommandHint(word)?.includes(ours), word);
  }
  assert.match((await rgx(["trian"])).err, /unknown command 'trian'/);
});
