/**
 * Compiles the kernels (c/) for WebAssembly and as native libraries, with zig's C compiler, which
 * comes from the Python index (`pip install ziglang==VERSION`). The binaries are committed, so
 * running rgx needs no compiler. The same sources give the same bytes everywhere.
 *
 *     deno task build:kernels           compiles all targets
 *     deno task build:kernels avx2      compiles one of them
 *     deno task build:kernels --check   fails when a committed file is not up to date
 *
 * RGX_ZIG names the compiler; without it, it is the module `ziglang` of Python.
 */
import { formatSums, sha256OfFile } from "../../core/checksums.ts";
import { RgxError } from "../../core/errors.ts";

/** The version of ziglang that gives the committed bytes. */
const ZIG_VERSION = "0.17.1";

const FOLDER = new URL("./c/", import.meta.url);

/** A library: the processors that it is for, and the compiler's options for them. */
interface Target {
  file: URL;
  /** Options of the linker. */
  link?: readonly string[];
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
  "experts.c",
  "dots.c",
  "few_rows.c",
  "attention.c",
  "attention_backward.c",
  "attention_decode.c",
  "decode_layer.c",
  "head.c",
  "rmsnorm.c",
  "rope.c",
  "rows.c",
  "swiglu.c",
  "sums.c",
  "sample.c",
  "elementwise.c",
  "optimizer.c",
  "bias.c",
  "dora.c",
  "adamw_8bit.c",
  "adjust_logits.c",
  "bf16_weights.c",
  "delta_rule.c",
  "dropout.c",
  "gelu.c",
  "layernorm.c",
  "short_conv.c",
  "weights.c",
];

const sourcesFor = (processor: string, others: Record<string, string>) => ({
  ...Object.fromEntries(KERNELS.map((source) => [source, processor])),
  ...others,
});

const fileOf = (name: string) => new URL(`./${name}`, import.meta.url);

const WASM_CPU = "generic+simd128+relaxed_simd+bulk_memory+atomics+nontrapping_fptoint+sign_ext";

/**
 * The memory is imported, shared, and can grow to 4 GiB. Nothing is at the address 0. It begins
 * there, though, so the compiler may not take an address in it for one that is never NULL.
 */
const WASM = {
  target: "wasm32-freestanding",
  options: ["-fno-delete-null-pointer-checks"],
  link: [
    "--no-entry",
    "--import-memory",
    "--shared-memory",
    "--initial-memory=131072",
    "--max-memory=4294901760",
    "--global-base=65536",
    "-z,stack-size=4096", // each thread gets a stack of its own (program.ts)
    "--export=run_kernel",
    "--export=kernel_names",
    "--export=__stack_pointer",
  ].map((option) => `-Wl,${option}`).concat(`-mcpu=${WASM_CPU}`),
};

/** The libraries that are committed. */
const TARGETS: readonly Target[] = [
  {
    file: fileOf("avx512.so"),
    target: "x86_64-linux-gnu",
    options: ["-fPIC", "-fcf-protection=none", "-mprefer-vector-width=512"],
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
    file: fileOf("avx2.so"),
    target: "x86_64-linux-gnu",
    options: ["-fPIC", "-fcf-protection=none"],
    sources: sourcesFor("x86_64_v3", {
      "cpu.c": "x86_64",
      "int8.c": "x86_64_v3",
      "rounded.c": "x86_64_v3",
    }),
  },
  {
    file: fileOf("neon.so"),
    target: "aarch64-linux-gnu",
    options: ["-fPIC"],
    sources: sourcesFor("generic", { "int8.c": "generic+dotprod", "rounded.c": "generic" }),
  },
  {
    file: fileOf("neon.dylib"),
    target: "aarch64-macos",
    link: ["-shared", "-Wl,-install_name,rgx"], // else the name of the folder where it is built
    options: ["-fPIC"],
    sources: sourcesFor("generic", { "int8.c": "generic+dotprod", "rounded.c": "generic" }),
  },
  {
    file: fileOf("avx2.dll"),
    target: "x86_64-windows-gnu",
    options: ["-fcf-protection=none"],
    sources: sourcesFor("x86_64_v3", {
      "cpu.c": "x86_64",
      "int8.c": "x86_64_v3",
      "rounded.c": "x86_64_v3",
    }),
  },
  {
    ...WASM,
    file: fileOf("wasm.wasm"),
    sources: sourcesFor(WASM_CPU, { "int8.c": WASM_CPU, "rounded.c": WASM_CPU }),
  },
  // Only for tests.
  { ...WASM, file: fileOf("failing.wasm"), sources: { "failing.c": WASM_CPU } },
];

/**
 * Position-independent code without a C library. `-ffp-contract=off` and the absence of
 * `-ffast-math` keep the sums as they are written.
 */
const OPTIONS = `
  -O3 -std=c11 -Wall -Wextra -Werror -ffp-contract=off -ffreestanding -fno-stack-protector
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

/** The kernels of a source: their names and their arguments. */
async function kernelsOf(source: string): Promise<{ name: string; fields: string[] }[]> {
  const text = await Deno.readTextFile(new URL(source, FOLDER));
  return [...text.matchAll(/^KERNEL(_OF)?\((\w+),([^)]*)\)/gm)].map(([, of, name, args]) => {
    const struct = new RegExp(`^typedef struct {\\s*double ([^;]*);\\s*}${args};`, "m");
    const fields = of === undefined ? args : text.match(struct)?.[1];
    if (fields === undefined) throw new Error(`${source}:${args} is not a struct of doubles`);
    return { name: name!, fields: fields.split(",").map((field) => field.trim()) };
  });
}

/** The functions through which the kernels of some sources are called (kernels.ts). */
async function entrySource(sources: string[]): Promise<string> {
  const kernels = (await Promise.all(sources.map(kernelsOf))).flat();
  const cases = kernels.map(({ name }, i) =>
    `    case ${i}: ${name}(base, base + args, begin, end, base + scratch, options); return;\n`
  );
  return `#include "kernel.h"
void ${
    kernels.map(({ name }) => `${name}(char *, const void *, int, int, char *, uint32_t)`).join(
      ", ",
    )
  };
EXPORTED const char *kernel_names(void) {
  return "${kernels.map(({ name, fields }) => [name, ...fields].join(" ")).join(",")}";
}
EXPORTED void run_kernel(
  char *base, uint32_t index, uint32_t args, int begin, int end, uint32_t scratch, uint32_t options
) {
  switch (index) {
${cases.join("")}  }
}
`;
}

/** The types of the kernels' arguments, which the bindings are checked with. */
const ARGUMENTS = new URL("../ops/common/kernel_arguments.ts", import.meta.url);

/** The text of that file. @throws Error for a kernel that differs between two sources */
async function argumentTypes(): Promise<string> {
  const types = new Map<string, string>();
  const sources = new Set(TARGETS.flatMap((target) => Object.keys(target.sources)));
  sources.delete("failing.c"); // a kernel there has a name that another one has
  for (const source of sources) {
    for (const { name, fields } of await kernelsOf(source)) {
      const line = `  ${name}: ${fields.map((field) => `"${field}"`).join(" | ")};`;
      // At most 97 columns up to a bar or to the end; those that follow are indented by three.
      const text = line.match(/.{1,97}(?= \||$)/g)!.join("\n   ");
      if ((types.get(name) ?? text) !== text) {
        throw new Error(`${source}: ${name} is elsewhere, too`);
      }
      types.set(name, text);
    }
  }
  return `/**
 * The arguments of each kernel in c/, so that the bindings are checked with them. Written by
 * \`deno task build:kernels\`.
 */
// deno-fmt-ignore-file
export interface KernelArguments {
${[...types.values()].join("\n")}
}
`;
}

/** Compiles a library. @throws Error with the compiler's diagnostics */
async function buildNative(
  { target, options, link = ["-shared"], sources }: Target,
): Promise<Uint8Array> {
  const folder = await Deno.makeTempDir();
  try {
    const entries = `${folder}/entries.c`, names = Object.keys(sources);
    await Deno.writeTextFile(entries, await entrySource(names));
    const compile = async (source: string) => {
      const object = `${folder}/${source.split("/").at(-1)}.o`;
      const how = [...options, ...OPTIONS, `-mcpu=${sources[source] ?? Object.values(sources)[0]}`];
      await zig("cc", "-target", target, ...how, "-I.", "-c", source, "-o", object);
      return object;
    };
    // All end before the folder goes, also when one fails.
    const compiled = await Promise.allSettled([...names, entries].map(compile));
    const objects = compiled.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    const library = `${folder}/library`;
    await zig("cc", "-target", target, ...link, "-nostdlib", "-s", "-o", library, ...objects);
    const bytes = await Deno.readFile(library);
    // The header of a library for Windows has the time at which it was made.
    if (target.includes("windows")) bytes.fill(0, timeIn(bytes), timeIn(bytes) + 4);
    return bytes;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Where that time is: the header's place stands at 0x3c. */
const timeIn = (bytes: Uint8Array) => new DataView(bytes.buffer).getUint32(0x3c, true) + 8;

const nameOf = ({ file }: Target) => `kernels/native/${file.pathname.split("/").at(-1)}`;

/** Checksums of what the last build of all targets read and wrote. */
const BUILT = fileOf("built.txt");

/** The text of that file for the files that are there now. */
async function fingerprint(): Promise<string> {
  const read = [...Deno.readDirSync(FOLDER)].map(({ name }) => `c/${name}`);
  const written = TARGETS.map(({ file }) => file.pathname.split("/").at(-1)!);
  const names = [...read, ...written, "build.ts", "../ops/common/kernel_arguments.ts"];
  const sums = names.map(async (name) =>
    [name, await sha256OfFile(fileOf(name).pathname)] as const
  );
  return formatSums(new Map(await Promise.all(sums)));
}

/** Whether nothing has changed since a build of all targets; it takes a minute to find out else. */
export async function isAsBuilt(): Promise<boolean> {
  return await Deno.readTextFile(BUILT) === await fingerprint();
}

/** The committed libraries that differ from the compiled sources. */
export async function outdatedLibraries(): Promise<string[]> {
  const outdated: string[] = [];
  const types = await Deno.readTextFile(ARGUMENTS);
  if (types !== await argumentTypes()) outdated.push("kernels/ops/common/kernel_arguments.ts");
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
      console.error(`${outdated.join(", ")}: not what the sources give: deno task build:kernels`);
      Deno.exit(1);
    }
    console.log("the native kernels are up to date");
  } else {
    await Deno.writeTextFile(ARGUMENTS, await argumentTypes());
    for (const target of TARGETS) {
      if (Deno.args.length > 0 && !Deno.args.some((name) => nameOf(target).includes(name))) {
        continue;
      }
      const bytes = await buildNative(target);
      await Deno.writeFile(target.file, bytes);
      console.log(`${nameOf(target)}: ${bytes.length} bytes`);
    }
    if (Deno.args.length === 0) await Deno.writeTextFile(BUILT, await fingerprint());
  }
}
