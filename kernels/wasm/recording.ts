/** Recordings of the CPU device: what a recorder has seen, as a program of the thread pool with memory of its own. */
import type { Recording, Tensor } from "../device.ts";
import type { WasmMemory } from "./memory.ts";
import { Recorder, type RecorderHost, Unrecordable } from "./recorder.ts";
import { type Program, scratchStride, type ThreadPool } from "./thread_pool.ts";

export class Recordings {
  readonly #valid = new Set<WasmRecording>();

  constructor(private readonly memory: WasmMemory, private readonly pool: ThreadPool) {}

  /**
   * Makes a recording of what `work` gives a recorder; null when some of it cannot be recorded.
   * @param beforeRun called before each run
   */
  make(
    host: Omit<RecorderHost, "allocate">,
    beforeRun: () => void,
    work: (recorder: Recorder) => void,
  ): Recording | null {
    const { memory, pool } = this, addresses: number[] = [];
    const allocate = (bytes: number) => {
      const address = memory.allocate(bytes, "a recording");
      addresses.push(address);
      return address;
    };
    const release = () => addresses.splice(0).forEach((address) => memory.free(address));
    try {
      const recorder = new Recorder({ ...host, allocate });
      work(recorder);
      const stride = Math.max(0, ...recorder.stages.flat().map(scratchStride));
      const address = allocate(stride * pool.threads);
      const program = pool.compile(recorder.stages, { address, stride });
      program.address = allocate(program.text.byteLength);
      new Float64Array(memory.memory.buffer, program.address, program.text.length)
        .set(program.text);
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

  /** Drops all that read or write a tensor, which is about to be freed. */
  dropWith(tensor: Tensor): void {
    for (const recording of this.#valid) if (recording.tensors.has(tensor)) this.drop(recording);
  }

  /** Forgets all, as their memory goes. */
  clear(): void {
    this.#valid.clear();
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
