/**
 * Allocates runs of neighbouring rows of a KV cache. Runs are released in any order. A run comes
 * from the first hole that is long enough. Neighbouring holes are joined, so an empty cache is one
 * hole again and has room for any run that can fit. Left out: moving rows to close gaps.
 */

/** Rows [begin, end). */
export interface RowRange {
  begin: number;
  end: number;
}

export class RowAllocator {
  /** Ascending; none is empty, and no two touch. */
  #holes: RowRange[];

  /** @param align runs begin at multiples of it */
  constructor(readonly rows: number, readonly align: number) {
    this.#holes = rows > 0 ? [{ begin: 0, end: rows }] : [];
  }

  get freeRows(): number {
    return this.#holes.reduce((sum, { begin, end }) => sum + end - begin, 0);
  }

  /**
   * Allocates a run of `wanted` rows. If no hole is that long, the run takes what fits in the
   * longest hole; the result is null when that is less than `minRows`.
   */
  allocate(minRows: number, wanted: number): RowRange | null {
    let best = -1, longest = minRows - 1;
    for (const [i, hole] of this.#holes.entries()) {
      const room = hole.end - this.#aligned(hole);
      if (room <= longest) continue;
      best = i;
      longest = room;
      if (room >= wanted) break;
    }
    if (best < 0) return null;
    const hole = this.#holes[best]!, begin = this.#aligned(hole);
    const run = { begin, end: begin + Math.min(longest, wanted) };
    const rest = [{ begin: hole.begin, end: begin }, { begin: run.end, end: hole.end }];
    this.#holes.splice(best, 1, ...rest.filter(({ begin, end }) => begin < end));
    return run;
  }

  /** Releases an allocated run, whole or in parts. */
  release({ begin, end }: RowRange): void {
    if (begin >= end) return;
    const holes = this.#holes;
    let at = holes.findIndex((hole) => hole.begin >= begin);
    if (at < 0) at = holes.length;
    const joinsBefore = at > 0 && holes[at - 1]!.end === begin;
    const joinsAfter = at < holes.length && holes[at]!.begin === end;
    const from = joinsBefore ? at - 1 : at, count = Number(joinsBefore) + Number(joinsAfter);
    holes.splice(from, count, {
      begin: joinsBefore ? holes[at - 1]!.begin : begin,
      end: joinsAfter ? holes[at]!.end : end,
    });
  }

  #aligned({ begin }: RowRange): number {
    return Math.ceil(begin / this.align) * this.align;
  }
}
