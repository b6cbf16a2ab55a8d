/** The names that a template reads, in the order in which they are read and set. */
import type { Block } from "./nodes.ts";

/**
 * Names that a block reads before it sets them, with those of the blocks in it.
 * @param given names that have values without being set
 */
export function freeNames(block: Block, given: readonly string[]): Set<string> {
  const free = new Set<string>();
  addOf(block, free, new Set(given));
  return free;
}

/** The parts of a node stand in the order in which they are evaluated. */
function addOf(node: unknown, free: Set<string>, known: Set<string>): void {
  if (typeof node !== "object" || node === null) return;
  const { type, name } = node as { type?: string; name: string };
  if (type === "NewName") known.add(name);
  else if (type === "Name" && !known.has(name)) free.add(name);
  else if (type !== "Constant") {
    for (const part of Object.values(node)) addOf(part, free, known);
  }
}
