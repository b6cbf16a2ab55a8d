import assert from "node:assert/strict";
import { loadConfig } from "../../configs/load.ts";
import { findCard } from "../../core/machine/known_cards.ts";
import { planOnCard } from "../card/card_plan.ts";
import { planCard } from "../card/plan_card.ts";
import { meanSlowest, scalingPlan } from "./scaling_plan.ts";

const CONFIG = "leg_counting_qwen7b";
/** Two layers of the model: the plan of all takes a second. */
const FEW_LAYERS = "model.shape.num_hidden_layers=2";

async function plan(nodes: number, gpus: number, overrides: string[] = []) {
  const { config } = await loadConfig(CONFIG, { overrides: [FEW_LAYERS, ...overrides], env: {} });
  const card = planCard({ gpu: "h100-80gb" });
  const planned = await planOnCard(config, card, { ranks: nodes * gpus });
  const scaling = await scalingPlan(config, planned, { nodes, gpus }, findCard("h100-80gb").bus);
  const { wire_bytes_per_step: wire, seconds_per_step: step } = scaling;
  return { ...scaling, wire, step, time: planned.time!, parts: planned.memory.parts };
}

Deno.test("one rank has the plan of one card, and nothing on the wire", async () => {
  const { wire, step, time, speedup, efficiency, ...one } = await plan(1, 1);
  const { host_bytes_per_rank: hostBytes, seconds_per_step_of_one_rank: single } = one;
  assert.deepEqual(wire, { gradients: 0, values: 0, completions: 0, leaves_node: 0 });
  assert.deepEqual([step.exchange, hostBytes, efficiency], [0, 0, speedup]);
  assert.ok(Math.abs(step.together / single - 1) < 1e-3);
  assert.ok(single >= time.step);
});

Deno.test("more ranks are faster, less efficient, and the same bytes are on the wire", async () => {
  const more = ["training.gradient_accumulation_steps=64"];
  let before = await plan(1, 1, more);
  const { parts } = before;
  for (const [nodes, gpus] of [[1, 2], [1, 4], [2, 4], [4, 4]] as const) {
    const next = await plan(nodes, gpus, more), ranks = nodes * gpus;
    assert.ok(next.speedup > before.speedup, `${ranks}: ${next.speedup}`);
    assert.ok(next.efficiency < before.efficiency && next.efficiency > 0.5, `${next.efficiency}`);
    // 64 micro-batches on a power of two: each rank has one node of the tree, and sends its slices
    // and the summed slice.
    const expected = 2 * parts.gradients * (ranks - 1) / ranks;
    assert.ok(Math.abs(next.wire.gradients / expected - 1) < 1e-9);
    assert.equal(next.wire.leaves_node > 0, nodes > 1);
    assert.deepEqual(next.notes, []);
    before = next;
  }
});

Deno.test("ranks without work are named, with what to set", async () => {
  const { notes, ...each } = await plan(2, 4);
  assert.deepEqual([each.prompts_per_rank, each.micro_batches_per_rank], [1, 1]);
  assert.match(notes[0]!, /4 prompts for 8 ranks, .* busy 50 %.* a multiple of 8/);
  assert.match(notes[1]!, /4 micro-batches .*training\.gradient_accumulation_steps/);
});

Deno.test("cards that are slower than one are named, with what helps", async () => {
  const full = ["~lora", "training.optim=adamw_8bit", "training.zero=1"];
  const wide = [...full, "model.torch_dtype=bfloat16", "training.gradient_accumulation_steps=8"];
  const floats = await plan(1, 8, wide);
  assert.ok(floats.speedup < 0.5, `${floats.speedup}`);
  const [, faster] = /8 cards are slower than one \(0\.\d+ ×\): .*bfloat16 .* \((.*) ×\), a lora/
    .exec(floats.notes[0]!)!;
  const halves = await plan(1, 8, [...wide, "training.reduce_dtype=bfloat16"]);
  assert.equal(halves.speedup.toFixed(2), faster);
  assert.deepEqual((await plan(1, 1, wide)).notes, []);
});

Deno.test("the more nodes, the oftener a run has to save", async () => {
  const long = ["training.max_steps=20000"];
  const few = (await plan(1, 8, long)).save, many = (await plan(128, 8, long)).save;
  assert.equal(few.mtbf_seconds / many.mtbf_seconds, 128);
  assert.ok(many.recommended_steps < few.recommended_steps / 5, `${many.recommended_steps}`);
  assert.ok(many.lost_with_recommended <= many.lost_with_configured + 1e-3);
  assert.ok(many.lost_with_recommended > few.lost_with_recommended);
});

Deno.test("zero: 1 divides the optimizer's states, and sends the values in place of the sums", async () => {
  const exact = "training.reduction=exact", zero = "training.zero=1";
  const without = await plan(1, 4, [exact]), divided = await plan(1, 4, [exact, zero]);
  const share = divided.parts.optimizer / without.parts.optimizer;
  assert.ok(Math.abs(share - 1 / 4) < 1e-3, `${share}`);
  assert.deepEqual([divided.parts.trained, divided.parts.gradients], [
    without.parts.trained,
    without.parts.gradients,
  ]);
  const sent = divided.parts.trained * 3 / 4;
  assert.deepEqual([without.wire.values, divided.wire.values], [0, sent]);
  // In floats, the values that are sent are as many bytes as the sums that are not.
  assert.equal(without.wire.gradients, divided.wire.gradients + sent);
  assert.ok(Math.abs(divided.save.checkpoint_seconds / without.save.checkpoint_seconds - 1) < 1e-3);
});

Deno.test("gradients in bfloat16 are half of the bytes", async () => {
  const wire = async (...keys: string[]) => (await plan(2, 4, keys)).wire;
  for (const reduction of ["exact", "fast"]) {
    const key = `training.reduction=${reduction}`, half = "training.reduce_dtype=bfloat16";
    const floats = await wire(key), halves = await wire(key, half);
    assert.equal(floats.gradients, 2 * halves.gradients);
    assert.equal(floats.completions, halves.completions);
    // A rank needs its slice of the sum only, and sends the values that it updates as floats.
    const divided = await wire(key, half, "training.zero=1");
    assert.equal(divided.gradients + divided.values / 2, halves.gradients);
  }
});

Deno.test("ranks wait for the slowest one: the mean of the largest of so many", () => {
  assert.equal(meanSlowest(1), 1);
  // Simulated: of 8 ranks the largest lognormal factor is 1.073 on average, of 1024 it is 1.175.
  assert.ok(Math.abs(meanSlowest(8) - 1.073) < 0.003, `${meanSlowest(8)}`);
  assert.ok(Math.abs(meanSlowest(1024) - 1.175) < 0.003, `${meanSlowest(1024)}`);
  assert.ok(meanSlowest(5) > meanSlowest(4) && meanSlowest(5) < meanSlowest(6));
});
