/** The largest area of ones in a grid of zeros and ones. */
import { counts, defineTask, exactScore, type RandomStream } from "../../define.ts";
import { gridText } from "../../grids.ts";

export default defineTask({
  description: "Find the area of the largest island in a grid.",
  ...exactScore("the number"),
  params: {
    rows: counts([5, 10], "rows", { min: 1, levels: [5, 25, 50, 100] }),
    cols: counts([5, 10], "columns", { min: 1, levels: [5, 25, 50, 100] }),
    num_islands: counts([0, 5], "walks that make land", { min: 0, levels: [2, 5, 10, 20] }),
    island_size: counts([0, 10], "steps of a walk", { min: 0, levels: [5, 10, 20, 30] }),
  },
  generate(random, config) {
    const rows = random.int(config.min_rows, config.max_rows);
    const columns = random.int(config.min_cols, config.max_cols);
    const map = new IslandMap(rows, columns);
    const islands = random.int(config.min_num_islands, config.max_num_islands);
    for (let i = 0; i < islands; i++) {
      map.walk(random, random.int(config.min_island_size, config.max_island_size));
    }
    const grid = map.rows();
    const solution = map.largestArea();
    return {
      question:
        `In this grid of ${rows} rows and ${columns} columns, 1 is land and 0 is water. Cells of ` +
        "land that touch along a side (not only at a corner) belong to the same island.\n" +
        `${gridText(grid)}\n` +
        "How many cells does the largest island have? Answer with the number only, 0 if there is " +
        "no land.",
      answer: String(solution),
      metadata: { grid, solution },
    };
  },
});

/** The value of a cell outside of the grid. */
const BORDER = 2;

/** The grid in row-major order with a border, so that every cell has four neighbours. */
class IslandMap {
  readonly #width: number;
  readonly #cells: Uint8Array;
  readonly #steps: readonly number[];

  constructor(private readonly height: number, private readonly columns: number) {
    this.#width = columns + 1;
    this.#cells = new Uint8Array((height + 2) * this.#width + 1).fill(BORDER);
    this.#steps = [1, this.#width, -1, -this.#width];
    for (let row = 0; row < height; row++) {
      this.#cells.fill(0, this.#at(row, 0), this.#at(row, columns));
    }
  }

  #at(row: number, column: number): number {
    return (row + 1) * this.#width + column + 1;
  }

  rows(): number[][] {
    return Array.from(
      { length: this.height },
      (_, row) => [...this.#cells.subarray(this.#at(row, 0), this.#at(row, this.columns))],
    );
  }

  /**
   * Walks fewer than `size` steps from a random cell, each to a neighbour that is water, and turns
   * the cells into land. Stops early when no neighbour is water.
   */
  walk(random: RandomStream, size: number): void {
    let cell = this.#at(random.below(this.height), random.below(this.columns));
    for (let step = 0; step < size; step++) {
      this.#cells[cell] = 1;
      let free = 0;
      for (const move of this.#steps) if (this.#cells[cell + move] === 0) free++;
      if (free === 0) return;
      let choice = random.below(free);
      cell += this.#steps.find((move) => this.#cells[cell + move] === 0 && choice-- === 0)!;
    }
  }

  /** The number of cells of the largest component, by flood fill. */
  largestArea(): number {
    const cells = this.#cells.slice(), stack: number[] = [];
    let largest = 0;
    for (let start = 0; start < cells.length; start++) {
      if (cells[start] !== 1) continue;
      let area = 0;
      cells[start] = 0;
      stack.push(start);
      for (let cell = stack.pop(); cell !== undefined; cell = stack.pop()) {
        area++;
        for (const move of this.#steps) {
          if (cells[cell + move] !== 1) continue;
          cells[cell + move] = 0;
          stack.push(cell + move);
        }
      }
      largest = Math.max(largest, area);
    }
    return largest;
  }
}
