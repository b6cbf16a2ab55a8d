/**
 * Opens the native kernels: machine code that was compiled when rgx was built (build.ts) and is a
 * part of it. The code is copied to a file in memory (Linux's `memfd_create`), which the system's
 * loader opens like any shared library. So nothing is written to a disk, and the machine needs no
 * compiler. It takes Deno's permission `ffi`, which is not asked for.
 */
import { messageOf } from "../../core/errors.ts";
import arm64 from "./aarch64.so" with { type: "bytes" };
import x86 from "./x86_64.so" with { type: "bytes" };
import { type CpuFeatures, cpuFeatures } from "./cpu.ts";
import type { NativeCode } from "./kernels.ts";

/** Functions of the C library. */
const LIBC = {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

/** The library of each kind of processor, and the vectors that it needs. */
const LIBRARIES: Readonly<Record<string, { bytes: Uint8Array; vectors: string }>> = {
  x86_64: { bytes: x86, vectors: "AVX-512" },
  aarch64: { bytes: arm64, vectors: "NEON" },
};

/** Closes the file when another program is started. From Linux's <sys/memfd.h>. */
const MFD_CLOEXEC = 1;
/** Asks for a file that may contain code: kernels from 6.3 on can forbid other ones. */
const MFD_EXEC = 0x10;

/** The native kernels of this processor, or why there are none. */
export type NativeLibrary =
  | { code: NativeCode; /** The instructions that they use, for people. */ tiles: string }
  | { code: null; why: string };

/** What opening needs of the system; tests replace parts of it. */
export interface System {
  os: string;
  arch: string;
  mayOpen(): boolean;
  libc(): { symbols: Libc; close(): void };
  features(arch: string, path: string): CpuFeatures;
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

/** Opens the library on a system. */
export function openOn({ os, arch, mayOpen, libc, features }: System): NativeLibrary {
  const no = (why: string): NativeLibrary => ({ code: null, why });
  const library = LIBRARIES[arch];
  if (os !== "linux" || library === undefined) return no(`there are none for ${os} on ${arch}`);
  if (!mayOpen()) return no("they need the permission --allow-ffi");
  try {
    const opened = libc();
    let file;
    try {
      file = createFile(library.bytes, opened.symbols);
    } finally {
      opened.close();
    }
    if (!file.startsWith("/")) return no(file);
    const { vectors, ...has } = features(arch, file);
    if (!vectors) return no(`this processor has no ${library.vectors}`);
    return { code: { path: file, ...has }, tiles: library.vectors };
  } catch (error) {
    return no(`the system does not open them: ${messageOf(error).split("\n")[0]}`);
  }
}

let opened: NativeLibrary | undefined;

/** Opens the native kernels once. The file in memory stays until the process ends. */
export function nativeLibrary(): NativeLibrary {
  return opened ??= openOn(SYSTEM);
}
