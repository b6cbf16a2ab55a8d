/**
 * `rgx doctor`: what this machine offers and what to fix. Each device is measured for about a
 * second with one matrix product and one copy. Inside a job it also shows what SLURM granted
 * (`doctor_job.ts`); with a configuration, whether it fits (`doctor_fit.ts`).
 */
import { grantedCores } from "../../core/machine/cgroup.ts";
import { type MemoryRoom, memoryRoom } from "../../core/machine/memory.ts";
import {
  cpuTimes,
  type OtherWork,
  otherWork,
  otherWorkText,
} from "../../core/machine/other_work.ts";
import { EXIT, messageOf } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import {
  adapterLimits,
  describeAdapter,
  findAdapter,
  usableFeatures,
} from "../../kernels/devices/webgpu/adapter.ts";
import { type VulkanAdapter, vulkanAdapters } from "../../kernels/devices/vulkan/device.ts";
import { unitName } from "../../kernels/devices/webgpu/device_reports.ts";
import { listCards } from "../../kernels/devices/webgpu/cards.ts";
import { gpuAvailableBytes } from "../../kernels/devices/webgpu/gpu_memory.ts";
import { chooseCard, visibleCards } from "../../kernels/devices/webgpu/visible.ts";
import { missingForGpu } from "../../kernels/devices/webgpu/no_adapter.ts";
import { mapsAtOnce } from "../../kernels/devices/webgpu/quirks.ts";
import { type DeviceReport, measureDevices } from "./doctor_devices.ts";
import { fitReport, fitRows } from "./doctor_fit.ts";
import { jobAdvice, jobReport, jobRows } from "./doctor_job.ts";
import { paragraph, print, table } from "../terminal/terminal.ts";

/** Share of the processors above which the speed that is measured is that of a busy machine. */
const BUSY = 0.25;
/** Milliseconds for which the work of others is measured. */
const OTHERS_MS = 500;

interface AdapterReport {
  name: string;
  vendor: number;
  device: number;
  /** Whether the adapter is a CPU. */
  software: boolean;
  /** Free memory; null when it is not known. */
  available_bytes: number | null;
  limits: Record<string, number>;
  /** Features that kernels can use and that the adapter has. */
  features: string[];
  /** All features of the adapter. */
  listed_features: string[];
  /** Whether results are read back without a pause of 10 ms in this version of Deno. */
  fast_readback: boolean;
  /** Display controllers of this machine. --device webgpu:N selects one of several. */
  cards: string[];
}

async function adapterReport(): Promise<AdapterReport | null> {
  if (!chooseCard(null)) return null;
  const found = await findAdapter();
  if (found === null) return null;
  const info = describeAdapter(found);
  return {
    ...info,
    available_bytes: await gpuAvailableBytes(info),
    limits: adapterLimits(found),
    features: await usableFeatures(found),
    listed_features: [...found.features].sort(),
    fast_readback: mapsAtOnce(),
    cards: listCards().map(({ address, vendor, device }) => `${vendor}:${device} at ${address}`),
  };
}

interface VulkanReport {
  /** What --device vulkan can use, the default first. */
  adapters: VulkanAdapter[];
  /** Why there is nothing; null if there is. */
  missing: string | null;
}

function vulkanReport(): VulkanReport {
  try {
    return { adapters: vulkanAdapters(), missing: null };
  } catch (error) {
    return { adapters: [], missing: messageOf(error).split("\n")[0]! };
  }
}

const vulkanText = ({ name, driver, robust, matrixUnits, largestTensor }: VulkanAdapter) =>
  `${name}, driver ${driver}, products in bfloat16 by ${unitName(matrixUnits)}` +
  `, tensors of at most ${gib(largestTensor)}` +
  (robust ? "" : ", no robust access (kernels check indices)");

const gib = (bytes: number) =>
  bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;

function adapterRows(gpu: AdapterReport | null): string[][] {
  if (gpu === null) return [["GPU adapter", "none found"]];
  const { limits } = gpu;
  const free = gpu.available_bytes === null ? "" : `, ${gib(gpu.available_bytes)} free`;
  const largest = gib(limits["maxStorageBufferBindingSize"]!);
  return [
    ["GPU adapter", `${gpu.name}${gpu.software ? " (software)" : ""}${free}`],
    [
      "GPU limits",
      `buffers ${gib(limits["maxBufferSize"]!)}, bindings ${largest}, workgroups of ` +
      `${limits["maxComputeInvocationsPerWorkgroup"]} with ` +
      `${limits["maxComputeWorkgroupStorageSize"]! / 1024} KiB`,
    ],
    ["GPU features", gpu.features.join(", ") || "none of those that kernels can use"],
    ...(gpu.cards.length > 1
      ? [["GPU cards", gpu.cards.map((card, i) => `webgpu:${i} ${card}`).join("; ")]]
      : []),
  ];
}

function adviceFor(
  devices: readonly DeviceReport[],
  gpu: AdapterReport | null,
  memory: number,
  others: OtherWork | null,
): string[] {
  const advice: string[] = [];
  const oneThread = devices.find((d) => d.name === "wasm" && d.threads === 1)!;
  if ((others?.others ?? 0) > BUSY) {
    advice.push("other programs use this machine: alone, rgx is faster than measured here");
  } else if (oneThread.gflops < 60) {
    advice.push(
      Deno.build.standalone
        ? "the wasm device is slow: the machine is busy, or the executable was built by " +
          "`deno task compile:safe` (`deno task compile` sets the V8 flags that double the speed)"
        : "the wasm device is slow: start through `deno task rgx` or the executable built by " +
          "`deno task compile`, which set the V8 flags that double its speed " +
          "(or the machine is busy)",
    );
  }
  if (memory < 2 * 2 ** 30) advice.push("less than 2 GiB of memory are free: only tiny models fit");
  const { cards, by } = visibleCards();
  if (cards?.length === 0) advice.push(`every graphics card is hidden from this process: ${by}`);
  else if (gpu === null) { for (const missing of missingForGpu()) advice.push(missing); }
  else if (gpu.software) {
    advice.push("the GPU adapter is a CPU: --device auto takes wasm, which is far faster");
    if (listCards().length > 0) { for (const missing of missingForGpu()) advice.push(missing); }
  }
  if (gpu !== null && !gpu.fast_readback) {
    advice.push(
      `Deno ${Deno.version.deno} is not known to map buffers at once: ` +
        "every look at the GPU's results costs 10 ms more",
    );
  }
  return advice;
}

/** What others use of the processors while this process does nothing. */
async function measureOthers() {
  const before = cpuTimes();
  await new Promise((resolve) => setTimeout(resolve, OTHERS_MS));
  return otherWork(before, cpuTimes());
}

/** Returns the exit code: 1 when the configuration does not fit. */
export async function doctor(
  config: string | undefined,
  overrides: string[],
  options: { json?: boolean; device?: string },
): Promise<number> {
  const others = await measureOthers();
  const room = memoryRoom(); // before the measurements below take some
  const report = await examine(config, overrides, options.device, others, room);
  if (options.json) print(JSON.stringify(report));
  else printReport(report, others, room);
  return (report.fit?.misfits.length ?? 0) > 0 ? EXIT.failure : EXIT.ok;
}

/** What `--json` prints. */
type Report = Awaited<ReturnType<typeof examine>>;

async function examine(
  config: string | undefined,
  overrides: string[],
  device: string | undefined,
  others: OtherWork | null,
  room: MemoryRoom,
) {
  const fit = config === undefined ? null : await fitReport(config, overrides, device);
  const job = await jobReport();
  const gpu = await adapterReport(), isCard = gpu !== null && !gpu.software;
  const vulkan = vulkanReport();
  const { devices, tiles, bf16Unit } = await measureDevices(
    gpu !== null,
    gpu !== null && vulkan.adapters.length > 0,
  );
  return {
    rgx: VERSION,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    os: `${Deno.build.os} ${Deno.build.arch} ${Deno.osRelease()}`,
    executable: Deno.build.standalone,
    threads: grantedCores(),
    /** Shares of the processors that other programs use, and that the host steals. */
    others_share: others?.others ?? null,
    stolen_share: others?.stolen ?? null,
    available_memory_bytes: room.bytes,
    memory_limited_by: room.by,
    devices,
    wasm_tiles: tiles,
    /** What computes products with training.compute_dtype: bfloat16. */
    wasm_bf16_unit: bf16Unit,
    gpu_adapter: gpu,
    vulkan,
    job,
    fit,
    advice: [
      ...adviceFor(devices, gpu, room.bytes, others),
      ...(job === null ? [] : jobAdvice(job, isCard)),
      ...(fit === null ? [] : fit.misfits),
    ],
    notes: fit?.notes ?? [],
  };
}

function printReport(report: Report, others: OtherWork | null, room: MemoryRoom): void {
  const { devices, gpu_adapter: gpu, vulkan, job, fit } = report;
  const by = { machine: "", cgroup: " (cgroup)", job: " (of the job)" }[room.by];
  print(table([
    ["rgx", `${VERSION} (deno ${report.deno}, v8 ${report.v8})`],
    ["system", report.os],
    ["processors", [`${report.threads} threads`, otherWorkText(others) ?? []].flat().join(", ")],
    ["cpu kernels", `${report.wasm_tiles}; products in bfloat16 by ${report.wasm_bf16_unit}`],
    ["free memory", gib(room.bytes) + by],
    ...adapterRows(gpu),
    ["Vulkan by FFI", vulkan.missing ?? vulkan.adapters.map(vulkanText).join("; ")],
    ...(job === null ? [] : jobRows(job, room)),
    ...(fit === null ? [] : fitRows(fit)),
  ]));
  print("");
  const decimals = (x: number) => x.toFixed(x < 10 ? 2 : 0);
  print(table([
    ["device", "threads", "f32 GFLOP/s", "copy GB/s"],
    ...devices.map((d) => [
      d.name,
      d.name === "webgpu" || d.name === "vulkan" ? "–" : `${d.threads}`,
      decimals(d.gflops),
      decimals(d.gbytes_per_second),
    ]),
  ]));
  print(report.advice.length === 0 ? "\nNothing to fix." : "");
  for (const line of report.notes) print(paragraph(`note: ${line}`));
  for (const line of report.advice) print(paragraph(`fix: ${line}`));
  if (fit !== null && fit.fetch !== null) print(`fix: ${fit.fetch}`);
}
