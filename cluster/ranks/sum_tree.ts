/**
 * Sums of many gradients in one fixed order: a binary tree over their numbers 0 … count − 1. The
 * node (level, index) is the sum of the leaves [index·2^level, (index + 1)·2^level), as far as
 * they exist. Its value is that of its left half plus that of its right half. Floating-point
 * addition is not associative, so the order decides the last digits; this one depends only on the
 * number of leaves. So the sum has the same bits on one rank, which adds all leaves, and on many,
 * which add some each.
 */

export interface TreeNode {
  level: number;
  index: number;
}

/**
 * Joins nodes from left to right, each as soon as both of its halves are there. So at most
 * log2(count) + 1 values exist at a time.
 */
export class PartialSums<T> {
  readonly #stack: { node: TreeNode; value: T }[] = [];

  /**
   * @param count number of leaves of the whole tree
   * @param join adds the right value to the left one, and returns the sum
   */
  constructor(private readonly count: number, private readonly join: (left: T, right: T) => T) {}

  /** Adds the node that follows the last one. */
  push(node: TreeNode, value: T): void {
    let { level, index } = node, sum = value;
    for (;;) {
      const below = this.#stack.at(-1);
      const isRight = index % 2 === 1;
      if (isRight && below?.node.level === level && below.node.index === index - 1) {
        this.#stack.pop();
        sum = this.join(below.value, sum);
      } else if (isRight || !this.#isAlone(level, index)) break;
      level++;
      index = Math.floor(index / 2);
    }
    this.#stack.push({ node: { level, index }, value: sum });
  }

  /** Whether a left half has no right half, because the leaves end before it. */
  #isAlone(level: number, index: number): boolean {
    const next = (index + 1) * 2 ** level;
    return next >= this.count && index > 0;
  }

  /** The nodes so far, from left to right; after the last leaf, this is the whole sum. */
  get values(): readonly { node: TreeNode; value: T }[] {
    return this.#stack;
  }
}

/** The nodes that a rank has after it added the leaves [begin, end) of `count`. */
export function nodesOf(begin: number, end: number, count: number): TreeNode[] {
  const sums = new PartialSums<null>(count, () => null);
  for (let leaf = begin; leaf < end; leaf++) sums.push({ level: 0, index: leaf }, null);
  return sums.values.map(({ node }) => node);
}

/** The leaves [begin, end) of a rank: consecutive ones, and as many as others have, or one more. */
export function shareOf(count: number, rank: number, size: number): [begin: number, end: number] {
  return [Math.floor(rank * count / size), Math.floor((rank + 1) * count / size)];
}
