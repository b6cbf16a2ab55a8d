import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { assertWithin } from "../../kernels/testing.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { readRope } from "../architectures/rope_config.ts";
import { ropeFrequencies } from "../architectures/rope_frequencies.ts";
import { attentionFactor, type RopeScaling } from "../architectures/rope_scaling.ts";
import { parseGguf } from "../formats/gguf/gguf.ts";
import { ggufRopeScaling } from "../formats/gguf/rope_scaling.ts";
import { encodeTestGguf, type TestMetadata } from "../formats/gguf/testing.ts";
import { tinyConfig } from "../testing.ts";
import { ropeMetadata, ropeTensors } from "./gguf_export.ts";

const config: ModelConfig = { ...tinyConfig(true), headDim: 8, maxPositions: 128, ropeTheta: 1e3 };
const yarn: Extract<RopeScaling, { type: "yarn" }> = {
  type: "yarn",
  factor: 4,
  originalMaxPositions: 32,
  attentionFactor: null,
  mscale: null,
  mscaleAllDim: null,
  betaFast: 32,
  betaSlow: 1,
  truncate: true,
};
const longrope: Extract<RopeScaling, { type: "longrope" }> = {
  type: "longrope",
  factor: 4,
  originalMaxPositions: 32,
  attentionFactor: null,
  shortFactors: [1, 1.05, 1.1, 1.3],
  longFactors: [1.5, 2, 2.7, 4],
};
const llama3: Extract<RopeScaling, { type: "llama3" }> = {
  type: "llama3",
  factor: 4,
  lowFreqFactor: 1,
  highFreqFactor: 4,
  originalMaxPositions: 32,
};

/** The scaling after a file of the architecture was written and read. */
async function readBack(
  ropeScaling: RopeScaling,
  architecture: string,
): Promise<{ file: TestMetadata; found: Pick<ModelConfig, "ropeTheta" | "ropeScaling"> }> {
  const scaled = { ...config, ropeScaling };
  const metadata: TestMetadata = {
    "general.architecture": ["string", architecture],
    [`${architecture}.rope.freq_base`]: ["f32", config.ropeTheta],
    ...Object.fromEntries(ropeMetadata(scaled, architecture, "m")) as TestMetadata,
  };
  const tensors = await Promise.all(
    ropeTensors(scaled).map(async ({ name, shape, bytes }) => {
      const pieces = await Array.fromAsync(bytes());
      return { name, shape: [...shape], typeId: 0, data: pieces[0]! as Uint8Array<ArrayBuffer> };
    }),
  );
  const file = await parseGguf(encodeTestGguf(metadata, tensors), "m.gguf");
  const json = { rope_theta: config.ropeTheta, rope_scaling: await ggufRopeScaling(file) };
  return { file: metadata, found: readRope(json, "m.gguf", 128, config.headDim) };
}

const SCALINGS: [string, RopeScaling, string][] = [
  ["linear", { type: "linear", factor: 2.5 }, "qwen3"],
  ["yarn", yarn, "qwen2"],
  ["yarn with other limits", { ...yarn, betaFast: 8, betaSlow: 2 }, "llama"],
  ["yarn with attention_factor", { ...yarn, attentionFactor: 0.8 }, "llama"],
  ["yarn with mscale", { ...yarn, mscale: 2, mscaleAllDim: 0.5 }, "qwen3"],
  ["longrope", longrope, "llama"],
  ["llama3", llama3, "llama"],
];

for (const [name, scaling, architecture] of SCALINGS) {
  Deno.test(`a GGUF file has the frequencies of ${name} scaling`, async () => {
    const { found } = await readBack(scaling, architecture);
    for (const length of [20, 100]) {
      const expected = ropeFrequencies({ ...config, ropeScaling: scaling }, length);
      const frequencies = ropeFrequencies({ ...config, ...found }, length);
      assertWithin(frequencies, expected, 1e-7, `${length} tokens`);
    }
    assertWithin([attentionFactor(found.ropeScaling)], [attentionFactor(scaling)], 1e-6, "factor");
  });
}

Deno.test("the keys are those that llama.cpp's converter writes", async () => {
  const { file } = await readBack({ ...yarn, attentionFactor: 0.8, betaFast: 16 }, "qwen2");
  const keys = Object.keys(file).filter((key) => key.includes("scaling"));
  assert.deepEqual(keys.map((key) => key.replace("qwen2.rope.scaling.", "")).sort(), [
    "attn_factor",
    "factor",
    "original_context_length",
    "type",
    "yarn_attn_factor",
    "yarn_beta_fast",
  ]);
});

Deno.test("what GGUF cannot say is refused", async () => {
  const cases: [RopeScaling, string, RegExp][] = [
    [{ type: "dynamic", factor: 2, originalMaxPositions: 64 }, "llama", /"dynamic" cannot be exp/],
    [{ type: "proportional", factor: 1, rotaryShare: 0.5 }, "llama", /"proportional" cannot be/],
    [{ ...yarn, truncate: false }, "llama", /cannot say truncate: false/],
    [longrope, "qwen2", /reads its divisors only of llama models, this is qwen2/],
    [llama3, "qwen3", /this is qwen3/],
  ];
  for (const [scaling, architecture, message] of cases) {
    await assert.rejects(readBack(scaling, architecture), refusal(message, UsageError));
  }
});

Deno.test("scalings in GGUF files that llama.cpp would compute otherwise are refused", async () => {
  const ones = { shape: [4], typeId: 0, data: new Uint8Array(new Float32Array(4).fill(1).buffer) };
  const cases: [TestMetadata, string | null, RegExp][] = [
    [{ "type": ["string", "yarn"], "yarn_ext_factor": ["f32", 0.5] }, null, /yarn_ext_factor is 0/],
    [{ "type": ["string", "linear"], "attn_factor": ["f32", 2] }, null, /attn_factor is 2, which/],
    [{ "type": ["string", "longrope"], "factor": ["f32", 2] }, null, /scaling\.factor is 2, which/],
    [{ "type": ["string", "longrope"] }, null, /rope_factors_short\.weight/],
    [{ "factor": ["f32", 2] }, "rope_freqs.weight", /"rope_freqs\.weight" beside/],
    [{ "type": ["string", "none"] }, "rope_factors_long.weight", /beside .* "none" is not/],
    [{ "type": ["u32", 1] }, null, /scaling\.type is 1/],
    [{ "factor": ["string", "2"] }, null, /scaling\.factor is 2, expected a number/],
  ];
  for (const [keys, tensor, message] of cases) {
    const metadata = Object.fromEntries(
      Object.entries(keys).map(([key, value]) => [`llama.rope.scaling.${key}`, value]),
    );
    const file = await parseGguf(
      encodeTestGguf(
        { "general.architecture": ["string", "llama"], ...metadata },
        tensor === null ? [] : [{ name: tensor, ...ones }],
      ),
      "m.gguf",
    );
    await assert.rejects(ggufRopeScaling(file), message);
  }
});
