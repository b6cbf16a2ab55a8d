// Reads that bring memory into the caches before it is needed.

/**
 * Reads a word of every cache line of [from, from + bytes), so that all lines are on their way from
 * memory before the first is needed. The kernels then read the lines in an order that no hardware
 * prefetcher follows. The sum of the words is stored at `to`; without that the compiler would
 * remove the reads.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function touch(from: usize, bytes: usize, to: usize): void {
  let sum: i32 = 0;
  for (const end = from + bytes; from < end; from += 64) sum += load<i32>(from);
  store<i32>(to, sum);
}
