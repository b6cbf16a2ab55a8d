/**
 * Ranks by MPI. Before a collective call the ranks meet at a barrier that does not block. So a rank
 * that waits keeps its event loop (timers, signals, the watch over the others), and it takes no
 * processor time, as a waiting call of MPI would. When all ranks are there, the call itself runs at
 * once.
 */
import { RgxError } from "../../../core/errors.ts";
import { type Alarm, type Blocks, consecutive, partOf, type Transport } from "../transport.ts";
import {
  type Abi,
  findLibrary,
  type FoundLibrary,
  launchOf,
  mismatch,
  TEXT_BYTES,
} from "./library.ts";

/** MPI_THREAD_FUNNELED: only this thread calls MPI. */
const FUNNELED = 1;

/** How often a barrier is tested before the first pause; the longest pause in milliseconds. */
const EAGER_TESTS = 200, LONGEST_PAUSE = 4;

/** Counts of MPI are 32-bit integers. */
const MAX_COUNT = 2 ** 31 - 1;

export class MpiTransport implements Transport {
  readonly rank: number;
  readonly size: number;
  readonly #mpi: MpiFunctions;

  private constructor(mpi: MpiFunctions, readonly label: string) {
    this.#mpi = mpi;
    const number = new Int32Array(1), { world } = mpi.handles;
    mpi.call("MPI_Comm_rank", world, number);
    this.rank = number[0]!;
    mpi.call("MPI_Comm_size", world, number);
    this.size = number[0]!;
  }

  /**
   * Opens the library and joins the other ranks; null when this process was started alone.
   * @throws UsageError when there is no library, or it does not understand the launcher
   */
  static open(): MpiTransport | null {
    const launch = launchOf();
    if (launch === null) return null;
    const library = findLibrary(launch);
    const mpi = new MpiFunctions(library), { world, errorsReturn } = mpi.handles;
    mpi.call("MPI_Init_thread", null, null, FUNNELED, new Int32Array(1));
    // Without this, an error would end the process within the library.
    mpi.call("MPI_Comm_set_errhandler", world, errorsReturn);
    const transport = new MpiTransport(mpi, `${library.version} (${library.path})`);
    if (transport.size !== launch.size) {
      mpi.call("MPI_Finalize");
      throw mismatch(launch, library, "the library");
    }
    return transport;
  }

  async allGather(bytes: Uint8Array, alarm: Alarm): Promise<Uint8Array<ArrayBuffer>[]> {
    await this.#meet(alarm);
    const { world, byte } = this.#mpi.handles;
    // Lengths as doubles of 8 bytes, because they may be beyond 32 bits.
    const own = Float64Array.of(bytes.length), lengths = new Float64Array(this.size);
    this.#mpi.call("MPI_Allgather", bytesOf(own), 8, byte, bytesOf(lengths), 8, byte, world);
    const all = consecutive([...lengths]);
    partOf(all, this.rank).set(bytes);
    this.#gather(all);
    // Copies, so that each can be read as floats, which need an aligned start.
    return Array.from(lengths, (_, rank) => new Uint8Array(partOf(all, rank)));
  }

  async gatherParts(parts: Blocks, alarm: Alarm | null): Promise<void> {
    if (alarm !== null) await this.#meet(alarm);
    this.#gather(parts);
  }

  /** Fills the parts of the other ranks. All ranks have met before. */
  #gather(parts: Blocks): void {
    const { world, byte, inPlace } = this.#mpi.handles, { bytes } = parts;
    const { counts, starts } = integers(parts);
    this.#mpi.call(
      "MPI_Allgatherv",
      inPlace,
      0,
      byte,
      notEmpty(bytes),
      counts,
      starts,
      byte,
      world,
    );
  }

  async exchange(send: Blocks, receive: Blocks, alarm: Alarm | null): Promise<void> {
    if (alarm !== null) await this.#meet(alarm);
    const { world, byte } = this.#mpi.handles, out = integers(send), into = integers(receive);
    this.#mpi.call(
      "MPI_Alltoallv",
      notEmpty(send.bytes),
      out.counts,
      out.starts,
      byte,
      notEmpty(receive.bytes),
      into.counts,
      into.starts,
      byte,
      world,
    );
  }

  async allReduce(values: Float32Array | Float64Array, alarm: Alarm): Promise<void> {
    await this.#meet(alarm);
    const { world, float, double, sum, inPlace } = this.#mpi.handles;
    const type = values instanceof Float32Array ? float : double;
    if (values.length === 0) return;
    this.#mpi.call("MPI_Allreduce", inPlace, values, values.length, type, sum, world);
  }

  abort(exitCode: number): void {
    silence();
    this.#mpi.call("MPI_Abort", this.#mpi.handles.world, exitCode);
  }

  async close(): Promise<void> {
    await this.#meet(() => {});
    this.#mpi.call("MPI_Finalize");
  }

  async #meet(alarm: Alarm): Promise<void> {
    // Ranks that are always in time never wait. They learn of a lost rank here.
    alarm();
    const { world, ignoreStatus } = this.#mpi.handles;
    // A request is a pointer or an integer; the memory is enough for both.
    const request = new BigUint64Array(1), isDone = new Int32Array(1);
    this.#mpi.call("MPI_Ibarrier", world, request);
    for (let tests = 0;; tests++) {
      this.#mpi.call("MPI_Test", request, isDone, ignoreStatus);
      if (isDone[0] !== 0) return;
      if (tests < EAGER_TESTS) continue;
      alarm();
      const pause = Math.min(LONGEST_PAUSE, (tests - EAGER_TESTS) / 50);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Hides MPI's own text about an abort, because a message about it was printed already. */
function silence(): void {
  if (Deno.build.os !== "linux") return;
  const { symbols } = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    dup2: { parameters: ["i32", "i32"], result: "i32" },
  });
  const WRITE_ONLY = 1, STDERR = 2;
  symbols.dup2(symbols.open(new TextEncoder().encode("/dev/null\0"), WRITE_ONLY), STDERR);
}

/** Counts and places of parts, as MPI takes them. @throws RgxError when they are too long */
function integers({ starts, lengths }: Blocks): { counts: Int32Array; starts: Int32Array } {
  for (const [i, start] of starts.entries()) {
    const end = start + lengths[i]!;
    if (end > MAX_COUNT) {
      throw new RgxError(`MPI: ${end} bytes in one call, at most ${MAX_COUNT} fit`);
    }
  }
  return { counts: Int32Array.from(lengths), starts: Int32Array.from(starts) };
}

/** An empty array has no address. */
function notEmpty(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? new Uint8Array(1) : bytes;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Parameters of the functions; "handle" is a pointer or an integer, by the interface. */
const FUNCTIONS = {
  MPI_Init_thread: ["pointer", "pointer", "i32", "buffer"],
  MPI_Comm_rank: ["handle", "buffer"],
  MPI_Comm_size: ["handle", "buffer"],
  MPI_Comm_set_errhandler: ["handle", "handle"],
  MPI_Ibarrier: ["handle", "buffer"],
  MPI_Test: ["buffer", "buffer", "pointer"],
  MPI_Allgather: ["buffer", "i32", "handle", "buffer", "i32", "handle", "handle"],
  MPI_Allgatherv: ["pointer", "i32", "handle", "buffer", "buffer", "buffer", "handle", "handle"],
  MPI_Alltoallv: [
    "buffer",
    "buffer",
    "buffer",
    "handle",
    "buffer",
    "buffer",
    "buffer",
    "handle",
    "handle",
  ],
  MPI_Allreduce: ["pointer", "buffer", "i32", "handle", "handle", "handle"],
  MPI_Error_string: ["i32", "buffer", "buffer"],
  MPI_Abort: ["handle", "i32"],
  MPI_Finalize: [],
} as const;

type Name = keyof typeof FUNCTIONS;

/** An argument: what Deno's FFI takes. */
type Argument =
  | number
  | bigint
  | Uint8Array
  | Int32Array
  | BigUint64Array
  | Float32Array
  | Float64Array
  | Deno.PointerValue;

/** A handle in the form of the library's interface. */
type Handle = Deno.PointerValue | number;

interface MpiHandles {
  world: Handle;
  byte: Handle;
  float: Handle;
  double: Handle;
  sum: Handle;
  errorsReturn: Handle;
  /** The buffer argument that means "in place". */
  inPlace: Deno.PointerValue;
  /** The argument for a status that nobody reads. */
  ignoreStatus: Deno.PointerValue;
}

/** Integers of MPICH's interface (mpi.h of MPICH 3 and 4, Intel MPI, MVAPICH). */
const MPICH_HANDLES = {
  world: 0x44000000,
  byte: 0x4c00010d,
  float: 0x4c00040a,
  double: 0x4c00080b,
  sum: 0x58000003,
  errorsReturn: 0x54000001,
} as const;

/** Names of the global objects of Open MPI whose addresses are the handles. */
const OPEN_MPI_OBJECTS = {
  world: "ompi_mpi_comm_world",
  byte: "ompi_mpi_byte",
  float: "ompi_mpi_float",
  double: "ompi_mpi_double",
  sum: "ompi_mpi_op_sum",
  errorsReturn: "ompi_mpi_errors_return",
} as const;

class MpiFunctions {
  readonly handles: MpiHandles;
  readonly #symbols: Readonly<Record<string, (...args: Argument[]) => number>>;

  constructor(library: FoundLibrary) {
    this.#symbols = openFunctions(library.path, library.abi);
    this.handles = library.abi === "MPICH"
      ? {
        ...MPICH_HANDLES,
        inPlace: Deno.UnsafePointer.create(0xffff_ffff_ffff_ffffn),
        ignoreStatus: Deno.UnsafePointer.create(1n),
      }
      : {
        ...openMpiObjects(library.path),
        inPlace: Deno.UnsafePointer.create(1n),
        ignoreStatus: null,
      };
  }

  /** Calls a function. @throws RgxError with MPI's own text when it fails */
  call(name: Name, ...args: Argument[]): void {
    const code = this.#symbols[name]!(...args);
    if (code === 0) return;
    const text = new Uint8Array(TEXT_BYTES), length = new Int32Array(1);
    this.#symbols["MPI_Error_string"]!(code, text, length);
    const why = new TextDecoder().decode(text.subarray(0, length[0])).split("\0")[0];
    throw new RgxError(`${name} failed: ${why}`, {
      advice: "Another rank may have ended: its message says more.",
    });
  }
}

function openFunctions(path: string, abi: Abi) {
  const handle = abi === "MPICH" ? "i32" : "pointer";
  const symbols: Record<string, Deno.ForeignFunction> = {};
  for (const [name, parameters] of Object.entries(FUNCTIONS)) {
    symbols[name] = {
      parameters: parameters.map((type) => type === "handle" ? handle : type),
      result: "i32",
    };
  }
  return Deno.dlopen(path, symbols).symbols as Record<string, (...args: Argument[]) => number>;
}

/** A static of type "pointer" is the address of the symbol itself. */
function openMpiObjects(path: string): Record<keyof typeof OPEN_MPI_OBJECTS, Deno.PointerValue> {
  const statics: Record<string, Deno.ForeignStatic> = {};
  for (const name of Object.values(OPEN_MPI_OBJECTS)) statics[name] = { type: "pointer" };
  const found = Deno.dlopen(path, statics).symbols as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(OPEN_MPI_OBJECTS).map(([key, name]) => [key, found[name]]),
  ) as Record<keyof typeof OPEN_MPI_OBJECTS, Deno.PointerValue>;
}
