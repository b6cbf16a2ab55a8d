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
const ZIG_VERSION = "0.17.1";

const FOLDER = new URL("./c/", import.meta.url);

/** A library: the processors that it is for, and the compiler's options for them. */
interface Target {
  file: URL;
  /** zig's name of the processor and the system. */
  target: string;
  options: readonly string[];
  /** The sources, with the processor that each may count on. */
  sources: Readonly<Record<string, string>>;
}

/** The kernels that need no more than the vectors of a target. */
const KERNELS = [
  "tiles.c",
  "blocks.c",
  "products.c",
  "stored.c",
  "dots.c",
  "few_rows.c",
  "attention.c",
  "attention_backward.c",
  "attention_decode.c",
  "decode_layer.c",
  "head.c",
  "rows.c",
  "sums.c",
  "sample.c",
];

const sourcesFor = (processor: string, others: Record<string, string>) => ({
  ...Object.fromEntries(KERNELS.map((source) => [source, processor])),
  ...others,
});

const fileOf = (target: string) => new URL(`./${target}.so`, import.meta.url);

/** The libraries that are committed. */
const TARGETS: readonly Target[] = [
  {
    file: fileOf("avx512"),
    target: "x86_64-linux-gnu",
    options: ["-fcf-protection=none", "-mprefer-vector-width=512"],
    sources: sourcesFor("x86_64_v4", {
      "cpu.c": "x86_64",
      "int8.c": "x86_64_v4+avx512vnni",
      "bf16.c": "x86_64_v4+avx512bf16",
      "bf16_pack.c": "x86_64_v4+avx512bf16",
      "pairs.c": "x86_64_v4+avx512bf16",
      "amx.c": "x86_64_v4+amx_tile+amx_bf16",
    }),
  },
  {
    file: fileOf("avx2"),
    target: "x86_64-linux-gnu",
    options: ["-fcf-protection=none"],
    sources: sourcesFor("x86_64_v3", { "cpu.c": "x86_64", "int8.c": "x86_64_v3" }),
  },
  {
    file: fileOf("neon"),
    target: "aarch64-linux-gnu",
    options: [],
    sources: sourcesFor("generic", { "int8.c": "generic+dotprod" }),
  },
];

/**
 * Position-independent code without a C library. `-ffp-contract=off` and the absence of
 * `-ffast-math` keep the sums as they are written.
 */
const OPTIONS = `
  -O3 -std=c11 -Wall -Wextra -Werror -ffp-contract=off -ffreestanding -fPIC -fno-stack-protector
  -fno-asynchronous-unwind-tables -fvisibility=hidden -fno-builtin -g0
`.trim().split(/\s+/);

/** The command that runs zig. */
function zigCommand(): string[] {
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

/** Compiles a library. @throws Error with the compiler's diagnostics */
async function buildNative({ target, options, sources }: Target): Promise<Uint8Array> {
  const folder = await Deno.makeTempDir();
  try {
    const objects = await Promise.all(
      Object.entries(sources).map(async ([source, processor]) => {
        const object = `${folder}/${source}.o`;
        const how = [...options, ...OPTIONS, `-mcpu=${processor}`];
        await zig("cc", "-target", target, ...how, "-c", source, "-o", object);
        return object;
      }),
    );
    await zig(
      "cc",
      "-target",
      target,
      "-shared",
      "-nostdlib",
      "-s",
      "-o",
      `${folder}/library.so`,
      ...objects,
    );
    return await Deno.readFile(`${folder}/library.so`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const nameOf = ({ file }: Target) => `kernels/native/${file.pathname.split("/").at(-1)}`;

/** The committed libraries that differ from the compiled sources. */
export async function outdatedLibraries(): Promise<string[]> {
  const outdated: string[] = [];
  for (const target of TARGETS) {
    const [built, committed] = await Promise.all([
      buildNative(target),
      // A new target has no library yet.
      Deno.readFile(target.file).catch(() => new Uint8Array()),
    ]);
    const same = built.length === committed.length &&
      built.every((byte, i) => byte === committed[i]);
    if (!same) outdated.push(nameOf(target));
  }
  return outdated;
}

if (import.meta.main) {
  if (Deno.args.includes("--check")) {
    const outdated = await outdatedLibraries();
    if (outdated.length > 0) {
      console.error(`${outdated.join(", ")}: not what the sources give: deno task build:native`);
      Deno.exit(1);
    }
    console.log("the native kernels are up to date");
  } else {
    for (const target of TARGETS) {
      const bytes = await buildNative(target);
      await Deno.writeFile(target.file, bytes);
      console.log(`${nameOf(target)}: ${bytes.length} bytes`);
    }
  }
}
