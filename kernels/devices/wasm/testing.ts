/** Kernels that trap (native/c/failing.c), for tests of how the CPU device handles failures. */
import bytes from "../../native/failing.wasm" with { type: "bytes" };

/** The module of these kernels. */
export function failingKernels(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(bytes as Uint8Array<ArrayBuffer>);
}
