/** Plans for graphics cards that this machine does not have. */
import assert from "node:assert/strict";
import { loadConfig } from "../../configs/load.ts";
import { UsageError } from "../../core/errors.ts";
import { goldenPath } from "../../tests/golden.ts";
import { type CardMemory, type CardPlan, planOnCard } from "./card_plan.ts";
import { planCard } from "./plan_card.ts";

async function plan(
  name: string,
  gpu: string,
  overrides: string[] = [],
): Promise<{ seen: CardMemory; plan: CardPlan | null; error: UsageError | null }> {
  const { config } = await loadConfig(name, { overrides, env: {} });
  let seen: CardMemory | undefined;
  const card = /GB$/.test(gpu) ? planCard({ deviceMemory: gpu }) : planCard({ gpu });
  try {
    const plan = await planOnCard(config, card, { onMemory: (memory) => seen = memory });
    const { time: _, disk, ...rest } = plan;
    assert.deepEqual(rest, seen);
    assert.ok(disk === null || disk.total >= disk.model);
    return { seen: seen!, plan, error: null };
  } catch (error) {
    if (!(error instanceof UsageError) || seen === undefined) throw error;
    return { seen, plan: null, error };
  }
}

const QWEN_7B = "leg_counting_qwen7b";
/** Two layers of it: the plan of all takes a second. */
const FEW_LAYERS = "model.shape.num_hidden_layers=2";

Deno.test("the largest batch that is said to fit does, and the next one does not", async () => {
  const { seen } = await plan(QWEN_7B, "6GB", [FEW_LAYERS]);
  const { key, now, largest } = await seen.memory.largestBatch();
  assert.equal(key, "training.per_device_train_batch_size");
  assert.ok(largest > 0, `${largest}, now ${now}`);
  assert.equal((await plan(QWEN_7B, "6GB", [FEW_LAYERS, `${key}=${largest}`])).error, null);
  // A group of eight is generated in four steps: the batch is even.
  const beyond = await plan(QWEN_7B, "6GB", [FEW_LAYERS, `${key}=${largest + 2}`]);
  assert.match(beyond.error!.message, /needs/);
});

Deno.test("faster memory and products make the steps shorter, full length makes them longer", async () => {
  const time = async (gpu: string, more: string[] = []) =>
    (await plan(QWEN_7B, gpu, [FEW_LAYERS, ...more])).plan!.time!;
  const h100 = await time("h100"), a100 = await time("a100-80gb");
  assert.ok(a100.step > 2 * h100.step && a100.step < 4 * h100.step, `${a100.step}`);
  assert.ok(h100.longestStep > h100.step);
  const { generation, training, update, step, steps, warmStart, evaluations, upload, run } = h100;
  assert.ok(Math.abs(generation + training + update - step) < 1e-9);
  assert.ok(Math.abs(warmStart + steps * step + evaluations + upload - run) < 1e-6);
  assert.equal(h100.lanes, 32);
  // Half of the maximum length is assumed, because nothing was measured.
  assert.equal(h100.completionTokens, 256);
  const few = await time("h100", ["training.max_steps=10", "eval.num_examples=0"]);
  assert.deepEqual([few.steps, few.evaluations], [10, 0]);
});

Deno.test("a card that is given by its memory alone has no times", async () => {
  const { plan: made, seen } = await plan(QWEN_7B, "80GB", [FEW_LAYERS]);
  assert.equal(made!.time, null);
  assert.equal(seen.memory.available, 0.97 * 80e9);
  assert.equal(seen.card.name, "a card with 80.0 GB");
});

Deno.test("a buffer beyond WebGPU's limit is refused although the memory is enough", async () => {
  const { error, seen } = await plan(QWEN_7B, "mi325x", [FEW_LAYERS, "model.dtype=float32"]);
  assert.ok(seen.memory.peak < seen.memory.available);
  assert.match(error!.message, /needs a buffer of 2\.18 GB \(lm_head\.weight\)/);
  // Other vendors' drivers allow half of NVIDIA's buffers.
  const wide = [FEW_LAYERS, "training.per_device_train_batch_size=64"];
  const nvidia = await plan(QWEN_7B, "h200", wide), amd = await plan(QWEN_7B, "mi300x", wide);
  assert.equal(nvidia.error, null);
  assert.match(amd.error?.message ?? "", /needs a buffer of .* \(training\..*\)/);
});

Deno.test("a model on this machine, and one from a seed, are planned with their tokenizer", async () => {
  const path = goldenPath("models/tinystories-656k");
  const here = await plan(QWEN_7B, "l4", [
    `model.model_name_or_path=${path}`,
    "lora.target_modules=[q_proj]",
    "training.max_completion_length=64",
    "add_instructions=false",
  ]);
  assert.equal(here.error, null);
  assert.deepEqual([here.seen.isHere, here.seen.estimated, here.seen.name], [true, false, path]);
  const fresh = (await plan("quickstart", "rtx-3090")).plan!;
  assert.deepEqual([fresh.isHere, fresh.name], [true, null]);
  // After a warm start completions are as long as worked answers.
  assert.ok(fresh.time!.warmStart > 0 && fresh.time!.completionTokens < fresh.time!.maxTokens);
});
