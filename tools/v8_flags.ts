/**
 * The V8 flags that rgx runs with. `deno.json` cannot import them and repeats them; a test compares
 * both. ARCHITECTURE.md says what they do.
 */

/** For every run: the young generation of the heap stays small. */
const ALWAYS = ["--max-semi-space-size=8"];

/** For the safe variants, where the memory accesses of the kernels are checked. */
export const SAFE_V8_FLAGS = `--v8-flags=${ALWAYS.join(",")}`;

/** For all others: no bounds checks, and two SIMD registers are used as one if the CPU can. */
export const V8_FLAGS = "--v8-flags=" +
  ["--no-wasm-bounds-checks", "--experimental-wasm-revectorize", ...ALWAYS].join(",");
