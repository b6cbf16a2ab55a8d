// Filling memory with zeros, for new tensors; bringing what will be read from memory to the caches.

/** Zeroes bytes [64·begin, 64·end) behind `target`. */
export function zero(target: usize, begin: i32, end: i32, scratch: usize): void {
  memory.fill(target + (begin as usize) * 64, 0, ((end - begin) as usize) * 64);
}

/**
 * Reads a word of every line of [from, from + bytes), so that all of them are on their way from memory before the
 * first is needed: the kernels come back to the lines in an order that no prefetcher follows. The sum goes to `to`,
 * or the compiler would leave the reads out.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function touch(from: usize, bytes: usize, to: usize): void {
  let sum: i32 = 0;
  for (const end = from + bytes; from < end; from += 64) sum += load<i32>(from);
  store<i32>(to, sum);
}
