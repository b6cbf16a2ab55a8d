/**
 * Optimizer states divided over ranks (ZeRO, stage 1: Rajbhandari et al. 2020, arXiv 1910.02054).
 * Each rank keeps the states of a part of what is trained, updates that part, and sends the new
 * values to the others. An update is computed element by element, and a block of 8-bit moments is
 * never cut, so the values have the same bits as without.
 */
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";
import { SUM_CHUNK } from "../../kernels/ops/optimizer/spec.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { TrainableArena } from "../../models/network/types.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import type { Slice } from "../../cluster/ranks/vector_sum.ts";
import { type OptimizerKind, stateBytes } from "./state_tensors.ts";

/** A parameter in an arena: its place, and the bytes that the optimizer keeps for an element. */
interface Placed {
  offset: number;
  n: number;
  cost: number;
}

/**
 * Where the parts of the ranks begin and end: size + 1 borders. Parts take about the same bytes.
 * Counted from the first element of its parameter, a border is at a multiple of BLOCK.
 * @param placed in the order of their offsets
 */
export function shardBorders(placed: readonly Placed[], length: number, size: number): number[] {
  const total = placed.reduce((sum, { n, cost }) => sum + n * cost, 0), borders = [0];
  let index = 0, before = 0;
  while (borders.length < size) {
    const wanted = total * borders.length / size;
    for (; index < placed.length; index++) {
      const { n, cost } = placed[index]!;
      if (before + n * cost > wanted) break;
      before += n * cost;
    }
    if (index === placed.length) borders.push(length);
    else {
      const { offset, cost } = placed[index]!;
      borders.push(offset + Math.floor((wanted - before) / cost / BLOCK) * BLOCK);
    }
  }
  return [...borders, length];
}

export class Shards {
  /** For each arena, the part of each rank. */
  readonly #parts: ReadonlyMap<TrainableArena, readonly Slice[]>;

  constructor(readonly ranks: Ranks, model: CausalLM, kind: OptimizerKind) {
    const { size } = ranks;
    this.#parts = new Map(model.trainableArenas.map((arena) => {
      const placed = model.trainable.filter(({ name }) => arena.offsets.has(name)).map((about) => ({
        offset: arena.offsets.get(about.name)!,
        n: elementCount(about.shape),
        cost: stateBytes(about, kind, about.storage !== null),
      }));
      placed.sort((a, b) => a.offset - b.offset);
      const borders = shardBorders(placed, arena.length, size);
      return [arena, borders.slice(1).map((end, rank): Slice => [borders[rank]!, end])];
    }));
  }

  parts(arena: TrainableArena): readonly Slice[] {
    return this.#parts.get(arena)!;
  }

  /** The elements of a parameter whose states each rank keeps, counted from its first one. */
  partsOf(arena: TrainableArena, offset: number, n: number): Slice[] {
    const inside = (at: number) => Math.min(n, Math.max(0, at - offset));
    return this.parts(arena).map(([begin, end]) => [inside(begin), inside(end)]);
  }

  /**
   * The elements whose gradients each rank needs: those of its part, and the rest of the chunk of
   * the norm that begins there last.
   */
  gradients(arena: TrainableArena): Slice[] {
    return this.parts(arena).map(([begin, end]) => [begin, chunkEnd(arena, end)]);
  }

  /** The elements whose squares each rank sums: the chunks of the norm that begin in its part. */
  squares(arena: TrainableArena): Slice[] {
    return this.parts(arena).map(([begin, end]) => [chunkEnd(arena, begin), chunkEnd(arena, end)]);
  }
}

function chunkEnd({ length }: TrainableArena, at: number): number {
  return Math.min(length, Math.ceil(at / SUM_CHUNK) * SUM_CHUNK);
}
