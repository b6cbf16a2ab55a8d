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
 * The program is compiled from JavaScript. Of TypeScript, `deno compile` embeds the source, what it
 * makes of it, and a map between both: three times the bytes, which every start copies.
 *
 * All packages are fetched first, because `deno compile` silently leaves out packages that it
 * cannot fetch. Then the executable tries its own parts (`rgx doctor --self`).
 */
import config from "../deno.json" with { type: "json" };
import { sha256OfFile } from "../core/checksums.ts";
import { SAFE_V8_FLAGS, V8_FLAGS } from "../core/program_command.ts";
import { VERSION } from "../core/version.ts";
import { ASSETS, packagesOf, reachedFrom, ROOT } from "./architecture/imports.ts";

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

/** Where the program stands as JavaScript. */
const PROGRAM = "dist/program/";

/** The configuration and the versions of packages for the executable. */
const CONFIG = "dist/deno.compile.json", LOCK = "dist/deno.compile.lock";

/**
 * Features of Deno that every run needs. Not all versions of `deno compile` read them in deno.json.
 */
const UNSTABLE = config.unstable.map((feature) => `--unstable-${feature}`);

/**
 * Files of packages that the program does not read, although `deno compile` embeds whole packages.
 * A start copies what is embedded: 10 MB cost 20 ms. Licences stay.
 */
const UNREAD = new RegExp(
  [
    String.raw`\.map$|\.d\.[cm]?ts$|\.tsbuildinfo$|/\.yarn/|/examples/|/notes/|/development/`,
    // Sources of what is built.
    String.raw`/src/.+\.ts$|/(?:fontkit|@swc/helpers)/[^/]+/src/`,
    // Builds for browsers.
    String.raw`/(?:yaml|css-color)/[^/]+/(?:dist/)?browser/|/fontkit/[^/]+/dist/browser|\.iife\.`,
    String.raw`/pako/[^/]+/dist/|/pdfkit/[^/]+/js/pdfkit\.standalone\.js$`,
    // The other one of two forms: ECMAScript modules and CommonJS.
    String.raw`/hono/[^/]+/dist/cjs/|/pdfkit/[^/]+/js/pdfkit\.es\.js$|/fontkit/[^/]+/dist/module`,
    String.raw`/parse5/[^/]+/dist/(?!cjs/)|/tldts[a-z-]*/[^/]+/dist/(?:es6/|index\.)`,
    String.raw`/(?:sucrase|entities|css-color|tough-cookie)/[^/]+/dist/esm?/`,
    String.raw`/(?:@noble/[^/]+|@swc/helpers)/[^/]+/esm/`,
    String.raw`/decimal\.mjs$|/dist/module\.mjs$|/lru-cache/[^/]+/dist/esm/`,
    // Only the compressing half.
    String.raw`/brotli/[^/]+/build/`,
    // Pages, tests, and what their installation needs.
    String.raw`/(?!licen)[^/]+\.(?:md|markdown)$|/tests?/|/yarn\.lock$`,
  ].join("|"),
  "i",
);

/** The folder of packages in Deno's cache. */
export async function npmCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return (JSON.parse(new TextDecoder().decode(stdout)) as { npmCache: string }).npmCache;
}

/** Arguments of `deno cache` and `deno compile`. */
const SHARED = ["--config", CONFIG, "--lock", LOCK, ...UNSTABLE];

/** Name and version of a package in deno.lock, with those behind "_" that it was resolved with. */
export const nameAndVersion = (key: string) =>
  /^(.+?)@([^@_]+)/.exec(key)!.slice(1) as [name: string, version: string];

/** The paths of these files in Deno's cache. */
async function unreadFiles(): Promise<string[]> {
  const cache = await npmCache();
  const { npm } = JSON.parse(await Deno.readTextFile(new URL(LOCK, ROOT)));
  const found: string[] = [];
  for (const key of Object.keys(npm)) {
    const folder = `${cache}/registry.npmjs.org/${nameAndVersion(key).join("/")}`;
    for (const path of filesBelow(folder)) if (UNREAD.test(path)) found.push(path);
  }
  return found;
}

function filesBelow(folder: string): string[] {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)];
  } catch {
    return []; // a package of tests alone, which was not fetched
  }
  return entries.flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

/** The imports of `deno.json` that the executable needs; packages of tests and tools stay out. */
export function neededImports(): Record<string, string> {
  const needed = packagesOf(ENTRIES);
  return Object.fromEntries(
    Object.entries(config.imports).filter(([name]) =>
      [...needed].some((used) => used === name || used.startsWith(`${name}/`))
    ),
  );
}

async function writeConfig(): Promise<void> {
  const imports = neededImports(), wanted = Object.values(imports);
  const lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)));
  const specifiers = Object.entries(lock.specifiers).filter(([specifier]) =>
    wanted.some((path) => path === specifier || path.startsWith(`${specifier}/`))
  );
  await Deno.mkdir(new URL("dist/", ROOT), { recursive: true });
  const write = (path: string, content: unknown) =>
    Deno.writeTextFile(new URL(path, ROOT), JSON.stringify(content));
  await write(CONFIG, { ...config, imports, tasks: {} });
  await write(LOCK, { ...lock, specifiers: Object.fromEntries(specifiers), workspace: undefined });
}

/** An import of a file as text, as bytes or as JSON. One of the groups is its path. */
const DATA_IMPORT = /(?:\bfrom\s*|\bimport\(\s*)"(\.[^"]+)"(?:\s*with\s*\{|,\s*\{\s*with\b)/g;

/** The path of a module in an import or as an address, in what esbuild writes. */
const MODULE = /(\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.[^"]+)\.ts"(?! with|, \{)/g;

/** Writes the program without types and comments, and the files that it imports as data. */
async function writeProgram(): Promise<void> {
  const { stop, transform } = await import("esbuild");
  await Deno.remove(new URL(PROGRAM, ROOT), { recursive: true }).catch(() => {});
  const data = new Set(ASSETS);
  const write = async (path: string, code: string | Uint8Array) => {
    const url = new URL(PROGRAM + path, ROOT);
    await Deno.mkdir(new URL(".", url), { recursive: true });
    await Deno.writeFile(url, typeof code === "string" ? new TextEncoder().encode(code) : code);
  };
  for (const [path, text] of reachedFrom(ENTRIES)) {
    for (const [, to] of text.matchAll(DATA_IMPORT)) {
      data.add(new URL(to!, new URL(path, "file:///")).pathname.slice(1));
    }
    const { code } = await transform(text, { loader: "ts", target: "esnext", charset: "utf8" });
    await write(scriptOf(path), code.replace(MODULE, '$1"$2.js"'));
  }
  for (const path of data) await write(path, await Deno.readFile(new URL(path, ROOT)));
  await stop();
}

const scriptOf = (path: string) => path.replace(/\.ts$/, ".js");
const inProgram = (path: string) => PROGRAM + scriptOf(path);

/** Runs Deno; ends this program if Deno fails. @param help advice for that case */
async function deno(args: readonly string[], help: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
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
async function compile(output: string, safe: boolean, target?: string): Promise<void> {
  const path = new URL(output, ROOT);
  await Deno.remove(path).catch(() => {}); // so that no older one is taken for the new one
  await deno(
    [
      "compile",
      ...SHARED,
      "--cached-only",
      "--allow-all",
      "--no-check",
      "--quiet",
      safe ? SAFE_V8_FLAGS : V8_FLAGS,
      ...[...ENTRIES.slice(1), ...ASSETS].flatMap((file) => ["--include", inProgram(file)]),
      ...(await unreadFiles()).flatMap((file) => ["--exclude", file]),
      ...(target === undefined ? [] : ["--target", target]),
      "--output",
      output,
      inProgram(ENTRIES[0]!),
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
async function release(targets: readonly string[]): Promise<void> {
  const sums: string[] = [];
  for (const target of targets) {
    const output = `rgx-${VERSION}-${TARGETS[target]}`;
    await compile(`dist/${output}`, false, target);
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
  await writeConfig();
  await writeProgram();
  await deno(
    ["cache", "--quiet", ...SHARED, ...ENTRIES],
    "a package cannot be fetched; with the network, or a cache that has all of them " +
      "(DENO_DIR), run it again",
  );
  if (targets.length > 0) {
    await release(targets);
  } else {
    const output = safe ? "dist/rgx-safe" : "dist/rgx";
    await compile(output, safe);
    await trySelf(output);
  }
}
