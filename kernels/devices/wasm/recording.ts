/**
 * Recordings of the CPU device: the jobs of a recorder as a program of the thread pool. Recordings
 * share their scratch, since only one runs at a time and none needs its old content. This saves
 * memory: there may be hundreds of recordings, one for each number of rows, and sampling of tokens
 * needs a megabyte of scratch per thread.
 */
import type { Recording } from "../../device.ts";
import type { Tensor } from "../../tensor.ts";
import type { WasmMemory } from "./memory.ts";
import { Recorder, type RecorderHost, Unrecordable } from "./recorder.ts";
import type { Program, ThreadPool } from "./thread_pool.ts";

/** A block of scratch. `users` is the number of recordings that use it. */
interface Block {
  address: number;
  bytes: number;
  users: number;
}

export class Recordings {
  readonly #valid = new Set<WasmRecording>();
  readonly #scratch = new Set<Block>();

  constructor(private readonly memory: WasmMemory, private readonly pool: ThreadPool) {}

  /**
   * Makes a recording.
   * @param beforeRun called before each run
   * @param work runs the operations on the recorder
   * @returns null when an operation cannot be recorded or the memory is exhausted
   */
  make(
    host: Omit<RecorderHost, "allocate" | "place">,
    beforeRun: () => void,
    work: (recorder: Recorder) => void,
  ): Recording | null {
    const { memory, pool } = this, blocks: Block[] = [], texts: number[] = [];
    const allocate = (bytes: number) => {
      const block = this.#borrow(bytes, blocks);
      blocks.push(block);
      return block.address;
    };
    const release = () => {
      blocks.splice(0).forEach((block) => this.#giveBack(block));
      texts.splice(0).forEach((address) => memory.free(address));
    };
    try {
      const place: RecorderHost["place"] = (job, addressOf) => pool.place(job, addressOf);
      const recorder = new Recorder({ ...host, allocate, place });
      work(recorder);
      const stride = Math.max(0, ...recorder.stages.flat().map((job) => job.stride));
      const address = allocate(stride * pool.threads);
      const program = pool.compile(recorder.stages, { address, stride }, (bytes) => {
        texts.push(this.#allocate(bytes));
        return texts.at(-1)!;
      });
      const tensors = new Set(recorder.tensors.keys());
      const recording = new WasmRecording(this, program, tensors, beforeRun, release);
      this.#valid.add(recording);
      return recording;
    } catch (error) {
      release();
      if (error instanceof Unrecordable) return null;
      throw error;
    }
  }

  /** The smallest fitting block that the recording does not use yet, else a new one. */
  #borrow(bytes: number, taken: readonly Block[]): Block {
    let best: Block | null = null;
    for (const block of this.#scratch) {
      const fits = block.bytes >= bytes && !taken.includes(block);
      if (fits && (best === null || block.bytes < best.bytes)) best = block;
    }
    best ??= { address: this.#allocate(bytes), bytes, users: 0 };
    this.#scratch.add(best);
    best.users++;
    return best;
  }

  #giveBack(block: Block): void {
    if (--block.users > 0) return;
    this.#scratch.delete(block);
    this.memory.free(block.address);
  }

  #allocate(bytes: number): number {
    try {
      return this.memory.allocate(bytes, "a recording");
    } catch (cause) {
      throw new Unrecordable("out of memory", { cause });
    }
  }

  has(recording: WasmRecording): boolean {
    return this.#valid.has(recording);
  }

  run(recording: WasmRecording): void {
    if (!this.has(recording)) throw new Error("a recording whose tensors are gone was run");
    recording.beforeRun();
    this.pool.replay(recording.program);
  }

  drop(recording: WasmRecording): void {
    if (this.#valid.delete(recording)) recording.release();
  }

  /** Drops all recordings that use a tensor, which is about to be freed. */
  dropWith(tensor: Tensor): void {
    for (const recording of this.#valid) if (recording.tensors.has(tensor)) this.drop(recording);
  }

  /** Drops all recordings when the whole memory is freed. */
  clear(): void {
    this.#valid.clear();
    this.#scratch.clear();
  }
}

class WasmRecording implements Recording {
  constructor(
    private readonly all: Recordings,
    readonly program: Program,
    readonly tensors: ReadonlySet<Tensor>,
    readonly beforeRun: () => void,
    readonly release: () => void,
  ) {}

  get isValid(): boolean {
    return this.all.has(this);
  }

  run(): void {
    this.all.run(this);
  }

  free(): void {
    this.all.drop(this);
  }
}
