/**
 * Programs of the thread pool: stages of jobs. Jobs of one stage are independent, and each stage
 * waits for the previous one. A program is compiled once and run many times. Its text is in the
 * shared memory, as 64-bit floats:
 *
 *     [stages, address of thread 0's scratch, bytes of scratch per thread,
 *      (jobs, alone, (kernel, units, grain, number of arguments, argument …) …) …]
 *
 * Every thread makes a plan from the text and keeps it.
 */
import { type CKernel, type NativeCode, nativeKernels, wasmKernels } from "../../native/kernels.ts";
import { type Control, MAX_REGIONS, WORD } from "./control.ts";

/** The kernels of a device. Workers get the same. */
export interface KernelCode {
  /** The kernels in WebAssembly. */
  module: WebAssembly.Module;
  /** Native kernels, which replace those of the same names. */
  native: NativeCode | null;
}

/** One kernel. */
export interface Kernel {
  name: string;
  index: number;
  run: CKernel;
  /** The fields of its struct, in order. */
  fields: readonly string[];
  /** The plan of a single job with this kernel; its values are set before each run. */
  plan: [Stage & { jobs: [PlannedJob] }];
}

/** Memory of the thread's stack, in which kernels keep arrays. */
export const STACK_BYTES = 128 * 1024;

/**
 * Instantiates the kernels.
 * @param stack address of the thread's stack
 * @returns the kernels in an order that is the same in every thread
 */
export function instantiateKernels(
  { module, native }: KernelCode,
  memory: WebAssembly.Memory,
  stack: number,
): Kernel[] {
  const kernels = wasmKernels(module, memory, stack + STACK_BYTES);
  if (native !== null) {
    for (const [name, kernel] of nativeKernels(native, memory)) kernels.set(name, kernel);
  }
  return [...kernels].map(([name, { run, fields }], index) => {
    const job = { index, run, args: 0, scratch: 0, units: 0, grain: 1, regions: 1, slot: 0 };
    return {
      name,
      index,
      run,
      fields,
      plan: [{ jobs: [{ ...job, isSmall: false }], alone: false }],
    };
  });
}

/** A job with the numbers of its kernel's struct. */
export interface PlacedJob {
  kernel: Kernel;
  units: number;
  grain: number;
  args: readonly number[];
  /** Bytes of private scratch for each thread, a multiple of 64. */
  stride: number;
}

/** A job in the plan of a thread. */
export interface PlannedJob {
  /** The kernel, and its index. */
  run: CKernel;
  index: number;
  /** Addresses of the arguments and of the thread's scratch. */
  args: number;
  scratch: number;
  units: number;
  grain: number;
  /** The units are cut into this many regions. Each thread begins with a different region. */
  regions: number;
  /** Index of the job's first region in its stage. */
  slot: number;
  /** Whether each region is known to take less than about 40 µs. */
  isSmall: boolean;
}

export interface Stage {
  jobs: PlannedJob[];
  /** Whether the stage is too small to be shared, so that one thread runs it. */
  alone: boolean;
}

export type Plan = readonly Stage[];

/** First unit of a region. For `region` = `regions` it is the number of units. */
export function regionStart(units: number, regions: number, region: number): number {
  return Math.floor(units * region / regions);
}

/** Large enough that all threads end at about the same time. */
const CHUNKS_PER_THREAD = 32;

/**
 * The minimum number of units of a chunk, an integer from 1 to `units`. (The grain of a job can be
 * infinite, which means that its units cost nothing.)
 * @param threads number of threads that share the job
 */
export function grainFor({ units, grain }: Pick<PlacedJob, "units" | "grain">, threads: number) {
  return Math.min(units, Math.max(1, grain, Math.ceil(units / (CHUNKS_PER_THREAD * threads))));
}

/** The number of regions of a job. */
function regionsOf(units: number, grain: number, threads: number): number {
  return Math.max(1, Math.min(threads, MAX_REGIONS, Math.floor(units / grain)));
}

/** Maximum number of chunks of a small region. */
const SMALL_REGION = 16;

/** See {@link PlannedJob.isSmall}. A chunk of a single unit may take much longer than others. */
function isSmall(units: number, grain: number, regions: number): boolean {
  return grain > 1 && units <= SMALL_REGION * grain * regions;
}

/** Whether a stage is too small to be shared. */
function isAlone(chunks: number, threads: number): boolean {
  return threads === 1 || chunks < 2;
}

/** Makes the text of a program. */
export function programText(
  stages: readonly (readonly PlacedJob[])[],
  scratch: { address: number; stride: number },
  threads: number,
): Float64Array {
  const text = [stages.length, scratch.address, scratch.stride];
  for (const jobs of stages) {
    // Many jobs that are each a small part of a chunk are together not worth sharing, either.
    const chunks = jobs.reduce((sum, { units, grain }) => sum + units / Math.max(1, grain), 0);
    text.push(jobs.length, isAlone(chunks, threads) ? 1 : 0);
    for (const job of jobs) {
      const { kernel, units, args } = job;
      text.push(kernel.index, units, grainFor(job, threads), args.length, ...args);
    }
  }
  return Float64Array.from(text);
}

/** Makes a thread's plan from the text of a program, which stays where it is. */
export function readProgram(
  text: Float64Array,
  kernels: readonly Kernel[],
  thread: number,
  threads: number,
): Plan {
  const scratch = text[1]! + thread * text[2]!;
  let at = 3;
  const readStage = (): Stage => {
    const jobs: PlannedJob[] = [], count = text[at]!, alone = text[at + 1] === 1;
    at += 2;
    for (let slot = 0; jobs.length < count;) {
      const index = text[at]!, units = text[at + 1]!, grain = text[at + 2]!;
      const { run } = kernels[index]!, args = text.byteOffset + 8 * (at + 4);
      const regions = regionsOf(units, grain, threads), small = isSmall(units, grain, regions);
      jobs.push({ run, index, args, scratch, units, grain, regions, slot, isSmall: small });
      at += 4 + text[at + 3]!;
      slot += regions;
    }
    return { jobs, alone };
  };
  return Array.from({ length: text[0]! }, readStage);
}

/** Makes a thread's plan for the single job in the control block. */
export function readJob(
  { words, args }: Control,
  kernels: readonly Kernel[],
  thread: number,
  threads: number,
): Plan {
  const { plan } = kernels[words[WORD.kernel]!]!, job = plan[0].jobs[0];
  job.args = args.byteOffset + 16;
  job.scratch = args[0]! + thread * args[1]!;
  job.units = words[WORD.units]!;
  job.grain = words[WORD.grain]!;
  job.regions = regionsOf(job.units, job.grain, threads);
  job.isSmall = isSmall(job.units, job.grain, job.regions);
  plan[0].alone = isAlone(job.units / job.grain, threads);
  return plan;
}
