/**
 * `deno task bench:operations`: the time of each operation in a GRPO step beside its bound, on the
 * CPU device with one thread.
 *
 *     deno task bench:operations [--large] [--rounds 5]
 *
 * The bound of a call is the longer of two times: its products at the speed of the fastest product,
 * and its bytes (each once) at the speed of a copy of as many bytes, both measured here. `--large`
 * adds SmolLM2-135M. Times are of the clock, the fastest of all rounds, so the machine should be
 * idle.
 */
import { parseArgs } from "node:util";
import { createWasmDevice, type WasmDevice } from "../kernels/devices/wasm/device.ts";
import type { OpName } from "../kernels/ops/ops.ts";
import { CausalLM } from "../models/causal_lm.ts";
import { readModelFolder } from "../models/model_folder.ts";
import { BenchStep, quickstartStep, type StepShape } from "../training/grpo_step_bench.ts";
import { largeModel } from "../tests/large_model.ts";
import { type Work, workOf } from "./operations/work.ts";
import { table } from "./performance_page.ts";

/** Bytes of the copies that are measured: from a core's own cache to the memory. */
const COPIES = [2 ** 14, 2 ** 16, 2 ** 18, 2 ** 20, 2 ** 22, 2 ** 24, 2 ** 26, 2 ** 28];
/** Size of the square product that is measured. */
const PRODUCT = 768;
/** Milliseconds that each of these is measured for, and the minimum number of runs. */
const MEASURE_MS = 150, MIN_RUNS = 5;
/** Operations with a smaller share of the time share one row. */
const MIN_SHARE = 0.005;

/** The fastest of many runs, in milliseconds. */
function fastest(run: () => void): number {
  const begin = performance.now();
  let best = Infinity;
  for (let i = 0; i < MIN_RUNS || performance.now() - begin < MEASURE_MS; i++) {
    const start = performance.now();
    run();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

interface Speeds {
  /** Floating point operations per millisecond. */
  arithmetic: number;
  /** The speed of a copy of so many bytes, in bytes per millisecond. */
  copy(bytes: number): number;
}

function measureSpeeds(device: WasmDevice): Speeds {
  const n = PRODUCT, create = (length: number) => device.create("float", length, "bench");
  const [a, b, out] = [create(n * n), create(n * n), create(n * n)];
  const args = { a, b, out, m: n, n, k: n, transB: true };
  const product = fastest(() => device.run("matmul", args));
  for (const tensor of [a, b, out]) device.free(tensor);
  const rates = COPIES.map((bytes) => {
    const length = bytes / 8, from = create(length), to = create(length);
    // Several small copies, since the clock is coarse.
    const times = Math.max(1, Math.floor(2 ** 20 / bytes));
    const ms = fastest(() => {
      for (let i = 0; i < times; i++) device.run("copy", { src: from, out: to, n: length });
    });
    for (const tensor of [from, to]) device.free(tensor);
    return bytes * times / ms;
  });
  return {
    arithmetic: 2 * n ** 3 / product,
    copy: (bytes) => rates[Math.max(0, COPIES.findLastIndex((size) => size <= bytes))]!,
  };
}

interface Total extends Work {
  calls: number;
  ms: number;
  bound: number;
  /** The part of the bound that is arithmetic. */
  arithmetic: number;
}

/** The totals of each operation in one step. */
async function oneStep(
  device: WasmDevice,
  speeds: Speeds,
  work: () => Promise<unknown>,
): Promise<Map<OpName, Total>> {
  const totals = new Map<OpName, Total>(), run = device.run, record = device.record;
  Object.assign(device, { record: undefined }); // recorded operations would not be measured
  device.run = (op, args) => {
    const { flops, bytes } = workOf(op, args, (tensor) => device.u32(tensor));
    const start = performance.now();
    run.call(device, op, args);
    const ms = performance.now() - start;
    const arithmetic = flops / speeds.arithmetic, memory = bytes / speeds.copy(bytes);
    const total = totals.get(op) ??
      { calls: 0, ms: 0, flops: 0, bytes: 0, bound: 0, arithmetic: 0 };
    totals.set(op, {
      calls: total.calls + 1,
      ms: total.ms + ms,
      flops: total.flops + flops,
      bytes: total.bytes + bytes,
      bound: total.bound + Math.max(arithmetic, memory),
      arithmetic: total.arithmetic + (arithmetic > memory ? arithmetic : 0),
    });
  };
  try {
    await work();
  } finally {
    Object.assign(device, { run, record });
  }
  return totals;
}

async function stepTable(
  device: WasmDevice,
  { step, shape }: { step: BenchStep; shape: StepShape },
  rounds: number,
): Promise<string> {
  const speeds = measureSpeeds(device);
  await step.run(shape);
  const best = new Map<OpName, Total>();
  for (let round = 0; round < rounds; round++) {
    for (const [op, total] of await oneStep(device, speeds, () => step.run(shape))) {
      const before = best.get(op);
      const ms = (one: Total) => one.ms / one.bound;
      if (before === undefined || ms(total) < ms(before)) best.set(op, total);
    }
  }
  const all = [...best].sort(([, a], [, b]) => b.ms - a.ms);
  const sum = (of: (total: Total) => number) => all.reduce((ms, [, total]) => ms + of(total), 0);
  const whole = sum(({ ms }) => ms);
  const shown = all.filter(([, { ms }]) => ms >= MIN_SHARE * whole);
  const rate = (amount: number, ms: number) => amount === 0 ? "–" : (amount / ms / 1e6).toFixed(1);
  const rows = shown.map(([op, { calls, ms, flops, bytes, bound, arithmetic }]) => [
    `\`${op}\``,
    `${calls}`,
    ms.toFixed(2),
    `${(100 * ms / whole).toFixed(1)} %`,
    rate(flops, ms),
    rate(bytes, ms),
    bound.toFixed(2),
    arithmetic > bound / 2 ? "products" : "memory",
    (ms / bound).toFixed(2),
  ]);
  rows.push([
    "all",
    "",
    whole.toFixed(1),
    "",
    "",
    "",
    sum(({ bound }) => bound).toFixed(1),
    "",
    (whole / sum(({ bound }) => bound)).toFixed(2),
  ]);
  const columns = [
    "operation",
    "calls",
    "ms",
    "share",
    "GFLOP/s",
    "GB/s",
    "bound, ms",
    "by",
    "of the bound",
  ];
  const gb = (bytes: number) => (speeds.copy(bytes) / 1e6).toFixed(0);
  return [
    `Fastest product: ${(speeds.arithmetic / 1e6).toFixed(0)} GFLOP/s. Copies: ${
      gb(2 ** 18)
    } GB/s ` +
    `with 256 KB, ${gb(2 ** 22)} with 4 MB, ${gb(2 ** 28)} with 256 MB.`,
    table(columns, rows),
  ].join("\n\n");
}

/** The step of SmolLM2. */
const LARGE_STEP = { promptTokens: 64, completions: 8, newTokens: 16, rank: 16 } as const;

/** A small GRPO step of SmolLM2-135M. @param path the GGUF file */
async function largeStep(
  path: string,
  device: WasmDevice,
): Promise<{ step: BenchStep; shape: StepShape }> {
  const { promptTokens, completions, newTokens, rank: r } = LARGE_STEP;
  const { config, files, tokenizer } = await readModelFolder(path);
  const model = await CausalLM.create(device, config, files, {
    trainable: "lora",
    lora: { r, alpha: 32, targetModules: "all-linear" },
  });
  const promptIds = [Array.from({ length: promptTokens }, (_, i) => 100 + 7 * i)];
  const shape = { promptIds, completions, newTokens, eosIds: [] };
  return { step: new BenchStep(device, model, tokenizer!), shape };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      large: { type: "boolean", default: false },
      rounds: { type: "string", default: "5" },
    },
  });
  const rounds = Number(values.rounds), before = Deno.loadavg()[0]!.toFixed(1);
  const model = values.large ? largeModel() : null;
  if (values.large && model === null) {
    console.error("no model: set RGX_TEST_LARGE=1, or name SmolLM2's file in RGX_TEST_MODEL");
    Deno.exit(2);
  }
  const device = await createWasmDevice({ threads: 1 });
  const parts = [
    "### A step of the quickstart",
    await stepTable(device, await quickstartStep(device), rounds),
  ];
  if (model !== null) {
    parts.push(
      "### A small step of SmolLM2-135M",
      await stepTable(device, await largeStep(model, device), rounds),
    );
  }
  const text = [
    "Written by `deno task bench:operations --large`: the time of each operation of a GRPO step on " +
    `one thread (${device.tiles}), in the fastest of ${rounds} steps. Beside it stands its bound, ` +
    "the longer of two times: that of its products at the speed of the fastest product, and that " +
    "of its bytes, each once, at the speed of a copy of that size. Work that is neither (the exponentials of a softmax or of " +
    `SwiGLU, norms) is not in the bound. The load before was ${before}.`,
    ...parts,
  ].join("\n\n");
  console.log(text);
  device.close();
}
