/**
 * Opt-in: llama.cpp computes the same as rgx for exported GGUF files with a merged adapter.
 * RGX_TEST_LLAMA_PYTHON is a Python that has llama-cpp-python (pip install llama-cpp-python).
 * RGX_TEST_MODEL may be another copy of SmolLM2's GGUF file; empty leaves this model out.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import type { Device } from "../../kernels/device.ts";
import { IDS, PEFT, tokenizer, writeBase } from "../../models/adapter_testing.ts";
import { createCharacterTokenizer } from "../../models/tokenizers/character_tokenizer.ts";
import { architectureOf } from "../../models/architectures/mod.ts";
import { exportModel } from "../../models/export/export.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { loadModel } from "../../models/load_model.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { encodePeftAdapter } from "../../models/folder_testing.ts";
import { loraOptions, type PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import { goldenPath } from "../golden.ts";
import { largeModel } from "../large_model.ts";
import { NEEDED, needs } from "../skipped.ts";
import { runs } from "../support.ts";

const python = Deno.env.get("RGX_TEST_LLAMA_PYTHON");
const tiny = goldenPath("tiny-models");
const smollm2 = python === undefined ? null : largeModel();

/** Logits after every position, with keys and values kept in float32. */
const SCRIPT = `
import json, sys, numpy
from llama_cpp import Llama
for job in json.load(sys.stdin):
    model = Llama(job["path"], n_ctx=64, n_batch=64, n_threads=2, logits_all=True, verbose=False,
                  type_k=0, type_v=0, lora_path=job.get("lora"))
    model.eval(job["ids"])
    numpy.array(model.scores[:len(job["ids"])], dtype="float32").tofile(job["output"])
    model.close()
`;

interface Job {
  path: string;
  /** An adapter that llama.cpp puts on it. */
  lora?: string;
  ids: readonly number[];
  output: string;
}

function logProbabilities(logits: ArrayLike<number>): Float64Array {
  const z = Float64Array.from(logits), max = z.reduce((a, b) => Math.max(a, b), -Infinity);
  const lse = max + Math.log(z.reduce((sum, x) => sum + Math.exp(x - max), 0));
  return z.map((x) => x - lse);
}

/** Weights in float32, so that only the type of the file and llama.cpp cause differences. */
const WIDENED = { weights: { dtype: "float32" } } as const;

/** Writes an adapter with random values for the model in `base`, and returns its folder. */
async function randomAdapter(
  base: string,
  folder: string,
  device: Device,
  others: Partial<PeftConfig>,
): Promise<string> {
  const { config, files } = await readModelFolder(base);
  const peft: PeftConfig = { ...PEFT, baseModel: base, rankPattern: {}, ...others };
  const model = await CausalLM.create(device, config, files, {
    trainable: "lora",
    lora: loraOptions(peft),
    ...WIDENED,
  });
  const tensors = [];
  for (const { name, shape } of model.trainable) {
    const data = await model.readParameter(name);
    const size = name.includes("lora_B") ? 0.02 : 0.1;
    data.forEach((x, i) => data[i] = x + size * Math.sin(i * 1.7 + name.length));
    tensors.push({ name, shape, data });
  }
  model.dispose();
  const adapter = await Deno.makeTempDir({ dir: folder });
  for (const [name, bytes] of await encodePeftAdapter(peft, tensors)) {
    await Deno.writeFile(`${adapter}/${name}`, bytes);
  }
  return adapter;
}

/**
 * Maximum difference of a log-probability. llama.cpp takes GELU from a table of f16 values, and
 * rounds activations to f16 before it multiplies them with f16 weights.
 */
const TOLERANCE = { f32: 2e-3, gelu: 1e-2, f16: 4e-2 };

async function compare(base: string, folder: string, ids: readonly number[]): Promise<void> {
  using device = await createWasmDevice({ threads: 2 });
  const { finalNorm } = architectureOf((await readModelFolder(base)).config).names;
  const adapter = await randomAdapter(base, folder, device, { modulesToSave: [finalNorm] });
  const jobs: Job[] = [];
  for (const dtype of ["f32", "f16"] as const) {
    const path = `${folder}/${dtype}.gguf`;
    await exportModel(adapter, { to: "gguf", dtype, output: path });
    jobs.push({ path, ids, output: `${folder}/${dtype}.f32` });
  }
  // An adapter of its own, on the base.
  const low = await randomAdapter(base, folder, device, { alphaPattern: { o_proj: 3 } });
  const path = `${folder}/base.gguf`, lora = `${folder}/lora.gguf`;
  await exportModel(base, { to: "gguf", dtype: "f32", output: path });
  await exportModel(low, { to: "adapter", output: lora });
  jobs.push({ path, lora, ids, output: `${folder}/lora.f32` });
  await runs([python!, "-c", SCRIPT], { input: JSON.stringify(jobs) });
  // The f32 files are compared with the adapters on their base, the f16 file with itself in rgx.
  for (const [i, reference] of [adapter, jobs[1]!.path, low].entries()) {
    const { model } = await loadModel(reference, device, WIDENED), vocab = model.vocabSize;
    const theirs = new Float32Array((await Deno.readFile(jobs[i]!.output)).buffer);
    assert.equal(theirs.length, ids.length * vocab);
    let largest = 0;
    await model.positionLogits([...ids], (position, logits) => {
      const at = position * vocab;
      const wanted = logProbabilities(theirs.subarray(at, at + vocab));
      logProbabilities(logits).forEach((x, v) => {
        largest = Math.max(largest, Math.abs(x - wanted[v]!));
      });
    });
    const gelu = architectureOf(model.config).activation === "gelu";
    const kind = i === 1 ? "f16" : gelu ? "gelu" : "f32";
    console.log(`  ${i === 2 ? "adapter" : kind}: ${largest.toExponential(1)}`);
    assert.ok(largest <= TOLERANCE[kind], `${reference}: ${largest}`);
    model.dispose();
  }
}

const FAMILIES = ["qwen3_5_text", "olmo3", "lfm2", "qwen3_moe"];
/** As many tokens as their tiny models have. */
const few = createCharacterTokenizer({
  alphabet: Array.from({ length: 45 }, (_, i) => String.fromCharCode(65 + i)).join(""),
  special_tokens: ["<pad>", "<unk>", "<eos>"],
});

for (const name of ["llama", "llama3", "qwen2", "qwen3", "smollm2", "gpt2", ...FAMILIES]) {
  test.inFolder(`${name}: llama.cpp computes the exported model`, async (folder) => {
    if (FAMILIES.includes(name)) {
      const { config } = await readModelFolder(goldenPath(`families/${name}`)),
        { delta } = config;
      // llama.cpp knows no values of another width than keys.
      const own = delta && { delta: { ...delta, valueDim: delta.keyDim } };
      await writeBase({ ...config, ...own }, folder, few);
      return await compare(`${folder}/base`, folder, IDS.map((id) => id % 48));
    }
    const base = `${folder}/${name}`;
    await Deno.mkdir(base);
    for (const file of ["config.json", "model.safetensors"]) {
      await Deno.copyFile(`${tiny}/${name}/${file}`, `${base}/${file}`);
    }
    for (const [file, text] of tokenizer.files()) {
      await Deno.writeTextFile(`${base}/${file}`, text);
    }
    await compare(base, folder, IDS);
  }, needs(python !== undefined, NEEDED.python));
}

test.inFolder(
  "SmolLM2: llama.cpp computes the exported model",
  (folder) => compare(smollm2!, folder, [504, 2726, 338, 253, 1123, 28, 284, 260, 3575, 314]),
  needs(python !== undefined, NEEDED.python) || needs(smollm2 !== null, NEEDED.largeModel),
);
