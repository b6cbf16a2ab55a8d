/**
 * The V8 flags that rgx runs with; `deno.json`, which can import nothing, repeats them (a test compares).
 * What they do stands in ARCHITECTURE.md.
 */

/** Of every run: the young generation stays small. */
const ALWAYS = ["--max-semi-space-size=8"];

/** Of the safe variants: the kernels' memory accesses are checked. */
export const SAFE_V8_FLAGS = `--v8-flags=${ALWAYS.join(",")}`;

/** Of all others: no bounds checks, and two SIMD registers as one where the processor can. */
export const V8_FLAGS = "--v8-flags=" +
  ["--no-wasm-bounds-checks", "--experimental-wasm-revectorize", ...ALWAYS].join(",");
