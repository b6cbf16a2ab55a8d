/**
 * Speed of products in bfloat16 on the CPU device, one thread, beside those in float32:
 *
 *     deno task bench:bf16
 *
 * A column is GFLOP/s of the best of many runs: float32, every unit for bfloat16 that the processor
 * has, and the WASM kernels in bfloat16. Columns take turns. Times are CPU time of this process, so
 * other programs disturb them less.
 */
import process from "node:process";
import { builtInKernels, WasmDevice } from "../../devices/wasm/device.ts";
import type { NativeCode } from "../../native/kernels.ts";
import { nativeLibraries } from "../../native/library.ts";
import type { MatmulArgs } from "./spec.ts";

type Shape = Pick<MatmulArgs, "m" | "n" | "k" | "transA" | "transB">;

/** Products of SmolLM2-135M with 2304 rows, of an adapter, of a small model, and of decoding. */
const SHAPES: readonly Shape[] = [
  { m: 2304, n: 576, k: 576, transB: true },
  { m: 2304, n: 1536, k: 576, transB: true },
  { m: 2304, n: 576, k: 1536, transB: true },
  { m: 2304, n: 576, k: 1536 },
  { m: 1536, n: 576, k: 2304, transA: true },
  { m: 1024, n: 1024, k: 576, transB: true },
  { m: 2304, n: 16, k: 576, transB: true },
  { m: 2304, n: 384, k: 128, transB: true },
  { m: 16, n: 1536, k: 576, transB: true },
];

/** A time is that of so many multiply-adds at least, because the clock is coarse. */
const WORK = 2e8;
const SECONDS = 3;

function cpuMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A call of a product on a device. */
function product(device: WasmDevice, shape: Shape): () => void {
  const { m, n, k } = shape;
  const tensor = (length: number) => {
    const made = device.create("float", length, "operand");
    device.write(made, new Float32Array(length).map((_, i) => (i % 13) / 13 - 0.4));
    return made;
  };
  const args = { ...shape, a: tensor(m * k), b: tensor(k * n), out: tensor(m * n) };
  return () => device.run("matmul", args);
}

/** GFLOP/s of each call. */
function measure(calls: readonly (() => void)[], { m, n, k }: Shape): number[] {
  const runs = Math.max(1, Math.round(WORK / (m * n * k))), best = calls.map(() => Infinity);
  for (const end = performance.now() + 1000 * SECONDS; performance.now() < end;) {
    calls.forEach((call, i) => {
      const start = cpuMilliseconds();
      for (let run = 0; run < runs; run++) call();
      best[i] = Math.min(best[i]!, (cpuMilliseconds() - start) / runs);
    });
  }
  return best.map((ms) => 2 * m * n * k / ms / 1e6);
}

if (import.meta.main) {
  const builtIn = await builtInKernels();
  const code = nativeLibraries().codes[0] ?? null;
  const units = code?.bf16 === "amx" ? ["amx", "avx512"] as const : [code?.bf16 ?? null];
  const columns: [name: string, code: NativeCode | null, isBf16: boolean][] = [
    ["float32", code, false],
    ...units.flatMap((bf16): [string, NativeCode, boolean][] =>
      code === null || bf16 === null ? [] : [[bf16, { ...code, bf16 }, true]]
    ),
    ["wasm", null, true],
  ];
  const devices = columns.map(([text, code, isBf16]) => {
    const device = new WasmDevice(builtIn, 1, { code, text, bf16Text: text });
    if (isBf16) device.computeDtype = "bfloat16";
    return device;
  });
  console.log("GFLOP/s, one thread".padEnd(32), ...columns.map(([name]) => name.padStart(8)));
  for (const shape of SHAPES) {
    const { m, n, k, transA, transB } = shape, layout = transA ? "dyᵀ·x" : transB ? "x·Wᵀ" : "dy·W";
    const speeds = measure(devices.map((device) => product(device, shape)), shape);
    console.log(
      `${layout} ${m}×${n}×${k}`.padEnd(32),
      ...speeds.map((speed) => speed.toFixed(0).padStart(8)),
    );
  }
  for (const device of devices) device.close();
}
