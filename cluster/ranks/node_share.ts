/**
 * The share of a rank in its machine, which other ranks use too: some of the cores, some of the
 * memory, and a graphics card of its own.
 */
import { UsageError } from "../../core/errors.ts";

/** The facts about its machine that a rank tells the others. */
export interface NodeFacts {
  /** The name of the machine; two "nodes" of a test cluster may be one machine. */
  node: string;
  /** Cores that the affinity mask and the quota grant. */
  cores: number;
  /** The affinity mask, as the kernel writes it. Ranks with equal masks share their cores. */
  mask: string;
  /** Bytes that can still be allocated on the machine, or in this rank's cgroup. */
  memory: number;
  /** The variable that limits the graphics cards, with its value; "" = none. */
  visible: string;
  /** Number of graphics cards that this rank may use. */
  cards: number;
}

export interface NodeShare {
  /** Number of this rank among those of its machine, and how many they are. */
  localRank: number;
  localSize: number;
  /** Threads for the kernels of the CPU. */
  threads: number;
  /** Bytes that this rank may allocate on the machine. */
  memory: number;
  /** Number of its card among those that it may use. */
  card: number;
}

/** The share of one rank, from the facts of all. */
export function nodeShare(rank: number, all: readonly NodeFacts[]): NodeShare {
  const own = all[rank]!;
  const local = all.map((facts, other) => ({ facts, other })).filter(({ facts }) =>
    facts.node === own.node
  );
  const place = (same: (facts: NodeFacts) => boolean) => {
    const group = local.filter(({ facts }) => same(facts));
    return { at: group.findIndex(({ other }) => other === rank), of: group.length };
  };
  const cores = place(({ mask }) => mask === own.mask);
  const cards = place(({ visible }) => visible === own.visible);
  return {
    localRank: local.findIndex(({ other }) => other === rank),
    localSize: local.length,
    threads: Math.max(1, Math.floor(own.cores / cores.of)),
    memory: Math.floor(Math.min(...local.map(({ facts }) => facts.memory)) / local.length),
    // If the scheduler has given each rank a card of its own, each takes its first card.
    card: cards.at,
  };
}

/**
 * @throws UsageError that names a rank without a card, when a machine has fewer cards than ranks
 */
export function requireCards(all: readonly NodeFacts[]): void {
  for (const [rank, { node, cards, visible }] of all.entries()) {
    const { card, localSize } = nodeShare(rank, all);
    if (card < cards) continue;
    const shown = visible === "" ? "" : ` (${visible})`;
    throw new UsageError(
      `rank ${rank} has no graphics card: ${node} has ${cards} for its ${localSize} ranks${shown}`,
      {
        advice: (cards === 0 ? "Ask for cards" : `Start ${cards} ranks on it, ask for more cards`) +
          " (sbatch --gpus-per-node), or compute on the CPU (--device wasm).",
      },
    );
  }
}
