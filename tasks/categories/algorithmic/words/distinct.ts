/** Draws a few distinct indices from a long list without copying it (R. W. Floyd's method). */
import type { RandomStream } from "../../../../core/philox.ts";

/** `count` ≤ `size` different integers from 0 to size − 1, in random order. */
export function distinctIndices(random: RandomStream, size: number, count: number): number[] {
  const chosen = new Set<number>();
  for (let last = size - count; last < size; last++) {
    const index = random.below(last + 1);
    chosen.add(chosen.has(index) ? last : index);
  }
  return random.shuffle([...chosen]);
}
