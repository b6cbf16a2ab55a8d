// Filling memory with zeros, for new tensors.

/** Zeroes bytes [64·begin, 64·end) behind `target`. */
export function zero(target: usize, begin: i32, end: i32, scratch: usize): void {
  memory.fill(target + (begin as usize) * 64, 0, ((end - begin) as usize) * 64);
}
