/**
 * Compiles the AssemblyScript kernels to `kernels.wasm`, which is committed so that running rgx needs
 * no compiler. The same sources give the same bytes everywhere.
 *
 *     deno task build:wasm            rebuilds the file
 *     deno task build:wasm --check    fails when the committed file differs from a rebuild
 */
import asc from "assemblyscript/asc";

const ROOT = new URL("../", import.meta.url);
const ENTRY = "wasm/index.as.ts";
export const WASM_FILE = new URL("./kernels.wasm", import.meta.url);

/** Options of the compiler; the memory is imported, shared and may grow to 4 GiB. */
const OPTIONS = [
  "-O3",
  "--runtime",
  "stub",
  "--enable",
  "simd,relaxed-simd,threads,bulk-memory",
  "--importMemory",
  "--sharedMemory",
  "--initialMemory",
  "1",
  "--maximumMemory",
  "65536",
  "--noAssert",
];

/** Compiles all kernels. @throws Error with the compiler's diagnostics. */
export async function buildWasm(): Promise<Uint8Array> {
  let binary: Uint8Array | undefined;
  let diagnostics = "";
  const result = await asc.main([ENTRY, "-o", "kernels.wasm", ...OPTIONS], {
    stdout: { write: (text: unknown) => void (diagnostics += String(text)) },
    stderr: { write: (text: unknown) => void (diagnostics += String(text)) },
    readFile: (name: string) => {
      try {
        return Deno.readTextFileSync(new URL(name, ROOT));
      } catch {
        return null;
      }
    },
    writeFile: (_name: string, contents: string | Uint8Array) => {
      if (typeof contents !== "string") binary = contents;
    },
    listFiles: () => [],
  });
  if (result.error || !binary) {
    throw new Error(`the WASM kernels do not compile:\n${diagnostics || result.error?.message}`);
  }
  return binary;
}

/** Whether the committed file is what the sources give. */
export async function wasmIsCurrent(): Promise<boolean> {
  const [built, committed] = await Promise.all([buildWasm(), Deno.readFile(WASM_FILE)]);
  return built.length === committed.length && built.every((byte, i) => byte === committed[i]);
}

if (import.meta.main) {
  if (Deno.args.includes("--check")) {
    if (!await wasmIsCurrent()) {
      console.error("kernels/wasm/kernels.wasm is not what the sources give: deno task build:wasm");
      Deno.exit(1);
    }
    console.log("kernels/wasm/kernels.wasm is up to date");
  } else {
    const binary = await buildWasm();
    await Deno.writeFile(WASM_FILE, binary);
    console.log(`kernels/wasm/kernels.wasm: ${binary.length} bytes`);
  }
}
