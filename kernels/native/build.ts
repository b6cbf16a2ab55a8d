/**
 * Compiles the native kernels (c/) with zig's C compiler, which comes from the
 * Python index (`pip install ziglang==VERSION`). The library is committed, so running rgx needs no
 * compiler. The same sources give the same bytes everywhere.
 *
 *     deno task build:native           compiles the library
 *     deno task build:native --check   fails when the committed library is not up to date
 *
 * RGX_ZIG names the compiler; without it, it is the module `ziglang` of Python.
 */
import { RgxError } from "../../core/errors.ts";

/** The version of ziglang that gives the committed bytes. */
export const ZIG_VERSION = "0.17.1";

const FOLDER = new URL("./c/", import.meta.url);
export const LIBRARY = new URL("./x86_64.so", import.meta.url);

/** The sources, with the processor that each may count on. */
const SOURCES: Readonly<Record<string, string>> = {
  "cpu.c": "x86_64",
  "tiles.c": "x86_64_v4",
  "blocks.c": "x86_64_v4",
  "products.c": "x86_64_v4",
  "stored.c": "x86_64_v4",
  "dots.c": "x86_64_v4",
  "few_rows.c": "x86_64_v4",
  "attention.c": "x86_64_v4",
  "attention_backward.c": "x86_64_v4",
  "attention_decode.c": "x86_64_v4",
  "decode_layer.c": "x86_64_v4",
  "head.c": "x86_64_v4",
  "rows.c": "x86_64_v4",
  "int8.c": "x86_64_v4+avx512vnni",
};

/**
 * Position-independent code without a C library. `-ffp-contract=off` and the absence of
 * `-ffast-math` keep the sums as they are written.
 */
const OPTIONS = `
  -target x86_64-linux-gnu -O3 -std=c11 -Wall -Wextra -Werror -ffp-contract=off -ffreestanding -fPIC
  -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -fvisibility=hidden
  -fno-builtin -mprefer-vector-width=512 -g0
`.trim().split(/\s+/);

const LINK = ["-target", "x86_64-linux-gnu", "-shared", "-nostdlib", "-s"];

/** The command that runs zig. */
export function zigCommand(): string[] {
  const zig = Deno.env.get("RGX_ZIG");
  const python = Deno.env.get("RGX_TEST_PYTHON") ?? "python3";
  return zig === undefined ? [python, "-m", "ziglang"] : [zig];
}

async function zig(...args: string[]): Promise<string> {
  const [program, ...first] = zigCommand();
  let output;
  try {
    output = await new Deno.Command(program!, { args: [...first, ...args], cwd: FOLDER }).output();
  } catch {
    throw missing(program!);
  }
  if (!output.success) {
    const text = new TextDecoder().decode(output.stderr);
    if (text.includes("No module named")) throw missing(program!);
    throw new Error(`zig ${args[0]} failed:\n${text}`);
  }
  return new TextDecoder().decode(output.stdout).trim();
}

function missing(program: string): RgxError {
  return new RgxError(`zig's compiler was not found (${program})`, {
    advice: `pip install ziglang==${ZIG_VERSION}, or set RGX_ZIG to the program zig`,
  });
}

/** Whether the compiler is here, in the version that gives the committed bytes. */
export async function hasZig(): Promise<boolean> {
  try {
    return await zig("version") === ZIG_VERSION;
  } catch {
    return false;
  }
}

/** Compiles the library. @throws Error with the compiler's diagnostics */
export async function buildNative(): Promise<Uint8Array> {
  const folder = await Deno.makeTempDir();
  try {
    const objects = await Promise.all(
      Object.entries(SOURCES).map(async ([source, processor]) => {
        const object = `${folder}/${source}.o`;
        await zig("cc", ...OPTIONS, `-mcpu=${processor}`, "-c", source, "-o", object);
        return object;
      }),
    );
    await zig("cc", ...LINK, "-o", `${folder}/library.so`, ...objects);
    return await Deno.readFile(`${folder}/library.so`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Whether the committed library equals the compiled sources. */
export async function nativeIsCurrent(): Promise<boolean> {
  const [built, committed] = await Promise.all([buildNative(), Deno.readFile(LIBRARY)]);
  return built.length === committed.length && built.every((byte, i) => byte === committed[i]);
}

if (import.meta.main) {
  if (Deno.args.includes("--check")) {
    if (!await nativeIsCurrent()) {
      console.error(
        "kernels/native/x86_64.so is not what the sources give: deno task build:native",
      );
      Deno.exit(1);
    }
    console.log("kernels/native/x86_64.so is up to date");
  } else {
    const library = await buildNative();
    await Deno.writeFile(LIBRARY, library);
    console.log(`kernels/native/x86_64.so: ${library.length} bytes`);
  }
}
