/** Tables of other projects' keys. */
import assert from "node:assert/strict";
import { listingOf } from "./foreign_keys.ts";
import { table } from "./table.ts";

const MADE = table(
  "X",
  `
[, training]
lr = training.learning_rate
seed = training.*
freq /every: int>=-1? -> >0: training.save_steps; <=0: training.save_strategy=no -- how
  often
kept: int -> fill training.save_total_limit=4
- a b: why not
~ c: d, which is refused
! e ["x", false]: advice: with a colon
? f [] [true]: advice
`,
);

Deno.test("a line of a table is a key in each of its sections, with what becomes of it", () => {
  assert.deepEqual(MADE.obeyed, {
    lr: "training.learning_rate",
    seed: "training.seed",
    "training.lr": "training.learning_rate",
    "training.seed": "training.seed",
  });
  const spec = MADE.translated["training.freq"]!;
  assert.deepEqual([spec.doc, spec.aliases], ["how often", ["every"]]);
  assert.equal(spec.type.expected, "an integer ≥ -1 or null");
  assert.equal(MADE.translated["kept"]!.doc, "training.save_total_limit=4 unless written");
  const set = (value: number) =>
    MADE.rules["freq"]!.filter(({ when }) => when(value)).map((
      { paths, value },
    ) => [...paths, value]);
  assert.deepEqual(set(5), [["training.save_steps", undefined]]);
  assert.deepEqual(set(-1), [["training.save_strategy", "no"]]);
  const listed = (key: string) => {
    const { kind, why, neutral, noted } = MADE.listed[key]!;
    return [kind, why, neutral, noted];
  };
  assert.deepEqual(listed("training.b"), ["no effect", "why not", [], []]);
  assert.deepEqual(listed("c"), ["acts with", "d, which is refused", [], []]);
  assert.deepEqual(listed("e"), ["refused", "advice: with a colon", ["x", false], []]);
  assert.deepEqual(listed("f"), ["refused", "advice", [], [true]]);
  assert.throws(() => table("X", "- a b: one\n! b: two"), /table of X: b stands there twice/);
  assert.throws(() => table("X", "no line"), /table of X: cannot read no line/);
});

Deno.test("the most particular line counts for a key, and a section for the others in it", () => {
  const megatron = "actor_rollout_ref.actor.megatron";
  assert.match(listingOf(`${megatron}.new_name`)!.why, /does its work/);
  assert.match(listingOf("axolotl.flash_new_name")!.why, /how Axolotl loads/);
  assert.equal(listingOf("axolotl.flashing"), undefined);
  assert.equal(listingOf(`${megatron}.dtype`)!.isOfSection, true);
  assert.deepEqual(listingOf(`${megatron}.dist_checkpointing_path`)!.kind, "refused");
  assert.equal(listingOf("critic.enable")!.why, "GRPO has no critic");
  assert.equal(listingOf("training.learning_rate"), undefined);
});
