import assert from "node:assert/strict";
import { didYouMean, editDistance, isNearlySame, isOneEdit, nearest } from "./suggest.ts";

Deno.test("a swap of two neighbouring characters is one edit", () => {
  assert.equal(editDistance("learnig_rate", "learning_rate"), 1);
  assert.equal(editDistance("ab", "ba"), 1);
  assert.equal(editDistance("", "abc"), 3);
  assert.equal(editDistance("kitten", "sitting"), 3);
  assert.equal(editDistance("ca", "abc"), 3);
});

Deno.test("one edit is a distance of 1, for all texts of few letters", () => {
  const words = [""];
  for (const word of words) if (word.length < 4) words.push(`${word}a`, `${word}b`, `${word}c`);
  for (const a of words) {
    for (const b of words) assert.equal(isOneEdit(a, b), editDistance(a, b) === 1, `${a} ${b}`);
  }
});

Deno.test("nearly the same: one edit, two in longer names, or other case and separators", () => {
  const same = ["lr lrr", "n N", "modl model", "tempratur temperature", "totl_epoch total_epochs"];
  for (const pair of [...same, "ppomicrobatchsize ppo_micro_batch_size", "Top-K top_k"]) {
    const [a, b] = pair.split(" ") as [string, string];
    assert.ok(isNearlySame(a, b) && isNearlySame(b, a), pair);
  }
  for (const pair of ["mtp stop", "lr ratio", "tmprtr temperature", "kl_coef kl_loss_coef"]) {
    const [a, b] = pair.split(" ") as [string, string];
    assert.ok(!isNearlySame(a, b) && !isNearlySame(b, a), pair);
  }
});

Deno.test("the most similar name is found, and nothing is suggested for a dissimilar one", () => {
  const names = ["learning_rate", "num_generations", "beta", "seed"];
  assert.equal(nearest("learnig_rate", names), "learning_rate");
  assert.equal(nearest("num-generation", names), "num_generations");
  assert.equal(nearest("BETA", names), "beta");
  assert.equal(nearest("sede", names), "seed");
  assert.equal(nearest("x", names), null);
  assert.equal(nearest("x", ["r", "lr"]), null);
  assert.equal(nearest("learning", names), "learning_rate");
  assert.equal(nearest("num", names), null);
  assert.equal(nearest("--temp", ["--help", "--temperature"]), "--temperature");
  assert.equal(nearest("--halp", ["--help", "--temperature"]), "--help");
  assert.deepEqual(["kl_coef", "kl_beta"].map((name) => nearest(name, names)), ["beta", "beta"]);
  assert.equal(nearest("gradient", names), null);
  assert.equal(nearest("seed", []), null);
  assert.equal(nearest("trane", ["train", "score"]), "train");
  assert.equal(nearest("evaluate", ["train", "eval"]), "eval");
});

Deno.test("the end of a message names the candidate or is empty", () => {
  assert.equal(didYouMean("sede", ["seed"]), ", did you mean seed?");
  assert.equal(nearest("--num-examples", ["--seed", "--size"]), "--size");
  assert.equal(nearest("--steps", ["--stop", "--max-steps"]), "--max-steps");
  assert.equal(nearest("--n", ["--min-p", "--samples"]), "--samples");
  assert.equal(nearest("--max-concurrent", ["--max-time", "--workers"]), "--workers");
  assert.equal(didYouMean("zzz", ["seed"]), "");
});
