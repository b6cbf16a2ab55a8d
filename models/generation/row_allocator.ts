/**
 * Which rows of a cache are taken: runs of neighbouring rows, lent and given back in any order. A run goes to the
 * first hole that is long enough; neighbouring holes become one, so a cache that nothing holds is one hole again
 * and takes any run that fits it at all. Left out: moving what is there to close gaps.
 */

/** Rows [begin, end). */
export interface RowRange {
  begin: number;
  end: number;
}

export class RowAllocator {
  /** In order, apart from one another, none empty. */
  #holes: RowRange[];

  /** @param align runs begin at multiples of it */
  constructor(readonly rows: number, readonly align: number) {
    this.#holes = rows > 0 ? [{ begin: 0, end: rows }] : [];
  }

  get freeRows(): number {
    return this.#holes.reduce((sum, { begin, end }) => sum + end - begin, 0);
  }

  /**
   * A run of `wanted` rows, or where no hole is so long, as much of the longest as there is; null when that is
   * less than `least`.
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

  /** Gives back what was taken, whole or in parts. */
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
