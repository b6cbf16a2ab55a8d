/**
 * Runs kernels on the calling thread and on helper workers (see control.ts for how a job is shared).
 * Workers start with the first job that is large enough to be shared, and join when they are up:
 * until then, and for small jobs, the calling thread does all the work. As no result depends on who
 * computes it, the number of threads that happened to help is invisible.
 */
import { messageOf, RgxError } from "../../core/errors.ts";
import {
  type Control,
  CONTROL_BYTES,
  controlViews,
  instantiateKernels,
  JOINED_MASK,
  type Kernel,
  MOST_REGIONS,
  OPEN,
  REGION_STEP,
  regionStart,
  SEQUENCE_STEP,
  spinWhile,
  takeChunks,
  WORD,
} from "./control.ts";
import { MAX_ARGS, type WasmJob } from "./wasm_op.ts";
import type { WorkerStart } from "./worker.ts";

/** Gives each thread its private scratch: returns the address of thread 0's, `bytes` apart. */
export type ScratchProvider = (bytesPerThread: number) => number;

/** Enough that the threads end nearly together. */
const CHUNKS_PER_THREAD = 32;

export class ThreadPool {
  readonly threads: number;
  readonly #module: WebAssembly.Module;
  readonly #memory: WebAssembly.Memory;
  readonly #kernels = new Map<string, Kernel>();
  readonly #shared = new SharedArrayBuffer(CONTROL_BYTES);
  readonly #control: Control = controlViews(this.#shared);
  #workers: Worker[] = [];
  #startFailure: string | undefined;
  #sequence = 0;

  constructor(module: WebAssembly.Module, memory: WebAssembly.Memory, threads: number) {
    this.threads = threads;
    this.#module = module;
    this.#memory = memory;
    for (const kernel of instantiateKernels(module, memory)) this.#kernels.set(kernel.name, kernel);
  }

  /** Runs a job to its end. @throws RgxError when a kernel traps in any thread. */
  run(job: WasmJob, scratch: ScratchProvider): void {
    const kernel = this.#kernels.get(job.kernel);
    if (kernel === undefined) throw new Error(`there is no WASM kernel "${job.kernel}"`);
    const { args, units } = job;
    if (kernel.args.length !== args.length + 3 || args.length > MAX_ARGS) {
      throw new Error(
        `WASM kernel "${job.kernel}" takes ${kernel.args.length - 3} arguments, not ${args.length}`,
      );
    }
    if (units <= 0) return;
    const stride = Math.ceil((job.scratchBytes ?? 0) / 64) * 64;
    const base = stride > 0 ? scratch(stride) : 0;
    if (this.threads === 1 || units < 2 * job.grain) {
      const call = kernel.args;
      for (let i = 0; i < args.length; i++) call[i] = args[i]!;
      call[args.length] = 0;
      call[args.length + 1] = units;
      call[args.length + 2] = base;
      try {
        kernel.run.apply(undefined, call);
      } catch (error) {
        throw kernelFailure(kernel.name, messageOf(error));
      }
      return;
    }
    this.#share(kernel, job, base, stride);
  }

  #share(kernel: Kernel, job: WasmJob, base: number, stride: number): void {
    if (this.#workers.length === 0) this.#start();
    const { words, args } = this.#control;
    words[WORD.kernel] = kernel.index;
    words[WORD.argCount] = job.args.length;
    words[WORD.units] = job.units;
    const grain = Math.max(job.grain, Math.ceil(job.units / (CHUNKS_PER_THREAD * this.threads)));
    words[WORD.grain] = grain;
    args[0] = base;
    args[1] = stride;
    for (let i = 0; i < job.args.length; i++) args[i + 2] = job.args[i]!;
    const chunks = Math.floor(job.units / grain);
    const regions = Math.max(1, Math.min(this.threads, MOST_REGIONS, chunks));
    words[WORD.regions] = regions;
    for (let region = 0; region < regions; region++) {
      const start = regionStart(job.units, regions, region);
      Atomics.store(words, WORD.next + region * REGION_STEP, start);
    }
    this.#sequence = (this.#sequence + SEQUENCE_STEP) & (OPEN - 1);
    Atomics.store(words, WORD.state, OPEN | this.#sequence);
    Atomics.add(words, WORD.wake, 1);
    if (Atomics.load(words, WORD.sleepers) > 0) Atomics.notify(words, WORD.wake);
    let failure: unknown;
    try {
      takeChunks(this.#control, kernel, 0);
    } catch (error) {
      failure = error;
    }
    this.#close();
    if (failure !== undefined) {
      this.#clearFailure();
      throw kernelFailure(kernel.name, failure instanceof Error ? failure.message : `${failure}`);
    }
    if (Atomics.load(words, WORD.failed) !== 0) {
      throw kernelFailure(kernel.name, this.#clearFailure());
    }
    if (this.#startFailure !== undefined) {
      throw new RgxError(`a worker thread of the CPU device failed: ${this.#startFailure}`, {
        advice: "set RGX_NUM_THREADS=1 to run without worker threads",
      });
    }
  }

  /** Closes the job and waits until the workers that joined have left. */
  #close(): void {
    const { words } = this.#control;
    let state = Atomics.and(words, WORD.state, ~OPEN) & ~OPEN;
    if ((state & JOINED_MASK) === 0) return;
    while (spinWhile(words, WORD.state, state)) {
      state = Atomics.load(words, WORD.state);
      if ((state & JOINED_MASK) === 0) return;
    }
    Atomics.store(words, WORD.callerSleeps, 1);
    while (((state = Atomics.load(words, WORD.state)) & JOINED_MASK) !== 0) {
      Atomics.wait(words, WORD.state, state);
    }
    Atomics.store(words, WORD.callerSleeps, 0);
  }

  #clearFailure(): string {
    const { words, text } = this.#control;
    const message = new TextDecoder().decode(text.slice(0, words[WORD.failureLength]));
    words[WORD.failureLength] = 0;
    Atomics.store(words, WORD.failed, 0);
    return message;
  }

  #start(): void {
    const spin = this.threads <= navigator.hardwareConcurrency;
    for (let thread = 1; thread < this.threads; thread++) {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        this.#startFailure = event.message;
      });
      const start: WorkerStart = {
        module: this.#module,
        memory: this.#memory,
        control: this.#shared,
        thread,
        spin,
      };
      worker.postMessage(start);
      this.#workers.push(worker);
    }
  }

  /** Starts the workers and waits until all are up; only measurements and tests need it. */
  async ready(): Promise<void> {
    if (this.threads > 1 && this.#workers.length === 0) this.#start();
    const { words } = this.#control;
    while (Atomics.load(words, WORD.ready) < this.#workers.length && !this.#startFailure) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Stops the workers. Idempotent. */
  close(): void {
    Atomics.store(this.#control.words, WORD.stop, 1);
    Atomics.add(this.#control.words, WORD.wake, 1);
    Atomics.notify(this.#control.words, WORD.wake);
    for (const worker of this.#workers) worker.terminate();
    this.#workers = [];
  }
}

function kernelFailure(kernel: string, message: string): RgxError {
  return new RgxError(`the CPU kernel "${kernel}" failed: ${message}`, {
    advice: "this is a bug in rgx; please report it with the command that led to it",
  });
}
