/**
 * What threads run: stages of jobs. The jobs of a stage do not wait for one another, each stage waits for the one
 * before. A program is made once and then run again and again; its text lies in the shared memory as 64-bit floats,
 *
 *     [stages, scratch of thread 0, bytes between two threads' scratch,
 *      (jobs, (kernel, units, grain, arguments, argument …) …) …]
 *
 * and every thread keeps what it has made of it.
 */
import { type Control, MOST_REGIONS, WORD } from "./control.ts";
import type { WasmJob } from "../../ops/common/wasm_op.ts";

type KernelFunction = (...args: number[]) => void;

/** One exported kernel. */
export interface Kernel {
  name: string;
  index: number;
  run: KernelFunction;
  /** Parameters, the last three of every kernel included. */
  parameters: number;
  /** For a job of its own, to be filled in before each. */
  plan: [Stage & { jobs: [PlannedJob] }];
}

/** The kernels of a module in the order of its exports, which is the same in every thread. */
export function instantiateKernels(module: WebAssembly.Module, memory: WebAssembly.Memory) {
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  const kernels: Kernel[] = [];
  for (const { name, kind } of WebAssembly.Module.exports(module)) {
    if (kind !== "function") continue;
    const run = instance.exports[name] as KernelFunction, parameters = run.length;
    const index = kernels.length, call = new Array<number>(parameters).fill(0);
    const job = { index, run, call, units: 0, grain: 1, regions: 1, slot: 0 };
    kernels.push({ name, index, run, parameters, plan: [{ jobs: [job], alone: false }] });
  }
  return kernels;
}

/** A job as a thread runs it. */
export interface PlannedJob {
  /** The kernel, and its number. */
  run: KernelFunction;
  index: number;
  /** Its arguments; the range of units is filled in at every call, so that a call allocates nothing. */
  call: number[];
  units: number;
  grain: number;
  /** The units are cut into so many regions: a thread begins with its own and goes on to the others'. */
  regions: number;
  /** Number of its first region among those of its stage. */
  slot: number;
}

export interface Stage {
  jobs: PlannedJob[];
  /** Too little to be shared: whoever comes to it does it. */
  alone: boolean;
}

export type Plan = readonly Stage[];

/** First unit of a region; that of the one behind the last is their number. */
export function regionStart(units: number, regions: number, region: number): number {
  return Math.floor(units * region / regions);
}

/** Enough that the threads end nearly together. */
const CHUNKS_PER_THREAD = 32;

/**
 * The fewest units of a chunk when so many threads share the job: a whole number from 1 to `units`, also of the infinite
 * grain of units that cost nothing.
 */
export function grainFor({ units, grain }: Pick<WasmJob, "units" | "grain">, threads: number) {
  return Math.min(units, Math.max(1, grain, Math.ceil(units / (CHUNKS_PER_THREAD * threads))));
}

/** Into how many regions the units are cut. */
function regionsOf(units: number, grain: number, threads: number): number {
  return Math.max(1, Math.min(threads, MOST_REGIONS, Math.floor(units / grain)));
}

/** Whether work of so many chunks is too little to be shared. */
function isAlone(chunks: number, threads: number): boolean {
  return threads === 1 || chunks < 2;
}

/** The text of a program. */
export function programText(
  stages: readonly (readonly WasmJob[])[],
  kernelOf: (job: WasmJob) => Kernel,
  scratch: { address: number; stride: number },
  threads: number,
): Float64Array {
  const text = [stages.length, scratch.address, scratch.stride];
  for (const jobs of stages) {
    text.push(jobs.length);
    for (const job of jobs) {
      const { units, args } = job;
      text.push(kernelOf(job).index, units, grainFor(job, threads), args.length, ...args);
    }
  }
  return Float64Array.from(text);
}

/**
 * The buffer of a memory that has at least `end` bytes. A thread that came up while another one made the memory larger
 * may have an old, shorter one, until it grows the memory itself, be it by nothing.
 */
export function bufferUpTo(memory: WebAssembly.Memory, end: number): ArrayBuffer {
  if (memory.buffer.byteLength < end) memory.grow(0);
  return memory.buffer;
}

/** What a thread makes of a program's text. */
export function readProgram(
  text: Float64Array,
  kernels: readonly Kernel[],
  thread: number,
  threads: number,
): Plan {
  const scratch = text[1]! + thread * text[2]!;
  let at = 3;
  const readStage = (): Stage => {
    const jobs: PlannedJob[] = [];
    let slot = 0, chunks = 0;
    for (let left = text[at++]!; left > 0; left--) {
      const index = text[at]!, units = text[at + 1]!, grain = text[at + 2]!, count = text[at + 3]!;
      const call = [...text.subarray(at + 4, at + 4 + count), 0, 0, scratch];
      const regions = regionsOf(units, grain, threads);
      jobs.push({ run: kernels[index]!.run, index, call, units, grain, regions, slot });
      at += 4 + count;
      slot += regions;
      chunks += units / grain;
    }
    return { jobs, alone: isAlone(chunks, threads) };
  };
  return Array.from({ length: text[0]! }, readStage);
}

/** What a thread makes of the one job in the control block. */
export function readJob(
  { words, args }: Control,
  kernels: readonly Kernel[],
  thread: number,
  threads: number,
): Plan {
  const { plan } = kernels[words[WORD.kernel]!]!, job = plan[0].jobs[0], { call } = job;
  const count = words[WORD.argCount]!;
  for (let i = 0; i < count; i++) call[i] = args[i + 2]!;
  call[count + 2] = args[0]! + thread * args[1]!;
  job.units = words[WORD.units]!;
  job.grain = words[WORD.grain]!;
  job.regions = regionsOf(job.units, job.grain, threads);
  plan[0].alone = isAlone(job.units / job.grain, threads);
  return plan;
}
