/**
 * Speed of products with stored weights on the CPU device, for the shapes of SmolLM2-135M:
 *
 *     deno task bench:stored [types, comma-separated] [rows, comma-separated]
 *
 * For every type and number of rows it prints: the time of all products of a forward pass (30
 * layers and the tied head) with weights in this type, GFLOP/s, GB/s of storage that is read, and
 * the tokens per second that this allows. For many rows the head is left out (a prompt needs one
 * row of logits), and dx = dy·W is measured, too. Each is the best of several passes. Rows of 576
 * become 768 for types with blocks of 256. With one thread, times are CPU time instead of
 * wall-clock time.
 */
import process from "node:process";
import { stream } from "../../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../../devices/wasm/device.ts";
import { randomStored } from "../../../weights/random_stored.ts";
import { blockOf, WEIGHT_TYPES, type WeightType } from "../../../weights/types.ts";

/** [n, k] of a layer's weights, and of the head. */
const LAYER: readonly [number, number][] = [
  [576, 576],
  [192, 576],
  [192, 576],
  [576, 576],
  [1536, 576],
  [1536, 576],
  [
    576,
    1536,
  ],
];
const HEAD: [number, number] = [49_152, 576];
const LAYERS = 30;
/** With at least this many rows the head is left out. */
const PROMPT = 64;
/** Number of calls that are timed together. */
const RUNS = 3;

type Kind = WeightType | "f32";

/** The weights of one kind: those of a layer, and the head. */
function weights(device: WasmDevice, kind: Kind) {
  const random = stream("bench");
  const block = kind === "f32" ? 1 : blockOf(kind);
  return [...LAYER, HEAD].map(([n, width]) => {
    const k = Math.ceil(width / block) * block;
    if (kind === "f32") {
      const b = device.create("float", n * k, "w");
      device.write(b, new Float32Array(n * k).map((_, i) => (i % 11) / 11 - 0.4));
      return { b, n, k };
    }
    // Rows repeat, because random blocks for the whole head would take longer than the measurement.
    const part = randomStored(random, kind, 64, k);
    const b = device.create("u32", part.length * n / 64, "w");
    for (let at = 0; at < b.length; at += part.length) device.write(b, part, at);
    return { b, n, k, weightType: kind };
  });
}

/** Milliseconds of wall-clock time, or of CPU time of this process. */
function clock(ofProcess: boolean): number {
  if (!ofProcess) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of the fastest of several runs within a second. */
function fastest(call: () => void, ofProcess: boolean): number {
  call();
  let best = Infinity;
  const until = performance.now() + 1000;
  do {
    const start = clock(ofProcess);
    for (let i = 0; i < RUNS; i++) call();
    best = Math.min(best, (clock(ofProcess) - start) / RUNS);
  } while (performance.now() < until);
  return best;
}

interface Measured {
  ms: number;
  flops: number;
  bytes: number;
}

/** All products of a forward pass with m rows; with `backward` dx = dy·W instead. */
function measure(device: WasmDevice, kind: Kind, m: number, backward: boolean): Measured {
  const all = weights(device, kind);
  const total: Measured = { ms: 0, flops: 0, bytes: 0 };
  const layers = m >= PROMPT ? all.slice(0, -1) : all;
  for (const { n, k, ...weight } of layers) {
    const a = device.create("float", m * Math.max(n, k), "a");
    const out = device.create("float", m * Math.max(n, k), "out");
    device.write(a, new Float32Array(m * Math.max(n, k)).map((_, i) => (i % 13) / 13 - 0.4));
    const args = backward
      ? { a, ...weight, out, m, n: k, k: n }
      : { a, ...weight, out, m, n, k, transB: true };
    const times = n === HEAD[0] ? 1 : LAYERS;
    total.ms += times * fastest(() => device.run("matmul", args), device.threads === 1);
    total.flops += times * 2 * m * n * k;
    total.bytes += times * 4 * weight.b.length;
    device.free(a);
    device.free(out);
  }
  for (const { b } of all) device.free(b);
  return total;
}

function line(kind: Kind, m: number, what: string, threads: number, found: Measured): string {
  const { ms, flops, bytes } = found;
  return [
    kind.padEnd(5),
    String(m).padStart(4),
    what.padEnd(6),
    String(threads).padStart(2),
    ms.toFixed(1).padStart(9),
    (flops / ms / 1e6).toFixed(1).padStart(8),
    (bytes / ms / 1e6).toFixed(1).padStart(7),
    (1000 * m / ms).toFixed(0).padStart(9),
  ].join(" ");
}

if (import.meta.main) {
  const kinds = Deno.args[0]?.split(",") ?? ["f32", ...WEIGHT_TYPES];
  const rows = Deno.args[1]?.split(",").map(Number) ?? [1, 2, 4, 16, 512];
  const devices = [await createWasmDevice({ threads: 1 }), await createWasmDevice({ threads: 2 })];
  await devices[1]!.ready();
  console.log("type  rows       threads   ms   GFLOP/s    GB/s  tokens/s");
  for (const kind of kinds as Kind[]) {
    for (const m of rows) {
      for (const device of devices) {
        console.log(line(kind, m, "x·Wᵀ", device.threads, measure(device, kind, m, false)));
        if (m < PROMPT) continue;
        console.log(line(kind, m, "dy·W", device.threads, measure(device, kind, m, true)));
      }
    }
  }
  for (const device of devices) device.close();
}
