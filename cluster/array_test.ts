import assert from "node:assert/strict";
import { arrayOption, parseArray, seedVariants, sweepVariants } from "./array.ts";
import { refuses } from "./testing.ts";

Deno.test("a search has every combination, with the last key changing fastest", () => {
  const variants = sweepVariants(["training.learning_rate=1e-6,2e-6", "lora.r=8,16"]);
  assert.deepEqual(variants.map(({ overrides }) => overrides.join(" ")), [
    "training.learning_rate=1e-6 lora.r=8",
    "training.learning_rate=1e-6 lora.r=16",
    "training.learning_rate=2e-6 lora.r=8",
    "training.learning_rate=2e-6 lora.r=16",
  ]);
  assert.equal(variants[3]!.label, "learning_rate-2e-6_r-16");
  assert.deepEqual(variants.map(({ index }) => index), [0, 1, 2, 3]);
});

Deno.test("commas in brackets and quotes do not split; equal names get different labels", () => {
  const lists = sweepVariants(["lora.target_modules=[q_proj,v_proj],all-linear"]);
  assert.deepEqual(lists.map(({ overrides }) => overrides[0]), [
    "lora.target_modules=[q_proj,v_proj]",
    "lora.target_modules=all-linear",
  ]);
  const same = sweepVariants(['data.system="a,b","a b"']);
  assert.deepEqual(same.map(({ label }) => label), ["system-_a_b_", "system-_a_b__1"]);
  const ends = sweepVariants(["training.seed=1", "data.seed=2"]);
  assert.equal(ends[0]!.label, "training.seed-1_data.seed-2");
});

Deno.test("invalid searches are refused", async () => {
  const cases: [string[], string][] = [
    [["training.learning_rate"], "expected KEY=VALUE,VALUE"],
    [["=1,2"], "expected KEY=VALUE,VALUE"],
    [["training.seed=1,,2"], "expected KEY=VALUE,VALUE"],
    [["training.seed=1,1"], "the value 1 is given twice"],
    [["training.seed=1", "training.seed=2"], "is named twice"],
    [["learning_rate=1e-6", "training.lr=2e-6"], "is named twice (learning_rate is the same key)"],
    [["output_dir=a,b"], "each element gets a run and a folder of its own"],
    [["logging.run_name=a,b"], "each element gets a run and a folder of its own"],
    [
      ["a", "b", "c"].map((key) => `${key}=${Array.from({ length: 11 }, (_, i) => i).join(",")}`),
      "a sweep of 1331 combinations",
    ],
  ];
  for (const [sweeps, why] of cases) await refuses(() => sweepVariants(sweeps), ["sweep", why]);
});

Deno.test("lists of elements have the syntax of sbatch", async () => {
  assert.deepEqual(parseArray("0-7%2"), { indices: [0, 1, 2, 3, 4, 5, 6, 7], maxParallel: 2 });
  assert.deepEqual(parseArray("5,1-3,0-10:5").indices, [0, 1, 2, 3, 5, 10]);
  assert.deepEqual(parseArray("%4"), { indices: null, maxParallel: 4 });
  assert.equal(arrayOption([0, 1, 2], 2), "0-2%2");
  assert.equal(arrayOption([1, 4], null), "1,4");
  assert.equal(arrayOption([3], null), "3");
  for (const text of ["", "x", "3-1", "0-2000", "1,,2", "0-3%0", "0-3;id"]) {
    await refuses(() => parseArray(text), [`--array ${text}: expected`]);
  }
  assert.deepEqual(seedVariants([0, 2], 42).map(({ overrides }) => overrides[0]), [
    "training.seed=42",
    "training.seed=44",
  ]);
});
