/** The functions of an opened MPI library, and the handles of its binary interface. */
import { RgxError } from "../../../core/errors.ts";
import type { Abi } from "./launch.ts";
import { type FoundLibrary, TEXT_BYTES } from "./library.ts";

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

/** A handle as its interface passes it. */
type Handle = Deno.PointerValue | number;

export interface MpiHandles {
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

export class MpiFunctions {
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
