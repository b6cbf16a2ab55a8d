/**
 * The command that starts this program again, for worker processes and job scripts, and the V8
 * flags that rgx runs with. `deno.json` cannot import them and repeats them; a test compares both.
 * ARCHITECTURE.md says what they do.
 */
import { fileURLToPath } from "node:url";

/** Flags for every run: the young generation of the heap stays small. */
const ALWAYS = ["--max-semi-space-size=8"];

/** Flags of the safe variants, in which the memory accesses of the kernels are checked. */
export const SAFE_V8_FLAGS = `--v8-flags=${ALWAYS.join(",")}`;

/** Flags of all others: no bounds checks, and two SIMD registers act as one if the CPU can. */
export const V8_FLAGS = "--v8-flags=" +
  ["--no-wasm-bounds-checks", "--experimental-wasm-revectorize", ...ALWAYS].join(",");

/** The executable, or Deno with the arguments of `deno task rgx`; absolute paths, or an address. */
export function programCommand(): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const main = new URL(MAIN, import.meta.url);
  const program = main.protocol === "file:" ? fileURLToPath(main) : main.href;
  return [Deno.execPath(), "run", "-A", "--quiet", V8_FLAGS, program];
}

const MAIN = "../main.ts";
