/**
 * `rgx doctor`: what this machine offers and what to fix. Measures each device with one matrix product
 * shape for about a second; says nothing about other machines.
 */
import { availableBytes } from "../core/memory.ts";
import { EXIT } from "../core/errors.ts";
import { VERSION } from "../core/version.ts";
import { createDevice } from "../kernels/mod.ts";
import type { Device } from "../kernels/device.ts";
import { print, table } from "./terminal.ts";

interface DeviceReport {
  name: string;
  threads: number;
  gflops: number;
}

interface AdapterReport {
  description: string;
  vendor: string;
  fallback: boolean;
  maxBufferBytes: number;
  features: string[];
}

/** GFLOP/s of x[256, 576]·Wᵀ[576, 1536] on a device: the median of runs that together last ≤ 1 s. */
async function measure(device: Device): Promise<number> {
  const [m, k, n] = device.name === "reference" ? [32, 144, 192] : [256, 576, 1536];
  const a = device.create("float", m * k, "doctor.a");
  const b = device.create("float", n * k, "doctor.b");
  const out = device.create("float", m * n, "doctor.out");
  device.write(a, new Float32Array(m * k).fill(0.5));
  device.write(b, new Float32Array(n * k).fill(0.25));
  const times: number[] = [];
  const begin = performance.now();
  while (performance.now() - begin < 1000) {
    const start = performance.now();
    device.run("matmul", { a, b, out, m, n, k, transB: true });
    await device.read(out, 0, 1);
    times.push(performance.now() - start);
  }
  // The first half warms the compiler up.
  const late = times.slice(times.length >> 1).sort((x, y) => x - y);
  for (const tensor of [a, b, out]) device.free(tensor);
  return 2 * m * k * n / late[late.length >> 1]! / 1e6;
}

async function adapter(): Promise<AdapterReport | null> {
  const found = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!found) return null;
  return {
    description: found.info.description || found.info.device,
    vendor: found.info.vendor,
    fallback: found.info.isFallbackAdapter,
    maxBufferBytes: found.limits.maxBufferSize,
    features: [...found.features].sort(),
  };
}

export async function doctor(options: { json?: boolean }): Promise<number> {
  const devices: DeviceReport[] = [];
  for (const [name, threads] of [["reference", 1], ["wasm", 1], ["wasm", undefined]] as const) {
    const device = await createDevice(name, threads === undefined ? {} : { threads });
    if (threads === undefined && device.threads === 1) {
      device.close();
      continue;
    }
    devices.push({ name, threads: device.threads, gflops: await measure(device) });
    device.close();
  }
  const memory = await availableBytes();
  const gpu = await adapter();
  const advice: string[] = [];
  const oneThread = devices.find((d) => d.name === "wasm" && d.threads === 1)!;
  if (oneThread.gflops < 60) {
    advice.push(
      "the wasm device is slow: start through `deno task rgx` or the executable built by `deno task compile`, which set the V8 flags that double its speed (or the machine is busy)",
    );
  }
  if (memory < 2 * 2 ** 30) advice.push("less than 2 GiB of memory are free: only tiny models fit");
  const report = {
    rgx: VERSION,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    os: `${Deno.build.os} ${Deno.build.arch} ${Deno.osRelease()}`,
    executable: Deno.build.standalone,
    threads: navigator.hardwareConcurrency,
    available_memory_bytes: memory,
    devices,
    gpu_adapter: gpu,
    advice,
  };
  if (options.json) {
    print(JSON.stringify(report));
    return EXIT.ok;
  }
  print(table([
    ["rgx", `${VERSION} (deno ${report.deno}, v8 ${report.v8})`],
    ["system", report.os],
    ["processors", `${report.threads} threads`],
    ["free memory", `${(memory / 2 ** 30).toFixed(1)} GiB`],
    [
      "GPU adapter",
      gpu ? `${gpu.description}${gpu.fallback ? " (software)" : ""}, not used yet` : "none found",
    ],
  ]));
  print("");
  print(table([
    ["device", "threads", "f32 GFLOP/s"],
    ...devices.map((d) => [d.name, `${d.threads}`, d.gflops.toFixed(d.gflops < 10 ? 2 : 0)]),
  ]));
  print(advice.length === 0 ? "\nNothing to fix." : "");
  for (const line of advice) print(`fix: ${line}`);
  return EXIT.ok;
}
