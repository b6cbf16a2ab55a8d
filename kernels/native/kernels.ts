/**
 * The kernels in C (c/) as functions, from the WebAssembly module or from a native library. Both
 * have the functions that build.ts adds: `kernel_names`, and `run_kernel`, which calls the kernel
 * of an index. A kernel has the same bits in all of them (self_check.ts).
 */
import type { CpuFeatures } from "./cpu.ts";

/** Native code that this processor can run. */
export interface NativeCode extends CpuFeatures {
  /** The file of the library (library.ts). */
  path: string;
}

/**
 * Runs the units [begin, end) of a kernel. All arguments are addresses in the device's memory or
 * counts.
 * @param args where the kernel's arguments are, as 64-bit floats
 * @param scratch memory of the thread
 */
export type CKernel = (args: number, begin: number, end: number, scratch: number) => void;

/** The kernels by their names, each with the fields of its struct in order. */
export type CKernels = Map<string, { run: CKernel; fields: readonly string[] }>;

const SYMBOLS = {
  kernel_names: { parameters: [], result: "pointer" },
  // The memory's first byte, the index, the arguments of CKernel, and the options of kernel.h.
  run_kernel: {
    parameters: ["pointer", "u32", "u32", "i32", "i32", "u32", "u32"],
    result: "void",
  },
} as const;

/** The kernels of a list "name field field…,name field…". @param run makes a kernel of its index */
function kernelsOf(names: string, run: (index: number) => CKernel): CKernels {
  return new Map(
    names.split(",").map((text, index) => {
      const [name, ...fields] = text.split(" ");
      return [name!, { run: run(index), fields }];
    }),
  );
}

/** The kernels of an instance of the WebAssembly module. @param stackEnd end of a thread's stack */
export function wasmKernels(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  stackEnd: number,
): CKernels {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  (exports.__stack_pointer as WebAssembly.Global).value = stackEnd;
  const run = exports.run_kernel as (...args: number[]) => void;
  const text = new Uint8Array(memory.buffer), begin = (exports.kernel_names as () => number)();
  const names = new TextDecoder().decode(text.slice(begin, text.indexOf(0, begin)));
  return kernelsOf(names, (index) => (args, first, end, scratch) => {
    run(0, index, args, first, end, scratch, 0);
  });
}

/** The numbers of the units in bf16.h. */
const BF16_UNITS = { amx: 1, avx512: 2, tiles: 0 } as const;

/** The kernels of rounded products. */
const ROUNDED_KERNELS = ["bf16", "f16"].flatMap((
  type,
) => [`${type}_pack_rows`, `matmul_${type}`, `${type}_pack_columns`, `matmul_${type}_rows`]);

/** The libraries that this thread has opened, by their path. */
const opened = new Map<string, Deno.DynamicLibrary<typeof SYMBOLS>["symbols"]>();

/** The native kernels on a memory. */
export function nativeKernels(code: NativeCode, memory: WebAssembly.Memory): CKernels {
  const { path, dots, bf16 } = code;
  const symbols = opened.get(path) ?? Deno.dlopen(path, SYMBOLS).symbols;
  opened.set(path, symbols);
  // A shared memory never moves: its address space is reserved when it is made.
  const base = Deno.UnsafePointer.of(new Uint8Array(memory.buffer as ArrayBuffer, 0, 1));
  const unit = bf16 === null ? 0 : BF16_UNITS[bf16];
  const options = (code.vnni ? 512 : 0) + (code.prefetches ? 256 : 0) + unit;
  // V8 calls native code directly (in 20 to 40 ns, not in some µs) only where it sees which
  // function is called.
  const { run_kernel } = symbols;
  const names = Deno.UnsafePointerView.getCString(symbols.kernel_names()!);
  const found = kernelsOf(names, (index) => (args, begin, end, scratch) => {
    run_kernel(base, index, args, begin, end, scratch, options);
  });
  if (!dots) { for (const name of ["matmul_int8", "matmul_int8_prepare"]) found.delete(name); }
  if (bf16 === null) { for (const name of ROUNDED_KERNELS) found.delete(name); }
  return found;
}
