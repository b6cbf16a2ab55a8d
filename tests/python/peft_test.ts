/**
 * Opt-in: adapters that rgx or PEFT made have the same log-probabilities in both programs.
 * RGX_TEST_PEFT_PYTHON is a Python that has torch, transformers and peft (pip install torch
 * transformers peft). RGX_TEST_MODEL may be another copy of SmolLM2's GGUF file; empty leaves this
 * model out.
 */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { convertModel } from "../../models/export/convert.ts";
import { createCharacterTokenizer } from "../../models/tokenizers/character_tokenizer.ts";
import { loadModel } from "../../models/load_model.ts";
import { goldenPath } from "../golden.ts";
import { largeModel } from "../large_model.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { NEEDED, needs } from "../skipped.ts";
import { runs, succeeds } from "../support.ts";

const python = Deno.env.get("RGX_TEST_PEFT_PYTHON");
const smollm2 = python === undefined ? null : largeModel();

/**
 * Maximum difference of a log-probability. Small models in float32 differ by less than a tenth of
 * this.
 */
const TOLERANCE = 2e-3;

/** Reads jobs; loads PEFT's adapters or makes them; writes all log-probabilities as float32. */
const SCRIPT = `
import json, sys, torch
from transformers import AutoModelForCausalLM
from peft import LoraConfig, PeftModel, get_peft_model
torch.set_num_threads(2)
for job in json.load(sys.stdin):
    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(job["base"], dtype=torch.float32)
    if job["make"] is None:
        model = PeftModel.from_pretrained(base, job["adapter"])
    else:
        model = get_peft_model(base, LoraConfig(
            task_type="CAUSAL_LM", init_lora_weights=False, **job["make"]))
        with torch.no_grad():
            for name, p in model.named_parameters():
                if p.requires_grad and "modules_to_save" in name:
                    p += 0.05 * torch.randn_like(p)
        model.save_pretrained(job["adapter"])
    model.eval()
    with torch.no_grad():
        logits = model(torch.tensor([job["ids"]])).logits[0]
    torch.log_softmax(logits, -1).numpy().tofile(job["output"])
`;

interface Job {
  what: string;
  base: string;
  adapter: string;
  /** Arguments of PEFT's LoraConfig for an adapter that PEFT makes; null = rgx has made it. */
  make: Record<string, unknown> | null;
  ids: number[];
  output: string;
}

/** Compares the log-probabilities of PEFT and of rgx for every job. */
async function compare(jobs: readonly Job[]): Promise<void> {
  await runs([python!, "-c", SCRIPT], { input: JSON.stringify(jobs) });
  using device = await createWasmDevice({ threads: 2 });
  for (const { what, adapter, base, ids, output } of jobs) {
    const { model } = await loadModel(adapter, device);
    const theirs = new Float32Array((await Deno.readFile(output)).buffer),
      vocab = model.vocabSize;
    assert.equal(theirs.length, ids.length * vocab, what);
    let largest = 0;
    await model.positionLogits(ids, (position, logits) => {
      const max = Float64Array.from(logits).reduce((a, b) => Math.max(a, b), -Infinity);
      let sum = 0;
      for (const x of logits) sum += Math.exp(x - max);
      const lse = max + Math.log(sum);
      logits.forEach((x, v) => {
        largest = Math.max(largest, Math.abs(x - lse - theirs[position * vocab + v]!));
      });
    });
    const plain = await loadModel(base, device);
    const baseLogits = await plain.model.lastLogits(ids);
    const logits = await model.lastLogits(ids);
    const isChanged = logits.some((x, v) => Math.abs(x - baseLogits[v]!) > 0.05);
    assert.ok(isChanged, `${what}: the adapter changes little`);
    console.log(`  ${what}: ${largest.toExponential(1)}`);
    assert.ok(largest <= TOLERANCE, `${what}: a log-probability differs by ${largest}`);
    plain.model.dispose();
    model.dispose();
  }
}

/** A copy of a recorded tiny model with a tokenizer of `words`, which the recorded one lacks. */
async function tinyModel(recorded: string, folder: string, words: number): Promise<string> {
  const target = `${folder}/model`, specials = ["<pad>", "<unk>", "<eos>"];
  await Deno.mkdir(target);
  for (const file of ["config.json", "model.safetensors"]) {
    await Deno.copyFile(`${goldenPath(recorded)}/${file}`, `${target}/${file}`);
  }
  const letters = Array.from({ length: words - 3 }, (_, i) => String.fromCharCode(32 + i));
  const tokenizer = createCharacterTokenizer({
    alphabet: letters.join(""),
    special_tokens: specials,
  });
  for (const [file, text] of tokenizer.files()) await Deno.writeTextFile(`${target}/${file}`, text);
  return target;
}

/** Trains an adapter with large steps by command, and returns its folder. */
async function train(
  model: string,
  folder: string,
  name: string,
  lora: Record<string, unknown>,
  learningRate = 0.05,
): Promise<string> {
  const problems = Array.from({ length: 16 }, (_, i) => ({
    question: `${i % 4}+${i >> 2}=`,
    answer: String((i % 4) + (i >> 2)),
  }));
  await Deno.writeTextFile(
    `${folder}/sums.jsonl`,
    problems.map((problem) => JSON.stringify(problem)).join("\n"),
  );
  const config = {
    model,
    lora,
    data: { dataset_name: `${folder}/sums.jsonl`, add_instructions: false, num_examples: 8 },
    rewards: [{ name: "brevity" }],
    eval: { num_examples: 1 },
    sft: { max_steps: 3, per_device_train_batch_size: 4, learning_rate: learningRate },
    training: {
      max_steps: 1,
      per_device_train_batch_size: 4,
      num_generations: 4,
      gradient_accumulation_steps: 1,
      max_completion_length: 4,
      learning_rate: learningRate,
    },
  };
  // JSON is YAML.
  await Deno.writeTextFile(`${folder}/${name}.yaml`, JSON.stringify(config));
  const run = `${folder}/run-${name}`;
  const to = ["--output-dir", run, "--device", "wasm", "--quiet"];
  await succeeds(["train", `${folder}/${name}.yaml`, ...to]);
  return run;
}

const RGX_ADAPTERS: Record<string, Record<string, unknown>> = {
  default: { r: 4 },
  regex: { target_modules: ".*layers\\.1\\.(self_attn|mlp)\\.(v|down)_proj" },
  rslora: {
    target_modules: "all-linear",
    use_rslora: true,
    r: 4,
    lora_alpha: 6,
    rank_pattern: { "layers.0.*": 2 },
    alpha_pattern: { up_proj: 3 },
  },
  head: { target_modules: ["v_proj"], modules_to_save: ["lm_head"] },
  ends: { target_modules: "all-linear", modules_to_save: ["embed_tokens", "lm_head", "norm"] },
  embedding: { target_modules: ["q_proj"], modules_to_save: ["embed_tokens"] },
  part: {
    target_modules: "all-linear",
    exclude_modules: ["mlp.up_proj", "k_proj"],
    modules_to_save: ["layers.0.mlp"],
    init_lora_weights: "gaussian",
  },
  layers: { target_modules: ["q_proj", "o_proj"], layers_to_transform: [1] },
  logits: {
    target_modules: ["lm_head", "down_proj"],
    rank_pattern: { lm_head: 3 },
    r: 4,
    use_rslora: true,
    lora_dropout: 0.1,
  },
};
const VARIANTS: Record<string, Record<string, unknown>> = {
  dora: { target_modules: "all-linear", use_dora: true, r: 4, rank_pattern: { q_proj: 2 } },
  biases: { target_modules: "all-linear", lora_bias: true, bias: "all" },
  pissa: { target_modules: "all-linear", init_lora_weights: "pissa", r: 4 },
  olora: { target_modules: ["q_proj", "down_proj"], init_lora_weights: "olora", r: 4 },
  table: { target_modules: ["embed_tokens", "v_proj"], r: 4 },
  tokens: { target_modules: ["q_proj"], trainable_token_indices: [5, 42, 79] },
};
const GPT2_VARIANTS: Record<string, Record<string, unknown>> = {
  dora: { target_modules: "all-linear", use_dora: true, bias: "lora_only" },
  pissa: { target_modules: "all-linear", init_lora_weights: "pissa", r: 4 },
  table: { target_modules: ["wte", "c_fc"], r: 4 },
  tokens: { target_modules: ["c_attn"], trainable_token_indices: [5, 42, 79], lora_bias: true },
};
const RGX_GPT2_ADAPTERS: Record<string, Record<string, unknown>> = {
  default: { r: 4 },
  rslora: { target_modules: "all-linear", use_rslora: true, rank_pattern: { "mlp.c_proj": 2 } },
  ends: { target_modules: ["c_proj"], modules_to_save: ["wte", "wpe", "lm_head", "ln_f"] },
  logits: { target_modules: ["lm_head", "c_fc"] },
};
const PEFT_ADAPTERS: Record<string, Record<string, unknown>> = {
  default: { r: 4, lora_alpha: 8 },
  everything: {
    target_modules: "all-linear",
    r: 3,
    lora_alpha: 5,
    use_rslora: true,
    modules_to_save: ["lm_head", "norm"],
  },
  part: {
    target_modules: ["q_proj", "down_proj"],
    exclude_modules: ["layers.0.mlp.down_proj"],
    rank_pattern: { q_proj: 2 },
    modules_to_save: ["embed_tokens"],
  },
  logits: { target_modules: ["lm_head", "v_proj"], alpha_pattern: { lm_head: 20 } },
  pattern: { target_modules: "lm_head|.*q_proj" },
  dora: { target_modules: "all-linear", use_dora: true, use_rslora: true },
  biases: { target_modules: ["v_proj", "up_proj"], lora_bias: true, bias: "lora_only" },
  table: { target_modules: ["embed_tokens", "o_proj"] },
};
const PEFT_GPT2_ADAPTERS: Record<string, Record<string, unknown>> = {
  default: { r: 4, lora_alpha: 8 },
  everything: { target_modules: "all-linear", r: 3, modules_to_save: ["lm_head", "wpe"] },
  logits: { target_modules: ["lm_head", "c_attn"], fan_in_fan_out: true },
};

/** On attention and on all experts, which PEFT knows as parameters. */
const ON_EXPERTS = {
  target_modules: ["q_proj", "k_proj", "v_proj", "o_proj"],
  target_parameters: ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
  r: 3,
  lora_alpha: 5,
};
type Adapters = Record<string, Record<string, unknown>>;
const OF_RGX = { ...RGX_ADAPTERS, ...VARIANTS };
const MIXTURES: Adapters = {
  experts: ON_EXPERTS,
  one: { ...ON_EXPERTS, target_parameters: ["mlp.experts.down_proj"] },
};

/** A recorded model, its tokens, and the adapters on it that rgx and PEFT make. */
const MODELS: readonly (readonly [name: string, words: number, rgx: Adapters, peft: Adapters])[] = [
  ...["llama", "llama3", "mistral", "qwen2", "qwen3", "smollm2"].map((name) =>
    [`tiny-models/${name}`, 96, OF_RGX, PEFT_ADAPTERS] as const
  ),
  ["tiny-models/gpt2", 96, { ...RGX_GPT2_ADAPTERS, ...GPT2_VARIANTS }, PEFT_GPT2_ADAPTERS],
  ["families/gpt_oss", 48, MIXTURES, MIXTURES],
  ["families/mixtral", 48, MIXTURES, MIXTURES],
  ["families/qwen3_moe", 48, MIXTURES, MIXTURES],
];

for (const [recorded, words, rgx, peft] of MODELS) {
  const name = recorded.replace(/.*\//, "");
  Deno.test({
    name: `${name}: what rgx trained PEFT computes, and what PEFT made rgx computes`,
    ignore: needs(python !== undefined, NEEDED.python),
    fn: () =>
      withFolder(async (folder) => {
        const base = await tinyModel(recorded, folder, words), jobs: Job[] = [];
        const ids = Array.from({ length: 12 }, (_, i) => (i * 37 + 5) % (words - 6));
        for (const [kind, lora] of Object.entries(rgx)) {
          const adapter = await train(base, folder, kind, lora);
          const what = `${name}, rgx, ${kind}`;
          jobs.push({ what, base, adapter, make: null, ids, output: `${folder}/${kind}.f32` });
        }
        for (const [kind, make] of Object.entries(peft)) {
          const adapter = `${folder}/peft-${kind}`, what = `${name}, PEFT, ${kind}`;
          jobs.push({ what, base, adapter, make, ids, output: `${folder}/peft-${kind}.f32` });
        }
        await compare(jobs);
      }),
  });
}

test.inFolder(
  "SmolLM2: what rgx trained PEFT computes",
  async (folder) => {
    const base = `${folder}/smollm2`;
    await convertModel(smollm2!, { output: base });
    const ids = [504, 2726, 338, 253, 1123, 28, 284, 260, 3575, 314, 216, 34];
    const jobs: Job[] = [];
    for (const kind of ["rslora", "head"]) {
      const adapter = await train(base, folder, kind, RGX_ADAPTERS[kind]!, 1e-3);
      const output = `${folder}/${kind}.f32`;
      jobs.push({ what: `SmolLM2, rgx, ${kind}`, base, adapter, make: null, ids, output });
    }
    await compare(jobs);
  },
  needs(python !== undefined, NEEDED.python) ||
    needs(smollm2 !== null, NEEDED.largeModel),
);
