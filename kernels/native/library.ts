/**
 * Opens the native kernels: machine code that was compiled when rgx was built (build.ts) and is a
 * part of it, so the machine needs no compiler. The code is copied to a file that the system's
 * loader opens like any shared library: on Linux to a file in memory (`memfd_create`), where there
 * are none to one in the user's cache. Its bytes are compared at each start. It takes Deno's
 * permission `ffi`, which is not asked for.
 */
import { Buffer } from "node:buffer";
import { userCache } from "../../core/cache/user_cache.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { messageOf } from "../../core/errors.ts";
import avx2Windows from "./avx2.dll" with { type: "bytes" };
import avx2 from "./avx2.so" with { type: "bytes" };
import avx512 from "./avx512.so" with { type: "bytes" };
import { type CpuFeatures, cpuFeatures, type NativeTarget } from "./cpu.ts";
import type { NativeCode } from "./kernels.ts";
import neonMac from "./neon.dylib" with { type: "bytes" };
import neon from "./neon.so" with { type: "bytes" };

/** Functions of the C library. */
const LIBC = {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

/** The libraries of each system, by their targets. */
const LIBRARIES: Readonly<Record<string, Partial<Record<NativeTarget, Uint8Array>>>> = {
  linux: { avx512, avx2, neon },
  darwin: { neon: neonMac },
  windows: { avx2: avx2Windows },
};

/** The targets for people. */
export const VECTORS: Readonly<Record<NativeTarget, string>> = {
  avx512: "AVX-512",
  avx2: "AVX2",
  neon: "NEON",
};

/**
 * The target of each kind of processor that asks for the least. Its library tells which targets the
 * processor has.
 */
const LEAST: Readonly<Record<string, NativeTarget>> = { x86_64: "avx2", aarch64: "neon" };

/** Closes the file when another program is started. From Linux's <sys/memfd.h>. */
const MFD_CLOEXEC = 1;
/** Asks for a file that may contain code: kernels from 6.3 on can forbid other ones. */
const MFD_EXEC = 0x10;

/** The native kernels that this processor can run, the best first, or why there are none. */
export interface NativeLibraries {
  codes: readonly NativeCode[];
  /** Only without any. */
  why: string;
}

/** What opening needs of the system; tests replace parts of it. */
export interface System {
  os: string;
  arch: string;
  mayOpen(): boolean;
  /** The folder of the user's cache; null = there is none. */
  cache(): string | null;
  libc(): { symbols: Libc; close(): void };
  features(arch: string, path: string): CpuFeatures[];
}

/** The functions of LIBC. */
export interface Libc {
  memfd_create(name: Uint8Array<ArrayBuffer>, flags: number): number;
  write(descriptor: number, bytes: Uint8Array<ArrayBuffer>, count: bigint): bigint | number;
  close(descriptor: number): number;
}

const SYSTEM: System = {
  ...Deno.build,
  mayOpen: () => Deno.permissions.querySync({ name: "ffi" }).state === "granted",
  cache: userCache,
  libc: () => Deno.dlopen("libc.so.6", LIBC),
  features: cpuFeatures,
};

/** @returns the path of a file in memory with the library; null where there can be none */
function memoryFile(library: Uint8Array, { memfd_create, write, close }: Libc): string | null {
  const name = new TextEncoder().encode("rgx-native\0");
  // Systems before 6.3 do not know MFD_EXEC and refuse it.
  let descriptor = memfd_create(name, MFD_CLOEXEC | MFD_EXEC);
  if (descriptor < 0) descriptor = memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0) return null;
  const bytes = library as Uint8Array<ArrayBuffer>;
  let written = 0;
  while (written < bytes.length) {
    const left = bytes.subarray(written);
    const count = Number(write(descriptor, left, BigInt(left.length)));
    if (count <= 0) {
      close(descriptor);
      return null;
    }
    written += count;
  }
  return `/proc/self/fd/${descriptor}`;
}

/** Whether a file has these bytes. */
function holds(path: string, bytes: Uint8Array): boolean {
  try {
    return Buffer.compare(Deno.readFileSync(path), bytes) === 0;
  } catch {
    return false;
  }
}

/** How the names of libraries end. Windows looks for another file without it. */
const ENDS: Readonly<Record<string, string>> = { darwin: "dylib", windows: "dll" };

/** @returns the path of a file in the user's cache with the library's bytes, written if need be */
function cachedFile(library: Uint8Array, { os, cache }: System): string {
  const home = cache();
  if (home === null) throw new Error("there is no home folder for a copy of them");
  const folder = `${home}/kernels`, name = `${sha256Hex(library)}.${ENDS[os] ?? "so"}`;
  const path = `${folder}/${name}`;
  if (holds(path, library)) return path;
  Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.tmp-${Deno.pid}`;
  Deno.writeFileSync(temporary, library, { mode: 0o700 });
  Deno.renameSync(temporary, path);
  if (!holds(path, library)) throw new Error(`${path} has other bytes than were written`);
  return path;
}

/** Opens the libraries on a system. */
export function openOn(system: System): NativeLibraries {
  const { os, arch } = system;
  const no = (why: string): NativeLibraries => ({ codes: [], why });
  const libraries = LIBRARIES[os] ?? {}, least = LEAST[arch];
  const first = least === undefined ? undefined : libraries[least];
  if (first === undefined) return no(`there are none for ${os} on ${arch}`);
  if (!system.mayOpen()) return no("they need the permission --allow-ffi");
  let libc: ReturnType<System["libc"]> | null = null;
  const fileOf = (library: Uint8Array) =>
    libc !== null && memoryFile(library, libc.symbols) || cachedFile(library, system);
  try {
    if (os === "linux") libc = system.libc();
    const file = fileOf(first);
    const codes = system.features(arch, file).flatMap((has): NativeCode[] => {
      const library = libraries[has.target];
      if (library === undefined) return [];
      return [{ path: has.target === least ? file : fileOf(library), ...has }];
    });
    return codes.length > 0 ? { codes, why: "" } : no(`this processor has no ${VECTORS[least!]}`);
  } catch (error) {
    return no(`the system does not open them: ${messageOf(error).split("\n")[0]}`);
  } finally {
    libc?.close();
  }
}

let opened: NativeLibraries | undefined;

/** Opens the native kernels once. The files in memory stay until the process ends. */
export function nativeLibraries(): NativeLibraries {
  return opened ??= openOn(SYSTEM);
}
