/**
 * Compiles the AssemblyScript kernels to `kernels.wasm`. This file is committed, so running rgx
 * needs no compiler. The same sources give the same bytes everywhere. Two of the sources are
 * generated when the compiler reads them; they are not stored as files.
 *
 *     deno task build:wasm                       compiles the file
 *     deno task build:wasm --check               fails when the committed file is not up to date
 *     deno task build:wasm --print <NAME>.as.ts  prints a generated source
 */
import asc from "assemblyscript/asc";
import { int8TilesSource } from "../../ops/matmul/wasm/generate_int8.ts";
import { codesSource } from "../../weights/generate.ts";

const ROOT = new URL("../../", import.meta.url);
const ENTRY = "devices/wasm/index.as.ts";

/** The generated sources, by their path in `kernels/`. */
const GENERATED: Readonly<Record<string, () => string>> = {
  "ops/matmul/wasm/int8_tiles.as.ts": int8TilesSource,
  "weights/codes.as.ts": codesSource,
};

const WASM_FILE = new URL("./kernels.wasm", import.meta.url);

/** Options of the compiler. The memory is imported, shared, and can grow to 4 GiB. */
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
async function buildWasm(): Promise<Uint8Array> {
  let binary: Uint8Array | undefined;
  let diagnostics = "";
  const result = await asc.main([ENTRY, "-o", "kernels.wasm", ...OPTIONS], {
    stdout: { write: (text: unknown) => void (diagnostics += String(text)) },
    stderr: { write: (text: unknown) => void (diagnostics += String(text)) },
    readFile: (name: string) => {
      const generated = GENERATED[name];
      if (generated !== undefined) return generated();
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

/** Whether the committed file equals the compiled sources. */
export async function wasmIsCurrent(): Promise<boolean> {
  const [built, committed] = await Promise.all([buildWasm(), Deno.readFile(WASM_FILE)]);
  return built.length === committed.length && built.every((byte, i) => byte === committed[i]);
}

if (import.meta.main) {
  const [flag, name] = Deno.args;
  if (flag === "--print") {
    const path = Object.keys(GENERATED).find((path) => path.endsWith(`/${name}`));
    if (path === undefined) {
      console.error(`no generated source ${name}, expected one of ${Object.keys(GENERATED)}`);
      Deno.exit(2);
    }
    console.log(GENERATED[path]!());
  } else if (Deno.args.includes("--check")) {
    if (!await wasmIsCurrent()) {
      console.error(
        "kernels/devices/wasm/kernels.wasm is not what the sources give: deno task build:wasm",
      );
      Deno.exit(1);
    }
    console.log("kernels/devices/wasm/kernels.wasm is up to date");
  } else {
    const binary = await buildWasm();
    await Deno.writeFile(WASM_FILE, binary);
    console.log(`kernels/devices/wasm/kernels.wasm: ${binary.length} bytes`);
  }
}
