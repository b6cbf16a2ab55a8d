/**
 * `deno task bench:gpu`: measures the webgpu device on the card of this machine, in at most five
 * minutes, and prints one JSON object. It measures matrix products, also with stored weights of
 * every type, and kernels that memory limits. Then it decodes with a Llama of Qwen2.5-0.5B's size
 * with random weights, and takes a GRPO step. If Python has torch, transformers and peft, the same
 * step runs there (tools/peers/hf_grpo_step.py). On a software adapter the shapes are tiny, and the
 * result only shows that the program works.
 *
 *     deno task bench:gpu [--no-peer] [part …]
 *
 * The parts are products, stored, memory, decode, decode_nf4 and step.
 */
import type { Device } from "../kernels/device.ts";
import type { Tensor } from "../kernels/tensor.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { storedWords, WEIGHT_TYPES, type WeightType } from "../kernels/weights/types.ts";
import { CausalLM } from "../models/causal_lm.ts";
import { elementCount } from "../models/formats/element_count.ts";
import { modelTensors } from "../models/network/weights/model_weights.ts";
import type { ModelConfig } from "../models/architectures/model_config.ts";
import type { StorageOptions } from "../models/network/weights/weight_storage.ts";
import { BenchStep } from "../training/grpo_step_bench.ts";

interface Sizes {
  /** Shapes of x[m, k]·Wᵀ[k, n]. */
  products: [what: string, m: number, n: number, k: number][];
  /** A weight [n, k] and rows of x, for products with it in every storage type. */
  stored: { n: number; k: number; rows: number[] };
  /** Number of elements of the blocks that are copied and updated. */
  block: number;
  rows: number;
  model: ModelConfig;
  branches: number[];
  newTokens: number;
  step: { prompts: number; completions: number; promptTokens: number; newTokens: number };
  /** Milliseconds that one measurement may take. */
  budget: number;
}

const QWEN_05B: ModelConfig = {
  vocabSize: 151_936,
  hiddenSize: 896,
  intermediateSize: 4864,
  numLayers: 24,
  numHeads: 14,
  numKvHeads: 2,
  headDim: 64,
  maxPositions: 4096,
  ropeTheta: 1_000_000,
  ropeScaling: null,
  rmsNormEps: 1e-6,
  tieWordEmbeddings: true,
};

const CARD: Sizes = {
  products: [
    ["4096 cubed", 4096, 4096, 4096],
    ["0.5B q_proj", 4096, 896, 896],
    ["0.5B gate_proj", 4096, 4864, 896],
    ["0.5B down_proj", 4096, 896, 4864],
    ["1.5B gate_proj", 4096, 8960, 1536],
    ["1.5B down_proj", 4096, 1536, 8960],
    ["decoding 64 rows", 64, 4864, 896],
    ["decoding 16 rows", 16, 4864, 896],
  ],
  stored: { n: 8960, k: 1536, rows: [1, 16, 64, 4096] },
  block: 2 ** 26,
  rows: 16_384,
  model: QWEN_05B,
  branches: [1, 16, 64],
  newTokens: 128,
  step: { prompts: 8, completions: 8, promptTokens: 256, newTokens: 256 },
  budget: 1500,
};

const SOFTWARE: Sizes = {
  products: [["256 cubed", 256, 256, 256], ["16 rows", 16, 512, 256]],
  stored: { n: 512, k: 256, rows: [1, 16] },
  block: 2 ** 20,
  rows: 256,
  model: {
    ...QWEN_05B,
    vocabSize: 512,
    hiddenSize: 64,
    intermediateSize: 176,
    numLayers: 2,
    numHeads: 4,
    headDim: 16,
  },
  branches: [1, 4],
  newTokens: 8,
  step: { prompts: 2, completions: 4, promptTokens: 16, newTokens: 8 },
  budget: 200,
};

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/**
 * Median milliseconds of one call. Each run makes many calls and then reads one value of `out`,
 * which waits for all of them.
 */
async function time(
  device: Device,
  budget: number,
  out: Tensor,
  call: () => void,
): Promise<number> {
  const once = async (calls: number) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) call();
    await device.read(out, 0, 1);
    return (performance.now() - start) / calls;
  };
  await once(2);
  const estimate = await once(2);
  const calls = Math.max(1, Math.min(200, Math.round(budget / 10 / estimate)));
  const times: number[] = [];
  for (const end = performance.now() + budget; times.length < 3 || performance.now() < end;) {
    times.push(await once(calls));
  }
  return median(times);
}

async function products(device: WebgpuDevice, { products, budget }: Sizes) {
  const rows = [];
  for (const [what, m, n, k] of products) {
    const a = device.create("float", m * k, "a"), b = device.create("float", n * k, "b");
    const out = device.create("float", m * n, "out");
    device.run("fill", { out: a, n: m * k, value: 0.5 });
    device.run("fill", { out: b, n: n * k, value: 0.25 });
    const ms = await time(
      device,
      budget,
      out,
      () => device.run("matmul", { a, b, out, m, n, k, transB: true }),
    );
    rows.push({ what, m, n, k, ms, tflops: 2 * m * n * k / ms / 1e9 });
    for (const tensor of [a, b, out]) device.free(tensor);
  }
  return rows;
}

/**
 * Products with a weight in float32 and in every storage type: x·Wᵀ for each number of rows, and
 * dy·W for the largest one. `gb_per_s` counts the bytes of the weight alone.
 */
async function stored(device: WebgpuDevice, { stored: { n, k, rows }, budget }: Sizes) {
  const found: Record<string, string | number>[] = [], maxRows = Math.max(...rows);
  const x = device.create("float", maxRows * k, "x"), y = device.create("float", maxRows * n, "y");
  device.run("fill", { out: x, n: maxRows * k, value: 0.5 });
  for (const type of ["f32", ...WEIGHT_TYPES] as const) {
    const weightType = type === "f32" ? {} : { weightType: type };
    const b = createWeight(device, type, n, k), bytes = 4 * b.length;
    const add = async (what: string, m: number, call: () => void, out: Tensor) => {
      const ms = await time(device, budget / 4, out, call);
      const tflops = 2 * m * n * k / ms / 1e9;
      found.push({ type, what, m, n, k, ms, tflops, gb_per_s: bytes / ms / 1e6 });
    };
    for (const m of rows) {
      const call = { a: x, b, out: y, m, n, k, transB: true, ...weightType };
      await add("x·Wᵀ", m, () => device.run("matmul", call), y);
    }
    const back = { a: y, b, out: x, m: maxRows, n: k, k: n, ...weightType };
    await add("dy·W", maxRows, () => device.run("matmul", back), x);
    device.free(b);
  }
  for (const tensor of [x, y]) device.free(tensor);
  return found;
}

function createWeight(device: Device, type: WeightType | "f32", n: number, k: number): Tensor {
  return type === "f32"
    ? device.create("float", n * k, "weight")
    : device.create("u32", storedWords(type, n, k), "weight");
}

async function memory(device: WebgpuDevice, { block, rows, model, budget }: Sizes) {
  const make = (length: number) => device.create("float", length, "block");
  const gbytes = (bytes: number, ms: number) => bytes / ms / 1e6;
  const from = make(block), to = make(block);
  const copy = gbytes(
    8 * block,
    await time(device, budget, to, () => device.run("copy", { src: from, out: to, n: block })),
  );
  const found: Record<string, { gb_per_s: number; of_copy: number }> = {
    copy: { gb_per_s: copy, of_copy: 1 },
  };
  const add = (name: string, bytes: number, ms: number) => {
    const rate = gbytes(bytes, ms);
    found[name] = { gb_per_s: rate, of_copy: rate / copy };
  };
  const d = model.hiddenSize, weight = make(d), rho = make(rows);
  const x = make(rows * d), normed = make(rows * d);
  const norm = { x, weight, out: normed, rho, rows, d, eps: 1e-6 };
  add("rmsnorm", 8 * rows * d, await time(device, budget, rho, () => device.run("rmsnorm", norm)));
  const moments = [make(block), make(block)] as const;
  const adamw = {
    param: from,
    grad: to,
    m: moments[0],
    v: moments[1],
    n: block,
    lr: 1e-6,
    beta1: 0.9,
    beta2: 0.999,
    eps: 1e-8,
    weightDecay: 0,
    correction1: 0.1,
    correction2: 0.001,
    gradScale: 1,
  };
  // AdamW reads and writes three blocks, and reads the gradients.
  add("adamw", 28 * block, await time(device, budget, from, () => device.run("adamw", adamw)));
  const k = model.intermediateSize, n = Math.floor(block / k);
  const row = make(k), out = make(n);
  const gemv = { a: row, b: from, out, m: 1, n, k, transB: true };
  add("decode GEMV", 4 * n * k, await time(device, budget, out, () => device.run("matmul", gemv)));
  for (const tensor of [from, to, weight, rho, x, normed, ...moments, row, out]) {
    device.free(tensor);
  }
  return found;
}

/** Weights that repeat one block of small numbers, because drawing all of them would take long. */
function randomWeights(config: ModelConfig): Map<string, Float32Array> {
  const noise = Float32Array.from(
    { length: 65_537 },
    (_, i) => 0.04 * (((i * 2_654_435_761) % 4096) / 4096 - 0.5),
  );
  const weights = new Map<string, Float32Array>();
  for (const { name, shape, decay } of modelTensors(config)) {
    const data = new Float32Array(elementCount(shape));
    if (!decay) data.fill(1);
    else {
      for (let at = 0; at < data.length; at += noise.length) {
        data.set(noise.subarray(0, Math.min(noise.length, data.length - at)), at);
      }
    }
    weights.set(name, data);
  }
  return weights;
}

/** Measures the time on the host in calls of the device. The result returns and resets the sum. */
function hostTime(device: Device): () => number {
  let spent = 0;
  const run = device.run.bind(device), write = device.write.bind(device);
  const clocked = <A extends unknown[]>(call: (...args: A) => void) => (...args: A) => {
    const start = performance.now();
    call(...args);
    spent += performance.now() - start;
  };
  device.run = clocked(run) as Device["run"];
  device.write = clocked(write);
  return () => {
    const result = spent;
    spent = 0;
    return result;
  };
}

async function decode(
  device: WebgpuDevice,
  { model: config, branches, newTokens }: Sizes,
  weights: StorageOptions = {},
) {
  const model = await CausalLM.create(device, config, randomWeights(config), {
    ...{ trainable: "none", weights },
  });
  const promptIds = Array.from({ length: 64 }, (_, i) => i % config.vocabSize);
  const host = hostTime(device), rows = [];
  for (const n of branches) {
    let seconds = 0;
    const run = (tokens: number) =>
      model.generate([{ promptId: 0, promptIds, n }], {
        maxNewTokens: tokens,
        temperature: 1,
        seed: 1,
        eosIds: [],
        onTiming: (wave) => seconds = wave.decodeSeconds,
      });
    await run(17);
    host();
    const before = device.counters;
    await run(newTokens);
    const steps = newTokens - 1, after = device.counters;
    rows.push({
      branches: n,
      tokens_per_s: n * steps / seconds,
      ms_per_step: 1000 * seconds / steps,
      host_us_per_step: 1000 * host() / steps,
      dispatches_per_step: (after.dispatches - before.dispatches) / steps,
      submits: after.submits - before.submits,
    });
  }
  model.dispose();
  return rows;
}

async function step(device: WebgpuDevice, { model: config, step }: Sizes) {
  const model = await CausalLM.create(device, config, randomWeights(config), {
    trainable: "lora",
    lora: { r: 16, alpha: 32, targetModules: "all-linear" },
  });
  const bench = new BenchStep(device, model, { decode: (ids) => String.fromCharCode(...ids) });
  const promptIds = Array.from(
    { length: step.prompts },
    (_, p) =>
      Array.from({ length: step.promptTokens }, (_, i) => (31 * p + 7 * i) % config.vocabSize),
  );
  const shape = {
    promptIds,
    completions: step.completions,
    newTokens: step.newTokens,
    eosIds: [],
    repeatPrompt: false,
  };
  device.resetPeak();
  const times = [];
  for (let i = 0; i < 3; i++) times.push(await bench.run(shape));
  bench.dispose();
  const fastest = times.toSorted((a, b) => sum(a) - sum(b))[0]!;
  const phases = Object.fromEntries(
    Object.entries(fastest).map(([phase, ms]) => [phase, ms / 1000]),
  );
  return { ...step, seconds: sum(fastest) / 1000, phases, peak_gib: device.peakBytes / 2 ** 30 };
}

const sum = (times: Record<string, number>) => Object.values(times).reduce((a, b) => a + b, 0);

/** The same step in torch on the same card; null if Python or a package is missing. */
async function peerStep({ model, step }: Sizes): Promise<Record<string, unknown> | null> {
  const script = new URL("./peers/hf_grpo_step.py", import.meta.url).pathname;
  const shape = JSON.stringify({ model, ...step });
  try {
    const { success, stdout, stderr } = await new Deno.Command("python3", {
      args: [script, shape],
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (success) return JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
    console.error(new TextDecoder().decode(stderr).trim().split("\n").at(-1));
  } catch (error) {
    console.error(`the peer did not run: ${(error as Error).message}`);
  }
  return null;
}

if (import.meta.main) {
  const asked = Deno.args.filter((arg) => !arg.startsWith("--"));
  const wants = (part: string) => asked.length === 0 || asked.includes(part);
  const device = await createWebgpuDevice();
  const sizes = device.software ? SOFTWARE : CARD;
  const result: Record<string, unknown> = {
    adapter: device.adapter,
    deno: Deno.version.deno,
    meaningful: !device.software,
  };
  try {
    if (wants("products")) result["products"] = await products(device, sizes);
    if (wants("stored")) result["stored"] = await stored(device, sizes);
    if (wants("memory")) result["memory"] = await memory(device, sizes);
    if (wants("decode")) result["decode"] = await decode(device, sizes);
    if (wants("decode_nf4")) {
      result["decode_nf4"] = await decode(device, sizes, { quantize: "nf4", dtype: "bfloat16" });
    }
    if (wants("step")) {
      const ours = await step(device, sizes);
      const peer = Deno.args.includes("--no-peer") || device.software
        ? null
        : await peerStep(sizes);
      const seconds = peer?.["seconds"];
      result["step"] = ours;
      result["peer"] = peer;
      if (typeof seconds === "number") result["times_as_fast_as_peer"] = seconds / ours.seconds;
    }
  } finally {
    device.close();
  }
  console.log(JSON.stringify(result, null, 1));
}
