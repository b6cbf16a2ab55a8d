/**
 * V8 compiles a call of native code anew when it is hot, and it ends the process where the call has
 * more arguments than a field of its instructions can count (39 were too many). So every kernel is
 * called until it is hot, in a process of its own.
 */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { nativeLibraries } from "./library.ts";

const MODULES = ["./library.ts", "./kernels.ts"].map((name) =>
  JSON.stringify(new URL(name, import.meta.url).href)
);

/**
 * The range of units is empty, and all arguments are 8, a size and a storage type (int8). So a
 * kernel does next to nothing.
 */
const SCRIPT = `
const { nativeLibraries } = await import(${MODULES[0]});
const { nativeKernels } = await import(${MODULES[1]});
const memory = new WebAssembly.Memory({ initial: 64, maximum: 128, shared: true });
const numbers = new Float64Array(memory.buffer, 64, 64).fill(8);
for (const [name, { run }] of nativeKernels(nativeLibraries().codes[0], memory)) {
  for (let i = 0; i < 30_000; i++) run(numbers.byteOffset, 0, 0, 65536);
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (let i = 0; i < 1000; i++) run(numbers.byteOffset, 0, 0, 65536);
  console.log(name);
}`;

Deno.test("every native kernel can be called often", {
  ignore: needs(nativeLibraries().codes.length > 0, NEEDED.native),
}, async () => {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--unstable-raw-imports", "--no-check", SCRIPT],
    env: { NO_COLOR: "1" },
  }).output();
  const done = new TextDecoder().decode(stdout).trim().split("\n");
  assert.ok(success, `after ${done.at(-1)}: ${new TextDecoder().decode(stderr).slice(0, 600)}`);
  assert.ok(done.includes("matmul_blocks"), `kernels: ${done}`);
});
