/**
 * Speed of the matrix product on the CPU device, for the shapes of training and generation:
 *
 *     deno task bench:matmul [part of a shape's name] [--weights q4_1,bf16] [--targets] [--bf16]
 *
 * A column is GFLOP/s of the best of many runs; columns take turns. They are one thread and two
 * (with the speed of one thread relative to that of the register tile alone on packed panels in the
 * first-level cache, which is the practical peak). `--targets`: one thread of each target of the
 * processor, WebAssembly among them. `--bf16`: float32, and each unit for bfloat16. `--weights`:
 * the weights of SmolLM2-135M in these storage types, times 1 to 256 rows; blocks of 256 make 576
 * wide rows 768. One thread is measured by the processor's time, which other programs disturb less.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { builtInKernels, createWasmDevice, WasmDevice } from "../../devices/wasm/device.ts";
import type { NativeCode } from "../../native/kernels.ts";
import { nativeLibraries } from "../../native/library.ts";
import { stream } from "../../testing.ts";
import { randomStored } from "../../weights/random_stored.ts";
import { blockOf, type WeightType } from "../../weights/types.ts";
import type { MatmulArgs } from "./spec.ts";

type Shape = Pick<MatmulArgs, "m" | "n" | "k" | "transA" | "transB" | "weightType">;

const xWt = (m: number, n: number, k: number): Shape => ({ m, n, k, transB: true });
const dyW = (m: number, n: number, k: number): Shape => ({ m, n, k });
const dytX = (m: number, n: number, k: number): Shape => ({ m, n, k, transA: true });

const SHAPES: Shape[] = [
  xWt(256, 1536, 576),
  xWt(1024, 1024, 1024),
  dyW(1024, 1024, 1024),
  dytX(1024, 1024, 1024),
  ...[8, 16, 24, 32, 64, 192].flatMap((m) => [xWt(m, 128, 128), xWt(m, 384, 128)]),
  ...[8, 64, 192].flatMap((m) => [xWt(m, 96, 96), xWt(m, 2048, 128)]),
  xWt(1, 2048, 128),
  xWt(1, 1536, 576),
  xWt(4, 1536, 576),
  ...[128, 384, 2048].flatMap((n) => [xWt(2304, n, 128), dyW(2304, 128, n)]),
  dytX(128, 128, 2304),
  dytX(384, 128, 2304),
  xWt(2304, 16, 128),
  xWt(2304, 128, 16),
  dyW(2304, 16, 128),
  dytX(16, 128, 2304),
];

/** A measurement lasts for so many multiply-adds at least, because the clock is coarse. */
const WORK = 1e7;

/** Shapes with a stored weight; dx = dy·W only where there are many rows. */
function storedShapes(weightType: WeightType): Shape[] {
  const block = blockOf(weightType), whole = (n: number) => Math.ceil(n / block) * block;
  return [1, 2, 4, 16, 256].flatMap((m) =>
    [[576, 576], [1536, 576], [576, 1536]].flatMap(([n, k]) => [
      { ...xWt(m, n!, whole(k!)), weightType },
      ...(m < 256 ? [] : [{ ...dyW(m, whole(n!), k!), weightType }]),
    ])
  );
}

function nameOf({ m, n, k, transA, transB, weightType }: Shape): string {
  const layout = transA ? "dyᵀ·x" : transB ? "x·Wᵀ" : "dy·W";
  return `${layout} m=${m} n=${n} k=${k}${weightType === undefined ? "" : ` ${weightType}`}`;
}

/** Milliseconds: of this process's threads on one thread, else of the clock. */
function clock({ threads }: WasmDevice): number {
  if (threads > 1) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

interface Call {
  device: WasmDevice;
  run: () => void;
}

/** Milliseconds of the fastest of many runs of each call; the calls take turns for a while. */
function fastest(calls: readonly Call[], multiplyAdds: number): number[] {
  const inner = Math.max(1, Math.round(WORK / multiplyAdds)), best = calls.map(() => Infinity);
  for (const until = performance.now() + 500; performance.now() < until;) {
    calls.forEach(({ device, run }, c) => {
      const start = clock(device);
      for (let i = 0; i < inner; i++) run();
      best[c] = Math.min(best[c]!, (clock(device) - start) / inner);
    });
  }
  return best;
}

/** GFLOP/s of the product on each device. */
function measure(devices: readonly WasmDevice[], shape: Shape): number[] {
  const { m, n, k, weightType } = shape;
  const products = devices.map((device) => {
    const made = (length: number) => {
      const tensor = device.create("float", length, "operand");
      device.write(tensor, new Float32Array(length).map((_, i) => (i % 13) / 13 - 0.4));
      return tensor;
    };
    const stored = (type: WeightType) => {
      const [rows, width] = shape.transB ? [n, k] : [k, n];
      const words = randomStored(stream("bench"), type, rows, width);
      const tensor = device.create("u32", words.length, "operand");
      device.write(tensor, words);
      return tensor;
    };
    const b = weightType === undefined ? made(k * n) : stored(weightType);
    const tensors = { a: made(m * k), b, out: made(m * n) };
    return { device, tensors, run: () => device.run("matmul", { ...shape, ...tensors }) };
  });
  const ms = fastest(products, m * n * k);
  for (const { device, tensors } of products) Object.values(tensors).forEach((x) => device.free(x));
  return ms.map((t) => 2 * m * n * k / t / 1e6);
}

/** GFLOP/s of the 6×16 tile with operands in the first-level cache. */
function tilePeak(device: WasmDevice): number {
  const k = 192, tiles = 8, memory = device.create("float", (6 + 16) * k + 96 * tiles, "tile");
  const s = device.pointer(memory), v = s + 4 * 6 * k;
  // All rows of S have the same address (step 0), which keeps S small.
  const sizes = { rows: 6 * tiles, columns: 16, k, kBlock: k, blockTiles: tiles };
  const broadcast = { s, sStep: 0, sLayout: 0, swapped: false };
  const lanes = { vDirect: v, vDirectStep: 64, directPanels: 1, vPacked: 0 };
  const out = { out: v + 4 * 16 * k, outStep: 64, alpha: 1, accumulate: false };
  const args = { ...sizes, ...broadcast, ...lanes, ...out };
  const job = { kernel: "matmul_blocks", units: 1, grain: 1, args } as const;
  const [ms] = fastest([{ device, run: () => device.parallel(job) }], k * 96 * tiles);
  device.free(memory);
  return 2 * k * 96 * tiles / ms! / 1e6;
}

/** Devices of one thread by the names of their columns. */
async function devicesOf(isBf16: boolean): Promise<[string, WasmDevice][]> {
  const builtIn = await builtInKernels(), { codes } = nativeLibraries();
  const open = (text: string, code: NativeCode | null, rounds: boolean): [string, WasmDevice] => {
    const device = new WasmDevice(builtIn, 1, { code, text, bf16Text: text });
    if (rounds) device.computeDtype = "bfloat16";
    return [text, device];
  };
  if (!isBf16) return [null, ...codes].map((code) => open(code?.target ?? "wasm", code, false));
  const code = codes[0] ?? null;
  const units = code?.bf16 === "amx" ? ["amx", "avx512"] as const : [code?.bf16 ?? null];
  return [
    open("float32", code, false),
    ...units.flatMap((bf16) =>
      code === null || bf16 === null ? [] : [open(bf16, { ...code, bf16 }, true)]
    ),
    open("wasm", null, true),
  ];
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      weights: { type: "string" },
      targets: { type: "boolean", default: false },
      bf16: { type: "boolean", default: false },
    },
  });
  const byThreads = !values.targets && !values.bf16;
  const columns: [string, WasmDevice][] = byThreads
    ? [
      ["1 thread", await createWasmDevice({ threads: 1 })],
      ["2 threads", await createWasmDevice({ threads: 2 })],
    ]
    : await devicesOf(values.bf16);
  const devices = columns.map(([, device]) => device);
  if (byThreads) await devices[1]!.ready();
  const peak = tilePeak(devices[0]!);
  console.log(`register tile alone: ${peak.toFixed(1)} GFLOP/s`);
  const heads = [...columns.map(([name]) => name), ...(byThreads ? ["speed-up", "of peak"] : [])];
  console.log("shape".padEnd(34), ...heads.map((name) => name.padStart(9)));
  const types = values.weights?.split(",") as WeightType[] | undefined;
  for (const shape of types?.flatMap(storedShapes) ?? SHAPES) {
    if (!nameOf(shape).includes(positionals[0] ?? "")) continue;
    const speeds = measure(devices, shape), cells = speeds.map((speed) => speed.toFixed(1));
    if (byThreads) {
      cells.push((speeds[1]! / speeds[0]!).toFixed(2), `${(100 * speeds[0]! / peak).toFixed(0)} %`);
    }
    console.log(nameOf(shape).padEnd(34), ...cells.map((cell) => cell.padStart(9)));
  }
  for (const device of devices) device.close();
}
