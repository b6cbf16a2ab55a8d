/**
 * `deno task compile`: builds dist/rgx, one file with the code, the configurations and the kernels.
 * `--safe` builds dist/rgx-safe without the V8 flags for speed, because flags cannot be changed in
 * an executable. It checks every memory access of the kernels and has about a third of the speed on
 * the CPU. The base executable is Deno's; DENORT_BIN names another one where it cannot be
 * downloaded.
 *
 * `--target=NAME` compiles for another platform, which cannot be tried here, and `--release` for
 * all of them. Both also write checksums and a bill of materials.
 *
 * A start copies what is embedded, twice: 10 MB cost 10 to 20 ms. So esbuild bundles the program
 * with the parts of packages that it uses, and large data are compressed.
 *
 * All packages are fetched first. At the end the executable tries its own parts
 * (`rgx doctor --self`).
 */
import type { Plugin } from "esbuild";
import { builtinModules } from "node:module";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import config from "../deno.json" with { type: "json" };
import { sha256OfFile } from "../core/checksums.ts";
import { SAFE_V8_FLAGS, V8_FLAGS } from "../core/program_command.ts";
import { VERSION } from "../core/version.ts";
import { ASSETS, packagesOf, ROOT } from "./architecture/imports.ts";

/** The modules with which the program and its threads start. No import names the threads. */
const ENTRIES = [
  "main.ts",
  "kernels/devices/wasm/worker.ts",
  "rewards/custom/worker.ts",
  "rewards/environments/file/worker.ts",
  "cluster/ranks/watch/worker.ts",
  "cli/scoring/score_worker.ts",
  "tasks/custom/relay.ts",
  "tasks/custom/worker.ts",
];

/** Where the program stands as JavaScript; all modules are in this folder. */
const PROGRAM = "dist/program/";

/** Where the packages are that the program imports. */
const PACKAGES = "dist/packages/";

/**
 * Features of Deno that every run needs. Not all versions of `deno compile` read them in deno.json.
 */
const UNSTABLE = config.unstable.map((feature) => `--unstable-${feature}`);

/** The imports of `deno.json` that the executable needs; packages of tests and tools stay out. */
export function neededImports(): Record<string, string> {
  const needed = packagesOf(ENTRIES);
  return Object.fromEntries(
    Object.entries(config.imports).filter(([name]) =>
      [...needed].some((used) => used === name || used.startsWith(`${name}/`))
    ),
  );
}

/** Fetches the packages that the program imports into a folder of their own. */
async function fetchPackages(): Promise<void> {
  const folder = new URL(PACKAGES, ROOT);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.copyFile(new URL("deno.lock", ROOT), new URL("deno.lock", folder));
  const project = { imports: neededImports(), nodeModulesDir: "auto" };
  await Deno.writeTextFile(new URL("deno.json", folder), JSON.stringify(project));
  await deno(
    ["install", "--quiet"],
    "a package cannot be fetched; with the network, or a cache that has all of them " +
      "(DENO_DIR), run it again",
    folder,
  );
}

/** The name of an entry, or of a module that would be one, in the folder of the program. */
const scriptOf = (path: string) => path.replaceAll("/", "_").replace(/\.ts$/, ".js");

/** The beginning of an address beside a module: `new URL("./worker.ts", import.meta.url)`. */
const ADDRESS = /\bnew URL\((["`])(\.[^"`$]*)(?=[^"`]*["`],\s*import\.meta\.url)/g;

/** Imports of large data, as text or as bytes. */
const DATA = /\.(?:wasm|so|dll|dylib|woff)$|^plotly\.js|\/packages\.json$/;

/** Modules of Node, which packages may require. */
const BUILTIN = new RegExp(`^(?:node:)?(?:${builtinModules.join("|")})$`);

/** Compressed data by the names of their files in the folder of the program. */
type CompiledData = ReadonlyMap<string, Uint8Array>;

/** Writes the program with its packages as JavaScript. @returns the large data that it imports */
async function writeProgram(): Promise<CompiledData> {
  const { build, stop } = await import("esbuild");
  const data = new Map<string, Uint8Array>(), folder = new URL(PROGRAM, ROOT);
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await build({
    absWorkingDir: fileURLToPath(ROOT),
    entryPoints: ENTRIES.map((path) => ({ in: path, out: scriptOf(path).replace(".js", "") })),
    outdir: fileURLToPath(folder),
    nodePaths: [fileURLToPath(new URL(`${PACKAGES}node_modules`, ROOT))],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
    target: "esnext",
    charset: "utf8",
    // Names stay, since messages and stacks have them.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    chunkNames: "[hash]",
    external: ["*.br"],
    logLevel: "error",
    plugins: [addressesFromRoot, requiresOfNode, compressedData(data)],
  });
  await stop();
  for (const path of ASSETS) {
    const url = new URL(path, folder);
    await Deno.mkdir(new URL(".", url), { recursive: true });
    await Deno.copyFile(new URL(path, ROOT), url);
  }
  return data;
}

/** Addresses beside a module begin at the folder of the program, where its JavaScript is. */
const addressesFromRoot: Plugin = {
  name: "addresses",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path, with: { type } }) => {
      if (type !== undefined) return;
      const text = await Deno.readTextFile(path);
      const contents = text.replace(ADDRESS, (_, quote, address) => {
        const from = new URL(address, pathToFileURL(path)).href.slice(ROOT.href.length);
        return `new URL(${quote}./${from.endsWith(".ts") ? scriptOf(from) : from}`;
      });
      return { contents, loader: "ts" };
    });
  },
};

/** ECMAScript modules have no `require` for the modules of Node. */
const requiresOfNode: Plugin = {
  name: "node",
  setup(build) {
    build.onResolve({ filter: BUILTIN }, ({ path, kind }) => {
      return kind === "require-call" ? { path, namespace: "node" } : undefined;
    });
    build.onLoad({ filter: /./, namespace: "node" }, ({ path }) => {
      return { contents: `module.exports = process.getBuiltinModule("${path}")` };
    });
  },
};

/** Compresses large data. A module that imports them decompresses them when it is loaded. */
const compressedData = (data: Map<string, Uint8Array>): Plugin => ({
  name: "data",
  setup(build) {
    build.onResolve(
      { filter: DATA },
      async ({ path, kind, resolveDir, pluginData, with: { type } }) => {
        if (pluginData === DATA || type === undefined) return;
        const found = await build.resolve(path, { kind, resolveDir, pluginData: DATA });
        return { ...found, namespace: "data" };
      },
    );
    build.onLoad({ filter: /./, namespace: "data" }, async ({ path, with: { type } }) => {
      const name = `${basename(path)}.br`;
      data.set(name, compressed(await Deno.readFile(path)));
      const contents = `import { brotliDecompressSync } from "node:zlib";
        import packed from "./${name}" with { type: "bytes" };
        const bytes = new Uint8Array(brotliDecompressSync(packed));
        export default ${type === "text" ? "new TextDecoder().decode(bytes)" : "bytes"};`;
      return { contents };
    });
  },
});

const compressed = (bytes: Uint8Array): Uint8Array =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });

const NOTHING = compressed(new Uint8Array());

/** How the libraries of kernels end, by a word of the platforms that open them. */
const LIBRARIES: Readonly<Record<string, string>> = { so: "linux", dylib: "apple", dll: "windows" };

/** Whether a platform has no use for these data: kernels for other ones. */
export function isForOthers(name: string, target: string): boolean {
  const [, vectors, type] = /^(avx|neon)\w*\.(so|dylib|dll)\.br$/.exec(name) ?? [];
  if (vectors === undefined) return false;
  return !target.startsWith(vectors === "avx" ? "x86_64" : "aarch64") ||
    !target.includes(LIBRARIES[type!]!);
}

/** Runs Deno; ends this program if Deno fails. @param help advice for that case */
async function deno(args: readonly string[], help: string, cwd = ROOT): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
    stdout: "inherit",
    stderr: "piped",
  }).output();
  if (success) return;
  // Deno prints a line for each download, and a stack of its own.
  const lines = new TextDecoder().decode(stderr).split("\n\nStack backtrace")[0]!.split("\n");
  console.error(lines.filter((line) => !/^(Download|Initialize) /.test(line)).join("\n").trim());
  console.error(`help: ${help}`);
  Deno.exit(1);
}

/** The platforms of a release, by the names of `deno compile --target`. */
const TARGETS: Readonly<Record<string, string>> = {
  "x86_64-unknown-linux-gnu": "linux-x64",
  "aarch64-unknown-linux-gnu": "linux-arm64",
  "aarch64-apple-darwin": "macos-arm64",
  "x86_64-apple-darwin": "macos-x64",
  "x86_64-pc-windows-msvc": "windows-x64.exe",
};

/** Compiles `output`. @param target another platform than this one */
async function compile(
  output: string,
  data: CompiledData,
  safe: boolean,
  target?: string,
): Promise<void> {
  const path = new URL(output, ROOT);
  for (const [name, bytes] of data) {
    const isUnused = isForOthers(name, target ?? Deno.build.target);
    await Deno.writeFile(new URL(PROGRAM + name, ROOT), isUnused ? NOTHING : bytes);
  }
  await Deno.remove(path).catch(() => {}); // so that no older one is taken for the new one
  await deno(
    [
      "compile",
      "--no-config",
      "--no-lock",
      "--no-npm",
      ...UNSTABLE,
      "--allow-all",
      "--no-check",
      "--quiet",
      safe ? SAFE_V8_FLAGS : V8_FLAGS,
      ...[...ENTRIES.slice(1).map(scriptOf), ...ASSETS]
        .flatMap((file) => ["--include", PROGRAM + file]),
      ...(target === undefined ? [] : ["--target", target]),
      "--output",
      output,
      PROGRAM + scriptOf(ENTRIES[0]!),
    ],
    "deno compile downloads its base executable once; without network set DENORT_BIN to a " +
      "denort of this Deno version" + (target === undefined ? "" : ` for ${target}`),
  );
  const { size } = await Deno.stat(path);
  console.log(`${output}: ${(size / 2 ** 20).toFixed(0)} MiB`);
}

/** Has the executable try its own parts. Ends this program if one does not work. */
async function trySelf(output: string): Promise<void> {
  const path = new URL(output, ROOT);
  const { success } = await new Deno.Command(path.pathname, { args: ["doctor", "--self"] })
    .spawn().status;
  if (success) return;
  await Deno.rename(path, new URL(`${output}-broken`, ROOT));
  console.error(`help: not every part of the executable works; it is ${output}-broken`);
  Deno.exit(1);
}

/** Compiles for platforms, and writes the checksums and a bill of materials beside them. */
async function release(targets: readonly string[], data: CompiledData): Promise<void> {
  const sums: string[] = [];
  for (const target of targets) {
    const output = `rgx-${VERSION}-${TARGETS[target]}`;
    await compile(`dist/${output}`, data, false, target);
    sums.push(`${await sha256OfFile(new URL(`dist/${output}`, ROOT).pathname)}  ${output}\n`);
  }
  await Deno.writeTextFile(new URL("dist/SHA256SUMS", ROOT), sums.join(""));
  const bill = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "main.ts", "licenses", "--sbom"],
    cwd: ROOT,
  }).output();
  await Deno.writeFile(new URL("dist/sbom.json", ROOT), bill.stdout);
  console.log("dist/SHA256SUMS, dist/sbom.json");
}

if (import.meta.main) {
  const safe = Deno.args.includes("--safe");
  const targets = Deno.args.includes("--release")
    ? Object.keys(TARGETS)
    : Deno.args.flatMap((word) => /^--target=(.*)$/.exec(word)?.[1] ?? []);
  const unknown = targets.find((target) => !(target in TARGETS));
  if (unknown !== undefined) {
    console.error(`error: --target=${unknown}: expected one of ${Object.keys(TARGETS).join(", ")}`);
    Deno.exit(2);
  }
  await fetchPackages();
  const data = await writeProgram();
  if (targets.length > 0) {
    await release(targets, data);
  } else {
    const output = safe ? "dist/rgx-safe" : "dist/rgx";
    await compile(output, data, safe);
    await trySelf(output);
  }
}
