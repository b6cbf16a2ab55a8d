/**
 * Opens the native kernels: machine code that was compiled when rgx was built (build.ts) and is a
 * part of it. The code is copied to a file in memory (Linux's `memfd_create`), which the system's
 * loader opens like any shared library. So nothing is written to a disk, and the machine needs no
 * compiler. It takes Deno's permission `ffi`, which is not asked for.
 */
import { messageOf } from "../../core/errors.ts";
import avx2 from "./avx2.so" with { type: "bytes" };
import avx512 from "./avx512.so" with { type: "bytes" };
import { type CpuFeatures, cpuFeatures, type NativeTarget } from "./cpu.ts";
import type { NativeCode } from "./kernels.ts";
import neon from "./neon.so" with { type: "bytes" };

/** Functions of the C library. */
const LIBC = {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

/** The library of each target. */
const LIBRARIES: Readonly<Record<NativeTarget, Uint8Array>> = { avx512, avx2, neon };

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
  libc: () => Deno.dlopen("libc.so.6", LIBC),
  features: cpuFeatures,
};

/** @returns the path of a file in memory with the library, or why there is none */
function createFile(library: Uint8Array, { memfd_create, write, close }: Libc): string {
  const name = new TextEncoder().encode("rgx-native\0");
  // Systems before 6.3 do not know MFD_EXEC and refuse it.
  let descriptor = memfd_create(name, MFD_CLOEXEC | MFD_EXEC);
  if (descriptor < 0) descriptor = memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0) return "the system does not let them create a file in memory";
  const bytes = library as Uint8Array<ArrayBuffer>;
  let written = 0;
  while (written < bytes.length) {
    const left = bytes.subarray(written);
    const count = Number(write(descriptor, left, BigInt(left.length)));
    if (count <= 0) {
      close(descriptor);
      return "the system does not let them write a file in memory";
    }
    written += count;
  }
  return `/proc/self/fd/${descriptor}`;
}

/** Opens the libraries on a system. */
export function openOn({ os, arch, mayOpen, libc, features }: System): NativeLibraries {
  const no = (why: string): NativeLibraries => ({ codes: [], why });
  const least = LEAST[arch];
  if (os !== "linux" || least === undefined) return no(`there are none for ${os} on ${arch}`);
  if (!mayOpen()) return no("they need the permission --allow-ffi");
  try {
    const opened = libc();
    try {
      const file = createFile(LIBRARIES[least], opened.symbols);
      if (!file.startsWith("/")) return no(file);
      const codes = [];
      for (const has of features(arch, file)) {
        const isLeast = has.target === least;
        const path = isLeast ? file : createFile(LIBRARIES[has.target], opened.symbols);
        if (path.startsWith("/")) codes.push({ path, ...has });
      }
      return codes.length > 0 ? { codes, why: "" } : no(`this processor has no ${VECTORS[least]}`);
    } finally {
      opened.close();
    }
  } catch (error) {
    return no(`the system does not open them: ${messageOf(error).split("\n")[0]}`);
  }
}

let opened: NativeLibraries | undefined;

/** Opens the native kernels once. The files in memory stay until the process ends. */
export function nativeLibraries(): NativeLibraries {
  return opened ??= openOn(SYSTEM);
}
