/**
 * Speed of the matrix product on the CPU device, for the shapes of training and generation:
 *
 *     deno task bench:matmul [part of a shape's name]
 *
 * The best of many runs, with one and with two threads. The last column is the speed with one
 * thread relative to that of the register tile alone on packed panels in the first-level cache,
 * which is the practical peak of the machine.
 */
import { createWasmDevice, type WasmDevice } from "../../devices/wasm/device.ts";

interface Shape {
  name: string;
  m: number;
  n: number;
  k: number;
  transA?: boolean;
  transB?: boolean;
}

const xWt = (m: number, n: number, k: number): Shape => ({ name: "x·Wᵀ", m, n, k, transB: true });
const dyW = (m: number, n: number, k: number): Shape => ({ name: "dy·W", m, n, k });
const dytX = (m: number, n: number, k: number): Shape => ({ name: "dyᵀ·x", m, n, k, transA: true });

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

/**
 * Milliseconds of the fastest of many runs of each call; the calls take turns for half a second.
 */
function fastest(calls: readonly (() => void)[], flops: number): number[] {
  const inner = Math.max(1, Math.round(2e7 / flops));
  const until = performance.now() + 500;
  const best = calls.map(() => Infinity);
  while (performance.now() < until) {
    calls.forEach((call, c) => {
      const start = performance.now();
      for (let i = 0; i < inner; i++) call();
      best[c] = Math.min(best[c]!, (performance.now() - start) / inner);
    });
  }
  return best;
}

/** GFLOP/s of the product on each device. */
function measure(devices: readonly WasmDevice[], shape: Shape): number[] {
  const { m, n, k } = shape, flops = 2 * m * n * k;
  const products = devices.map((device) => product(device, shape));
  const ms = fastest(products.map(({ run }) => run), flops);
  for (const { free } of products) free();
  return ms.map((t) => flops / t / 1e6);
}

function product(device: WasmDevice, { m, n, k, transA, transB }: Shape) {
  const a = device.create("float", m * k, "a");
  const b = device.create("float", k * n, "b");
  const out = device.create("float", m * n, "out");
  device.write(a, new Float32Array(m * k).map((_, i) => (i % 13) / 13 - 0.4));
  device.write(b, new Float32Array(k * n).map((_, i) => (i % 11) / 11 - 0.4));
  const args = { a, b, out, m, n, k, transA: transA ?? false, transB: transB ?? false };
  return {
    run: () => device.run("matmul", args),
    free: () => [a, b, out].forEach((tensor) => device.free(tensor)),
  };
}

/** GFLOP/s of the 6×16 tile with operands in the first-level cache. */
function tilePeak(device: WasmDevice): number {
  const k = 192;
  const tiles = 8;
  const memory = device.create("float", (6 + 16) * k + 96 * tiles, "tile");
  const s = device.pointer(memory);
  const v = s + 4 * 6 * k;
  const c = v + 4 * 16 * k;
  // All rows of S have the same address (step 0), which keeps S small.
  const sizes = { rows: 6 * tiles, columns: 16, k, kBlock: k, blockTiles: tiles };
  const broadcast = { s, sStep: 0, sLayout: 0, swapped: false };
  const lanes = { vDirect: v, vDirectStep: 64, directPanels: 1, vPacked: 0 };
  const out = { out: c, outStep: 64, alpha: 1, accumulate: false };
  const args = { ...sizes, ...broadcast, ...lanes, ...out };
  const job = { kernel: "matmul_blocks", units: 1, grain: 1, args };
  const flops = 2 * 96 * tiles * k;
  const [ms] = fastest([() => device.parallel(job)], flops);
  device.free(memory);
  return flops / ms! / 1e6;
}

if (import.meta.main) {
  const one = await createWasmDevice({ threads: 1 });
  const two = await createWasmDevice({ threads: 2 });
  await two.ready();
  const peak = tilePeak(one);
  console.log(`register tile alone: ${peak.toFixed(1)} GFLOP/s`);
  console.log("shape                          1 thread  2 threads  speed-up  of peak");
  const wanted = Deno.args[0] ?? "";
  for (const shape of SHAPES) {
    const name = `${shape.name} m=${shape.m} n=${shape.n} k=${shape.k}`;
    if (!name.includes(wanted)) continue;
    const [single, double] = measure([one, two], shape);
    console.log(
      name.padEnd(30),
      single!.toFixed(1).padStart(8),
      double!.toFixed(1).padStart(10),
      (double! / single!).toFixed(2).padStart(9),
      `${(100 * single! / peak).toFixed(0)} %`.padStart(8),
    );
  }
  one.close();
  two.close();
}
