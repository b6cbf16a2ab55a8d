/**
 * `rgx doctor`: describes this machine and what to fix. Each device is measured for about a second
 * with one matrix product and one copy. Inside a job it also shows what SLURM granted; with a
 * configuration, whether it fits: memory, time, and the files that it names.
 */
import { loadConfig } from "../../configs/load.ts";
import { bytesText } from "../../core/bytes.ts";
import { duration } from "../../core/duration.ts";
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { grantedCores, kernelLimits } from "../../core/machine/cgroup.ts";
import { freeBytes } from "../../core/machine/disk_space.ts";
import { processEnv, processLayout, slurmJob } from "../../core/machine/job.ts";
import { type MemoryRoom, memoryRoom } from "../../core/machine/memory.ts";
import {
  cpuTimes,
  type OtherWork,
  otherWork,
  otherWorkText,
} from "../../core/machine/other_work.ts";
import { jobMemory, secondsLeft } from "../../core/machine/slurm_queue.ts";
import { exists } from "../../core/paths.ts";
import { VERSION } from "../../core/version.ts";
import { type VulkanAdapter, vulkanAdapters } from "../../kernels/devices/vulkan/device.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import {
  adapterLimits,
  describeAdapter,
  findAdapter,
} from "../../kernels/devices/webgpu/adapter.ts";
import { listCards } from "../../kernels/devices/webgpu/cards.ts";
import { unitName } from "../../kernels/devices/webgpu/device_reports.ts";
import { gpuAvailableBytes } from "../../kernels/devices/webgpu/gpu_memory.ts";
import { missingForGpu } from "../../kernels/devices/webgpu/no_adapter.ts";
import { mapsAtOnce } from "../../kernels/devices/webgpu/quirks.ts";
import { chooseCard, visibleCards } from "../../kernels/devices/webgpu/visible.ts";
import { createDevice, describeDevice } from "../../kernels/mod.ts";
import { nativeLibraries } from "../../kernels/native/library.ts";
import { assemble } from "../../training/assemble.ts";
import { measureDevice } from "../../training/duration/device_speed.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import { planFromShape } from "../../training/memory/shape_plan.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import type { FlagsOf } from "../flags.ts";
import { openDevice, runDeviceName } from "../open_device.ts";
import { cardFromFlags, measuredRunTime, runTimeText } from "../plans/plan_text.ts";
import {
  missingAdvice,
  missingForRun,
  missingLines,
  namingMissing,
} from "../plans/missing_parts.ts";
import { usableSeconds } from "../stop_control.ts";
import { paragraph, print, table } from "../terminal/terminal.ts";
import { doctorPlan, requireCard } from "./doctor_plan.ts";

/** If others use a larger share of the processors, the report says that the machine is busy. */
const BUSY = 0.25;
const OTHERS_MS = 500;

type AdapterReport = NonNullable<Awaited<ReturnType<typeof adapterReport>>>;

async function adapterReport() {
  if (!chooseCard(null)) return null;
  const found = await findAdapter();
  if (found === null) return null;
  const info = describeAdapter(found);
  return {
    ...info,
    available_bytes: await gpuAvailableBytes(info),
    limits: adapterLimits(found),
    /** Features that kernels and traces can use, and all of the adapter. */
    features: ["shader-f16", "timestamp-query"].filter((name) => found.features.has(name)),
    listed_features: [...found.features].sort(),
    /** Whether results are read back without a pause of 10 ms in this version of Deno. */
    fast_readback: mapsAtOnce(),
    /** Display controllers of this machine. --device webgpu:N selects one of several. */
    cards: listCards().map(({ address, vendor, device }) => `${vendor}:${device} at ${address}`),
  };
}

/** The adapters that --device vulkan can use, the default first, or why there are none. */
function vulkanReport(): { adapters: VulkanAdapter[]; missing: string | null } {
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
    ["GPU features", gpu.features.join(", ") || "none that kernels can use"],
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
  const oneThread = devices.find((d) => d.name === "wasm" && d.threads === 1)!;
  const isBusy = (others?.others ?? 0) > BUSY, { cards, by } = visibleCards();
  const isHidden = cards?.length === 0, isCpu = gpu?.software ?? false;
  const missing = !isHidden && (gpu === null || isCpu && listCards().length > 0)
    ? missingForGpu()
    : [];
  return adviceOf([
    [isBusy, "other programs use this machine: alone, rgx is faster than measured here"],
    [
      !isBusy && oneThread.gflops < 60,
      Deno.build.standalone
        ? "the wasm device is slow: the machine is busy, or the executable was built by " +
          "`deno task compile:safe` (`deno task compile` sets the V8 flags that double the speed)"
        : "the wasm device is slow: start through `deno task rgx` or the executable built by " +
          "`deno task compile`, which set the V8 flags that double its speed " +
          "(or the machine is busy)",
    ],
    [memory < 2 * 2 ** 30, "less than 2 GiB of memory are free: only tiny models fit"],
    [isHidden, `every graphics card is hidden from this process: ${by}`],
    [
      !isHidden && isCpu,
      "the GPU adapter is a CPU: --device auto takes wasm, which is far faster",
    ],
    ...missing.map((text): Rule => [true, text]),
    [
      gpu !== null && !gpu.fast_readback,
      `Deno ${Deno.version.deno} is not known to map buffers at once: ` +
      "every look at the GPU's results costs 10 ms more",
    ],
  ]);
}

/** The share of the processors that other programs use while this process does nothing. */
async function measureOthers() {
  const before = cpuTimes();
  await new Promise((resolve) => setTimeout(resolve, OTHERS_MS));
  return otherWork(before, cpuTimes());
}

/** Returns the exit code: 1 when the configuration does not fit, or a part does not work. */
export async function doctor(
  first: string | undefined,
  further: string[],
  options: FlagsOf<"DOCTOR">,
): Promise<number> {
  const { self, model, device, minutes, plan, tune } = options;
  if (self) {
    const other = Object.keys(options).find((flag) => flag !== "self" && flag !== "json");
    if (first !== undefined || other !== undefined) {
      throw new UsageError("--self: it tries the program, without a config or other flags");
    }
    return await (await import("./doctor_self.ts")).doctorSelf(options);
  }
  const card = cardFromFlags(options, { plans: true, planFlag: "--plan CONFIG" });
  // With `--plan CONFIG` the arguments are overrides; `CONFIG --plan` means the same.
  const [config, overrides] = typeof plan !== "string"
    ? [first, further]
    : [plan, first === undefined ? [] : [first, ...further]];
  if (tune) {
    if (card !== null || model !== undefined) {
      throw new UsageError("--tune: it measures the card of this machine, without --gpu, --model");
    }
    return await (await import("./doctor_tune.ts")).doctorTune(config, overrides, options);
  }
  if (minutes !== undefined) throw new UsageError("--minutes: it is for --tune");
  requireCard(options, card);
  if (card !== null) {
    if (config === undefined || model !== undefined) {
      const what = model === undefined ? "which configuration?" : "without --model";
      throw new UsageError(`only a run can be planned for a card: ${what}`, {
        advice: "For example: rgx doctor --plan my.yaml --gpu h100-80gb",
      });
    }
    return await doctorPlan(config, overrides, card, options);
  }
  if (model !== undefined) {
    return await (await import("./doctor_model.ts")).doctorModel(config, { ...options, model });
  }
  if (device !== undefined && config === undefined) {
    throw new UsageError("--device: it is for a config, --model or --tune", {
      advice: "Without a config every device is measured: rgx doctor",
    });
  }
  return await describeMachine(config, overrides, options);
}

async function describeMachine(
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
    /** The values that RGX_TARGET can have on this machine. */
    wasm_targets: [...nativeLibraries().codes.map(({ target }) => target), "wasm"],
    /** The unit that computes products with training.compute_dtype: bfloat16. */
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
    ["cpu targets", `${report.wasm_targets.join(", ")} (RGX_TARGET chooses one)`],
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

interface DeviceReport {
  name: string;
  threads: number;
  gflops: number;
  /** Bytes read and written by a copy. */
  gbytes_per_second: number;
}

/** Measures the devices one after the other, and which kernels the CPU device has chosen. */
async function measureDevices(hasWebgpu: boolean, hasVulkan: boolean) {
  const devices: DeviceReport[] = [];
  let tiles = "", bf16Unit = "";
  const wanted: [name: string, options: { threads?: number }][] = [
    ["reference", { threads: 1 }],
    ["wasm", { threads: 1 }],
    ["wasm", {}],
  ];
  if (hasWebgpu) wanted.push(["webgpu", {}]);
  if (hasVulkan) wanted.push(["vulkan", {}]);
  for (const [name, options] of wanted) {
    const device = await createDevice(name, options), { threads } = device;
    if (!devices.some((d) => d.name === name && d.threads === threads)) {
      const { products, bandwidth } = await measureDevice(device, 1000);
      const speed = { gflops: products / 1e9, gbytes_per_second: bandwidth / 1e9 };
      devices.push({ name, threads, ...speed });
    }
    tiles ||= device.tiles ?? "";
    bf16Unit ||= device.bf16Unit ?? "";
    device.close();
  }
  return { devices, tiles, bf16Unit };
}

type JobReport = NonNullable<Awaited<ReturnType<typeof jobReport>>>;

/** Environment variables that limit which GPUs a process sees. */
const VISIBLE = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"];

async function jobReport() {
  const job = slurmJob();
  if (job === null) return null;
  const visible = VISIBLE.map(processEnv).find((value) => value !== undefined);
  return {
    id: job.id,
    name: job.name,
    partition: job.partition,
    /** The name of this node in SLURM; null: this process is not on a node of the job. */
    node: job.node,
    node_list: job.nodeList,
    restarts: job.restarts,
    array: job.array,
    tasks: job.tasks,
    /** Null: the job has no time limit, or the limit is not known. */
    seconds_left: await secondsLeft(job),
    /** Cores of the job for this process, and threads that the wasm device uses. */
    cpus: job.cpusPerTask ?? job.cpusOnNode,
    threads: defaultThreads(),
    /** Cores that the affinity mask and the quota leave to this process. */
    usable_cpus: grantedCores(kernelLimits()),
    /** Memory of the job on this node; null: SLURM does not limit it, or does not tell. */
    memory_bytes: await jobMemory(job),
    /** GPUs that SLURM granted, and that the environment lets this process see; null: not known. */
    gpus: job.gpus,
    visible_gpus: visible === undefined ? null : list(visible),
  };
}

/** A list of GPUs. SLURM writes "NoDevFiles" when there is none. */
function list(text: string): string[] {
  return text.split(",").map((id) => id.trim())
    .filter((id) => id !== "" && id !== "-1" && id !== "NoDevFiles");
}

function jobRows(job: JobReport, { by, bytes }: MemoryRoom): string[][] {
  const where = [
    job.name === null ? null : `"${job.name}"`,
    job.partition === null ? null : `partition ${job.partition}`,
    job.node === null ? job.node_list : `node ${job.node}`,
    job.restarts === 0 ? null : `restarted ${job.restarts} times`,
  ].filter((part) => part !== null);
  const gpus = job.gpus === null ? "none given" : `${job.gpus.length}: ${job.gpus.join(", ")}`;
  const visible = job.visible_gpus === null ? "" : `, visible as ${job.visible_gpus.join(", ")}`;
  const limit = by === "cgroup" ? "cgroup" : "machine";
  return [
    ["job", [job.id, ...where].join(", ")],
    [
      "job cores",
      `${job.cpus ?? "not known"}, ${job.usable_cpus} usable, ${job.threads} threads`,
    ],
    [
      "job memory",
      (job.memory_bytes === null ? "no limit known" : gib(job.memory_bytes)) +
      (by === "job" ? "" : `; the ${limit} leaves ${gib(bytes)}`),
    ],
    ["job GPUs", gpus + visible],
    ["job time", job.seconds_left === null ? "not known" : `${duration(job.seconds_left)} left`],
  ];
}

/** A case, and the advice for it. */
type Rule = readonly [isSo: boolean, advice: string];

const adviceOf = (rules: readonly Rule[]) => rules.filter(([isSo]) => isSo).map(([, text]) => text);

/** Advice about figures that contradict each other. @param cards whether there is a card */
function jobAdvice(job: JobReport, cards: boolean): string[] {
  const { id, cpus, usable_cpus: usable, gpus, visible_gpus: visible, tasks } = job;
  if (job.node === null) {
    return [
      `this shell is not on a node of job ${id}: start what computes with srun ` +
      "(srun --pty bash for a shell)",
    ];
  }
  const isAlone = processLayout() === null, given = gpus?.length ?? 0;
  return adviceOf([
    [
      cpus !== null && usable < cpus,
      `the job has ${cpus} cores for this process, but it may use ${usable}: mpirun binds a ` +
      "process to one core (--bind-to none), and srun needs --cpus-per-task too " +
      "(export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK)",
    ],
    [
      isAlone && (tasks ?? 1) > 1,
      `the job has ${tasks} tasks, and this is one process: srun --mpi=pmix (or pmi2) starts ` +
      "a rank of the run for each; for a run of one process, sbatch --ntasks=1 is enough",
    ],
    [
      given > 1 && isAlone && (tasks ?? 1) === 1,
      `the job has ${given} GPUs, and one process uses one: --ntasks-per-node=${given} and srun ` +
      "--mpi=pmix start a rank for each (rgx slurm --gpus writes it), --gres=gpu:1 leaves the " +
      "others to others",
    ],
    [
      given > 0 && !cards,
      "the job was given a GPU, but no graphics card is found on this node " +
      "(see the lines on the GPU)",
    ],
    [
      given === 0 && cards && (visible?.length ?? 0) === 0,
      "a graphics card is visible that the job was not given: ask for one (--gres=gpu:1), " +
      "or use --device wasm",
    ],
    [
      given > 0 && visible !== null && visible.length !== given,
      `SLURM gave ${given} GPUs (${gpus?.join(", ")}), this process is told to see ` +
      `${visible?.length} (${visible?.join(", ") || "none"}): CUDA_VISIBLE_DEVICES was changed`,
    ],
    [
      job.memory_bytes === null && memoryRoom().by === "machine",
      "nothing limits the job's memory: say what it needs (--mem), or others may lack it",
    ],
  ]);
}

type FitReport = Awaited<ReturnType<typeof fitReport>>;

/** @param named the device of `--device`, if it is given */
async function fitReport(name: string, overrides: string[], named: string | undefined) {
  const loaded = await namingMissing(() =>
    loadConfig(name, { overrides, env: Deno.env.toObject() })
  );
  const deviceName = runDeviceName(named, loaded.config.training);
  const device = await openDevice(deviceName === undefined ? {} : { device: deviceName });
  const unknown = null as number | null;
  const report = {
    config: name,
    device: describeDevice(device),
    memory_planned_bytes: unknown,
    memory_available_bytes: unknown,
    /** Of the whole run; null, as the disk, when the model is not on this machine. */
    estimated_seconds: unknown,
    /** The share that other programs used while the time was measured. */
    others: null as OtherWork | null,
    disk_planned_bytes: unknown,
    disk_free_bytes: await freeBytes(loaded.config.training.output_dir),
    /** Why the run is not possible on this machine, and how to get what is not here. */
    misfits: [] as string[],
    fetch: null as string | null,
    notes: [] as string[],
  };
  const planned = ({ peak, available }: MemoryPlan) => {
    report.memory_planned_bytes = peak;
    report.memory_available_bytes = Number.isFinite(available) ? available : null;
  };
  try {
    const missing = await missingForRun(loaded.config);
    if (missing.length > 0) {
      report.misfits.push(...missingLines(missing));
      report.fetch = missingAdvice(missing);
      const seen = ({ memory }: { memory: MemoryPlan }) => planned(memory);
      await planFromShape(loaded.config, device, { onPlan: seen });
      return report;
    }
    const parts = await assemble(loaded.config, device, { planned, opensRewards: false });
    try {
      const trainer = new GrpoTrainer({
        config: loaded.config,
        configText: loaded.yaml,
        device,
        ...parts,
        resume: await exists(loaded.config.training.output_dir),
      });
      report.notes.push(...await trainer.check());
      report.disk_planned_bytes = trainer.plan().disk.total;
      const time = await measuredRunTime(() => trainer.estimateSeconds());
      report.estimated_seconds = time.seconds;
      report.others = time.others;
    } finally {
      await parts.rubric.close();
    }
    report.notes.push(...timeNotes(report.estimated_seconds, await secondsLeft()));
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    // Without the data set or the model's sizes there is no plan, only a list of missing parts.
    if (report.fetch !== null && report.memory_planned_bytes === null) return report;
    const { message, advice } = error;
    report.misfits.push(advice === undefined ? message : `${message}; ${advice}`);
  } finally {
    device.close();
  }
  return report;
}

function timeNotes(needed: number, left: number | null): string[] {
  if (left === null || needed <= usableSeconds(left)) return [];
  return [
    `the run takes about ${duration(needed)}, the job ends in ${
      duration(left)
    }: it is saved before, ends with ` +
    "exit code 75 and continues with --resume",
  ];
}

function fitRows(fit: FitReport): string[][] {
  const size = (bytes: number | null) => bytes === null ? "an unknown amount" : bytesText(bytes);
  const rows = [["config", `${fit.config}, on ${fit.device}`]];
  if (fit.memory_planned_bytes !== null) {
    rows.push([
      "its memory",
      `${size(fit.memory_planned_bytes)} planned of ${size(fit.memory_available_bytes)}`,
    ]);
  }
  if (fit.disk_planned_bytes !== null) {
    rows.push([
      "its disk",
      `at most about ${size(fit.disk_planned_bytes)} planned of ${size(fit.disk_free_bytes)}`,
    ]);
  }
  const { estimated_seconds: seconds, others } = fit;
  if (seconds !== null) rows.push(["its time", runTimeText({ seconds, others })]);
  return rows;
}
