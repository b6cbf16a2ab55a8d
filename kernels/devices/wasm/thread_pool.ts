/**
 * Runs kernels on the calling thread and on workers (team.ts contains the algorithm). Workers start
 * with the first job that is large enough to be shared, and help as soon as they run. Until then,
 * and for small jobs, the calling thread does all the work. Results do not depend on which thread
 * computes what, so they are the same for any number of threads.
 */
import { messageOf, RgxError } from "../../../core/errors.ts";
import { ARGS_BYTES, type Control, CONTROL_BYTES, controlViews, IDLE, WORD } from "./control.ts";
import type { WasmMemory } from "./memory.ts";
import {
  grainFor,
  instantiateKernels,
  type Kernel,
  type KernelCode,
  type PlacedJob,
  type Plan,
  programText,
  readJob,
  readProgram,
  STACK_BYTES,
} from "./program.ts";
import { dismiss, lead, type Member, runAlone } from "./team.ts";
import { type KernelValue, MAX_ARGS, type WasmJob } from "../../ops/common/wasm_op.ts";
import type { Tensor } from "../../tensor.ts";
import type { WorkerStart } from "./worker.ts";

/** Allocates the private scratch of all threads. @returns the address of thread 0's scratch */
export type ScratchProvider = (bytesPerThread: number) => number;

/** A compiled program, which can be run many times. */
export interface Program {
  number: number;
  /** The address of its text in the shared memory, and its length in 64-bit floats. */
  address: number;
  length: number;
  plan: Plan;
}

export class ThreadPool {
  readonly threads: number;
  readonly #code: KernelCode;
  readonly #memory: WebAssembly.Memory;
  readonly #kernels: Kernel[];
  readonly #byName: Map<string, Kernel>;
  readonly #shared = new SharedArrayBuffer(CONTROL_BYTES);
  /** Address of the arguments of a single job, and of the stacks of all threads. */
  readonly #args: number;
  readonly #stacks: number;
  readonly #control: Control;
  readonly #leader: Member;
  #plan: Plan = [];
  #workers: Worker[] = [];
  #startFailure: string | undefined;
  #programs = 0;

  constructor(code: KernelCode, memory: WasmMemory, threads: number) {
    this.threads = threads;
    this.#code = code;
    this.#memory = memory.memory;
    this.#args = memory.allocate(ARGS_BYTES, "arguments of kernels");
    this.#stacks = memory.allocate(threads * STACK_BYTES, "stacks of threads");
    this.#control = controlViews(this.#shared, this.#memory, this.#args);
    this.#kernels = instantiateKernels(code, this.#memory, this.#stacks);
    this.#byName = new Map(this.#kernels.map((kernel) => [kernel.name, kernel]));
    this.#control.words[WORD.state] = IDLE;
    const plan = () => this.#plan;
    this.#leader = { control: this.#control, thread: 0, spin: this.#spin, plan };
  }

  /** With more threads than cores, polling threads would take time from working ones. */
  get #spin(): boolean {
    return this.threads <= navigator.hardwareConcurrency;
  }

  /** Runs a job to its end. @throws RgxError when a kernel traps in any thread. */
  run(job: PlacedJob, scratch: ScratchProvider): void {
    const { kernel, args, units, stride } = job;
    if (units === 0) return;
    const base = stride > 0 ? scratch(stride) : 0;
    const { words, args: shared } = this.#control;
    words[WORD.program] = 0;
    words[WORD.kernel] = kernel.index;
    words[WORD.units] = units;
    words[WORD.grain] = grainFor(job, this.threads);
    shared[0] = base;
    shared[1] = stride;
    for (let i = 0; i < args.length; i++) shared[i + 2] = args[i]!;
    const plan = readJob(this.#control, this.#kernels, 0, this.threads);
    if (!plan[0]!.alone) {
      this.#lead(plan);
      return;
    }
    try {
      runAlone(plan[0]!.jobs[0]!);
    } catch (error) {
      throw kernelFailure(kernel.name, messageOf(error));
    }
  }

  /**
   * Compiles a program (program.ts) of at least one stage with at least one job each.
   * @param allocate allocates shared memory for its text
   */
  compile(
    stages: readonly (readonly PlacedJob[])[],
    scratch: { address: number; stride: number },
    allocate: (bytes: number) => number,
  ): Program {
    const number = ++this.#programs;
    const text = programText(stages, scratch, this.threads), { length } = text;
    const address = allocate(text.byteLength);
    const placed = new Float64Array(this.#memory.buffer, address, length);
    placed.set(text);
    const plan = readProgram(placed, this.#kernels, 0, this.threads);
    return { number, address, length, plan };
  }

  /** Runs a program to its end. @throws RgxError when a kernel traps in any thread. */
  replay({ number, address, length, plan }: Program): void {
    const { words } = this.#control;
    words[WORD.program] = number;
    words[WORD.programAddress] = address;
    words[WORD.programLength] = length;
    this.#lead(plan);
  }

  /** Puts the named arguments in the order of the struct. @throws Error for an invalid job */
  place(
    { kernel: name, args, units, grain, scratchBytes = 0 }: WasmJob,
    addressOf: (tensor: Tensor) => number,
  ): PlacedJob {
    const kernel = this.#byName.get(name);
    if (kernel === undefined) throw new Error(`there is no WASM kernel "${name}"`);
    if (kernel.fields.length > MAX_ARGS) {
      throw new Error(`"${name}" has more than ${MAX_ARGS} fields`);
    }
    // With other values, threads would never finish the job.
    if (!(Number.isInteger(units) && units >= 0 && units < 2 ** 31 && grain >= 0)) {
      throw new Error(`WASM kernel "${name}" cannot have ${units} units in chunks of ${grain}`);
    }
    const values = args as Readonly<Record<string, KernelValue>>, numbers: number[] = [];
    for (const field of kernel.fields) {
      const value = values[field];
      if (typeof value === "object") numbers.push(addressOf(value));
      else numbers.push(Number(value ?? 0));
    }
    return { kernel, units, grain, args: numbers, stride: Math.ceil(scratchBytes / 64) * 64 };
  }

  /** Runs a plan together with the workers, which read it from the control block. */
  #lead(plan: Plan): void {
    if (this.threads > 1 && this.#workers.length === 0) this.#start();
    this.#plan = plan;
    lead(this.#leader, plan);
    const { words } = this.#control;
    if (Atomics.load(words, WORD.failed) !== 0) {
      const kernel = this.#kernels[words[WORD.failedKernel]!]?.name ?? "of a thread without a plan";
      throw kernelFailure(kernel, this.#clearFailure());
    }
    if (this.#startFailure !== undefined) {
      throw new RgxError(`a worker thread of the CPU device failed: ${this.#startFailure}`, {
        advice: "set RGX_NUM_THREADS=1 to run without worker threads",
      });
    }
  }

  #clearFailure(): string {
    const { words, text } = this.#control;
    const message = new TextDecoder().decode(text.slice(0, words[WORD.failureLength]));
    words[WORD.failureLength] = 0;
    Atomics.store(words, WORD.failed, 0);
    return message;
  }

  #start(): void {
    for (let thread = 1; thread < this.threads; thread++) {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        this.#startFailure = event.message;
      });
      const start: WorkerStart = {
        code: this.#code,
        memory: this.#memory,
        control: this.#shared,
        args: this.#args,
        stack: this.#stacks + thread * STACK_BYTES,
        thread,
        threads: this.threads,
        spin: this.#spin,
      };
      worker.postMessage(start);
      this.#workers.push(worker);
    }
  }

  /** Starts the workers and waits until all run; only measurements and tests need it. */
  async ready(): Promise<void> {
    if (this.threads > 1 && this.#workers.length === 0) this.#start();
    const { words } = this.#control;
    while (Atomics.load(words, WORD.ready) < this.#workers.length && !this.#startFailure) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Stops the workers. Further calls do nothing. */
  close(): void {
    dismiss(this.#control);
    for (const worker of this.#workers) worker.terminate();
    this.#workers = [];
  }
}

function kernelFailure(kernel: string, message: string): RgxError {
  return new RgxError(`the CPU kernel "${kernel}" failed: ${message}`, {
    advice: "this is a bug in rgx; please report it with the command that led to it",
  });
}
