import assert from "node:assert/strict";
import fc from "fast-check";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { readGoldenJson } from "../../tests/golden.ts";
import { accepted, mostAreRefused } from "../damage_testing.ts";
import { readHfConfig } from "./hf_config.ts";
import { readRope } from "./rope_config.ts";
import { ropeFrequencies } from "./rope_frequencies.ts";
import { attentionFactor } from "./rope_scaling.ts";

const read = (json: Record<string, unknown>) => readRope(json, "m/config.json", 64, 8);

Deno.test("the original length is where transformers looks for it", () => {
  const llama3 = { rope_type: "llama3", factor: 2, low_freq_factor: 1, high_freq_factor: 4 };
  const original = (json: Record<string, unknown>) => {
    const { ropeScaling } = read(json);
    return ropeScaling !== null && "originalMaxPositions" in ropeScaling
      ? ropeScaling.originalMaxPositions
      : null;
  };
  const inside = { ...llama3, original_max_position_embeddings: 16 };
  assert.equal(original({ rope_scaling: llama3 }), 64, "max_position_embeddings");
  assert.equal(original({ rope_scaling: inside }), 16, "in the section");
  assert.equal(original({ rope_scaling: inside, original_max_position_embeddings: 32 }), 32);
});

Deno.test("yarn without a factor takes the quotient of the lengths, and so does longrope", () => {
  const yarn = { type: "yarn", factor: null, original_max_position_embeddings: 16 };
  assert.equal(read({ rope_scaling: yarn }).ropeScaling!.factor, 4);
  const lists = { short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2] };
  const longrope = { type: "longrope", ...lists, original_max_position_embeddings: 32 };
  assert.equal(read({ rope_scaling: longrope }).ropeScaling!.factor, 2);
});

Deno.test("linear, dynamic and yarn scaling reach beyond max_position_embeddings", () => {
  const length = (rope: Record<string, unknown>) => read({ rope_parameters: rope }).maxPositions;
  assert.equal(length({ rope_type: "default" }), 64);
  assert.equal(length({ rope_type: "linear", factor: 4 }), 256);
  assert.equal(length({ rope_type: "dynamic", factor: 1.5 }), 96);
  assert.equal(length({ rope_type: "yarn", factor: 4 }), 256, "as Qwen2.5 is extended");
  assert.equal(
    length({ rope_type: "yarn", factor: 4, original_max_position_embeddings: 16 }),
    64,
  );
});

Deno.test("rope_scaling replaces rope_parameters, as in transformers", () => {
  const old = { rope_scaling: { type: "linear", factor: 2 }, rope_theta: 500 };
  const rope_parameters = { rope_type: "linear", factor: 2, rope_theta: 500 };
  assert.deepEqual(read({ ...old, rope_parameters }), read(old));
  assert.deepEqual(read({ rope_scaling: null, rope_parameters }), read(old));
  assert.deepEqual(read({ rope_scaling: {}, rope_parameters }), read(old));
  const { ropeTheta } = read({ rope_scaling: old.rope_scaling, rope_parameters });
  assert.equal(ropeTheta, 10000);
});

Deno.test("a wrong scaling is refused by file, section and key", () => {
  const lists = { short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2] };
  const cases: [Record<string, unknown>, RegExp][] = [
    [
      { rope_type: "yarm", factor: 2 },
      /"yarm" is not supported \(only default, linear, dynamic, yarn, longrope, llama3, propor/,
    ],
    [{ type: 4 }, /rope type 4 is not supported/],
    [{ type: "su", ...lists }, /rope type "su" is not supported/],
    [{ rope_type: "yarn", type: "linear", factor: 2 }, /rope_type is "yarn" and type "linear"/],
    [{ type: "linear" }, /factor is missing/],
    [{ type: "dynamic", factor: 0.5 }, /factor is 0\.5, expected at least 1/],
    [{ type: "yarn", factor: "4" }, /factor is "4", expected a number/],
    [{ type: "linear", factor: 2, beta_fast: 4 }, /not understood: beta_fast \(4\)/],
    [{ type: "dynamic", factor: 2, original_max_position_embeddings: 32 }, /original_max.* is 32/],
    [{ type: "yarn", factor: 2, attention_factor: -1 }, /attention_factor is -1, expected.*above/],
    [{ type: "yarn", factor: 2, beta_fast: 1, beta_slow: 8 }, /beta_fast is 1, expected at least/],
    [{ type: "yarn", factor: 2, truncate: "no" }, /truncate is "no", which is not supported/],
    [{ type: "yarn", factor: 2, partial_rotary_factor: 0.5 }, /partial_rotary_factor is 0\.5/],
    [{ type: "longrope", factor: 2, short_factor: [1, 1, 1, 1] }, /long_factor is missing/],
    [
      { type: "longrope", ...lists, long_factor: [2, 2] },
      /long_factor has 2 values, expected 4 numbers above 0 \(half of a head's width\)/,
    ],
    [{ type: "longrope", ...lists, short_factor: [1, 0, 1, 1] }, /short_factor\[1\] is 0/],
    [{ type: "longrope", ...lists, short_factor: 1 }, /short_factor is 1, expected 4 numbers/],
    [{ type: "llama3", factor: 2, low_freq_factor: 1 }, /high_freq_factor is missing/],
    [{ full_attention: { rope_type: "default" } }, /not understood: full_attention/],
  ];
  for (const [rope, message] of cases) {
    const where = "m/config.json: rope_scaling: ";
    assert.throws(() => read({ rope_scaling: rope }), refusal(message, UsageError, { where }));
  }
});

/** Sections that transformers computes. */
const SECTIONS = readGoldenJson<{ cases: { config: Record<string, Record<string, unknown>> }[] }>(
  "rope-scaling/cases.json",
).cases.map(({ config: { rope_scaling, rope_parameters } }) => rope_scaling ?? rope_parameters!);

const VALUE = fc.oneof(
  fc.constantFrom<unknown>(null, true, "x", [], {}, -1, 0, 0.5, 1, 1.5, 2 ** 31, 2 ** 53, 1e308),
  fc.constantFrom<unknown>(
    1e-308,
    [...Array(7).fill(1), "4"],
    [1e308, 1],
    Array(8).fill(1),
    "yarn",
    1e300,
  ),
);

Deno.test("500 damaged scalings give finite frequencies or are refused", () => {
  const damaged = fc.constantFrom(...SECTIONS).chain((section) =>
    fc.array(fc.tuple(fc.constantFrom(...Object.keys(section), "rope_theta"), VALUE), {
      minLength: 1,
      maxLength: 2,
    }).map((edits) => ({ ...section, ...Object.fromEntries(edits) }))
  );
  const isRead = (rope_scaling: Record<string, unknown>) =>
    accepted(() => {
      const { modelConfig } = readHfConfig({
        model_type: "llama",
        vocab_size: 9,
        hidden_size: 32,
        intermediate_size: 8,
        num_hidden_layers: 1,
        num_attention_heads: 2,
        max_position_embeddings: 64,
        rope_scaling,
      }, "config.json");
      const lengths = [1, 64, 65, modelConfig.maxPositions];
      const found = lengths.flatMap((n) => [...ropeFrequencies(modelConfig, n)]);
      assert.ok(found.every((theta) => Number.isFinite(theta) && theta >= 0), `${found}`);
      assert.ok(Number.isFinite(attentionFactor(modelConfig.ropeScaling)));
    });
  return mostAreRefused(damaged, isRead, { seed: 3, share: 1 / 4 });
});
