/**
 * Asks Linux for memory pages of 2 MB in place of 4 KB. Weights, which are read once per token,
 * then need a five hundredth of the page look-ups, and new memory is available in a third of the
 * time. This needs Deno's permission `ffi`, which is not asked for. Results do not depend on it, so
 * nothing is reported when it fails.
 */

/** From Linux's <sys/mman.h>. */
const MADV_HUGEPAGE = 14;
const SYMBOLS = {
  madvise: { parameters: ["pointer", "usize", "i32"], result: "i32" },
} as const;

/**
 * Requests huge pages for bytes [begin, end) of a buffer that begins at a page.
 * @returns whether the system accepted the request
 */
export function useHugePages(buffer: ArrayBufferLike, begin: number, end: number): boolean {
  if (Deno.build.os !== "linux" || begin >= end) return false;
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  try {
    // The library is already loaded, so this takes some microseconds.
    const library = Deno.dlopen("libc.so.6", SYMBOLS);
    try {
      const at = new Uint8Array(buffer as ArrayBuffer, begin, end - begin);
      const { madvise } = library.symbols;
      return madvise(Deno.UnsafePointer.of(at), BigInt(end - begin), MADV_HUGEPAGE) === 0;
    } finally {
      library.close();
    }
  } catch {
    return false; // a C library other than glibc
  }
}
