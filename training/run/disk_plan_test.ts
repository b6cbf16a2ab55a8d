import assert from "node:assert/strict";
import { loadConfig } from "../../configs/load.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { diskText, diskWarnings, planDisk } from "./disk_plan.ts";
import { runSizes } from "./run_sizes.ts";

const config = async (...overrides: string[]) =>
  (await loadConfig("quickstart", { overrides })).config;

/** Of the quickstart's model, whose tokenizer has 3,791 bytes of files. */
function plan(of: RunConfig, more: Partial<Parameters<typeof planDisk>[0]> = {}) {
  const sizes = runSizes(of, 16_384);
  return planDisk({ config: of, sizes, stored: 211_488, tokenizer: 3791, phases: "all", ...more });
}

Deno.test("a checkpoint holds weights, moments and the reference, as the quickstart's do", async () => {
  // Measured: checkpoint-300 of the quickstart has 3,422,318 bytes, with 30 kB of its history.
  assert.equal(plan(await config()).checkpoint, 4 * 4 * 211_488 + 3791);
  assert.equal(plan(await config("training.beta=0")).checkpoint, 3 * 4 * 211_488 + 3791);
  assert.equal(
    plan(await config("training.beta=0", "training.optim=adamw_8bit")).checkpoint,
    6 * 211_488 + 3791,
  );
  assert.equal(plan(await config("training.save_only_model=true")).checkpoint, 4 * 211_488 + 3791);
});

Deno.test("checkpoints are counted as they are saved and deleted", async () => {
  const count = async (...overrides: string[]) => plan(await config(...overrides)).checkpoints;
  // Every 50 of 220 and of 400 steps, and after the last: 5 and 8.
  const all = "training.save_total_limit=null";
  assert.equal(await count(all), 13);
  assert.equal(await count(all, "sft=null"), 8);
  assert.equal(await count(all, "sft=null", "training.save_strategy=no"), 0);
  // Three stay, and the oldest is deleted after the newest is written.
  assert.equal(await count("sft=null"), 4);
  assert.equal(await count("sft=null", "training.max_steps=100"), 2);
  const best = ["training.load_best_model_at_end=true", "training.eval_strategy=steps"];
  best.push("training.num_generations_eval=8");
  assert.equal(await count("sft=null", ...best, "training.eval_steps=50"), 5);
  const resumed = { done: { warmStart: 220, steps: 300 } };
  assert.equal(plan(await config(all), resumed).checkpoints, 2);
  assert.equal(plan(await config(), resumed).checkpoints, 1);
});

Deno.test("a run that needs more than its file system has is warned of", async () => {
  const small = plan(await config()), huge = { ...small, total: 1e18 };
  const warned = async (of: RunConfig, plan = huge) => (await diskWarnings(of, plan)).join();
  assert.equal(await warned(await config(), small), "");
  assert.match(await warned(await config()), /writes at most about .*: 8 checkpoints of 3.39 MB/);
  const unlimited = await config("training.save_total_limit=null");
  assert.match(await warned(unlimited), /free; training\.save_total_limit=2 keeps/);
  assert.match(diskText(small), /the model 850 kB, tables up to 15\.6 MB$/);
  const silent = plan(await config("training.log_completions=false"));
  assert.equal(silent.tables, 620 * 4096);
  // Twice the prompts a step are twice the completions.
  const twice = plan(await config("training.gradient_accumulation_steps=2"));
  assert.equal(twice.tables - silent.tables, 2 * (small.tables - silent.tables));
});
