/** Kernels that trap, for tests of how the CPU device handles failures. */
import asc from "assemblyscript/asc";
import { strict as assert } from "node:assert";

/** Kernels that trap at one unit, or only in threads other than the caller's. */
const SOURCE = `
export function zero(target: usize, begin: i32, end: i32, scratch: usize): void {}
export function fail_at(unit: i32, begin: i32, end: i32, scratch: usize): void {
  if (begin <= unit && unit < end) unreachable();
}
export function remember(at: usize, begin: i32, end: i32, scratch: usize): void {
  store<usize>(at, scratch);
}
export function fail_elsewhere(at: usize, begin: i32, end: i32, scratch: usize): void {
  if (load<usize>(at) != scratch) unreachable();
  for (let i = 0; i < 100000; i++) atomic.store<i32>(at, load<i32>(at));
}
`;

/** Compiles these kernels. */
export async function failingKernels(): Promise<WebAssembly.Module> {
  let binary: Uint8Array<ArrayBuffer> | undefined;
  const flags = "-O --runtime stub --enable threads --importMemory --sharedMemory " +
    "--initialMemory 1 --maximumMemory 65536 -o out.wasm";
  await asc.main(["failing.ts", ...flags.split(" ")], {
    readFile: (name: string) => name === "failing.ts" ? SOURCE : null,
    writeFile: (_: string, contents: string | Uint8Array) => {
      if (typeof contents !== "string") binary = new Uint8Array(contents);
    },
    listFiles: () => [],
  });
  assert.ok(binary);
  return await WebAssembly.compile(binary);
}
