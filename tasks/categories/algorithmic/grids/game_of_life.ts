/** The board of Conway's Game of Life after a number of steps, on a torus. */
import { defineTask, float, int, nullable } from "../../../define.ts";
import { parseJson } from "../../../python/literals.ts";
import { type Cells, lifeStep } from "./life.ts";
import { rowsOf } from "../../../grids.ts";

export default defineTask({
  description: "Simulate the Game of Life.",
  scoring:
    "The share of cells that are right in a JSON list of rows, of the cells expected or given, " +
    "whichever are more; 0 for anything else.",
  params: {
    grid_size_x: int(10, "rows", { min: 3, max: 999, levels: [10, 25, 50, 100] }),
    grid_size_y: int(10, "columns", { min: 3, max: 999, levels: [10, 25, 50, 100] }),
    filled_cells_weights: float(0.1, "share of cells set alive", {
      min: 0,
      max: 1,
      levels: [0.1, 0.2, 0.5, 0.8],
    }),
    filled_cells: nullable(int(0, "cells set alive; null for filled_cells_weights", { min: 0 })),
    simulation_steps: int(1, "steps", { min: 0, levels: [1, 2, 5, 10] }),
  },
  rules: {
    "filled_cells: must be at most grid_size_x · grid_size_y": (c) =>
      c.filled_cells === null || c.filled_cells <= c.grid_size_x * c.grid_size_y,
  },
  generate(random, config) {
    const { grid_size_x: rows, grid_size_y: columns, simulation_steps: steps } = config;
    const size = rows * columns;
    const filled = config.filled_cells ?? Math.floor(config.filled_cells_weights * size);
    let cells: Cells = new Uint8Array(size);
    for (let i = 0; i < filled; i++) cells[random.below(size)] = 1;
    const board = boardText(cells, columns, ",\n ");
    for (let step = 0; step < steps; step++) cells = lifeStep(cells, rows, columns);
    return {
      question: "This is a board of Conway's Game of Life, where 1 is a living cell:\n" +
        `${board}\nEach cell has eight neighbours, and the board wraps around: its first row is ` +
        "next to its last row, and its first column next to its last column. In every step a " +
        "living cell with two or three living neighbours stays alive, a dead cell with exactly " +
        "three comes alive, and all others are dead. What does the board look like after " +
        `${steps} step${steps === 1 ? "" : "s"}?\n` +
        "Answer with the board as a JSON list of its rows from top to bottom, each a list of 0 " +
        "and 1.",
      answer: boardText(cells, columns, ","),
      metadata: {
        grid_size_x: rows,
        grid_size_y: columns,
        filled_cells: filled,
        simulation_steps: steps,
      },
    };
  },
  score(answer, entry) {
    const given = parseJson(answer), expected = parseJson(entry.answer ?? "");
    if (!Array.isArray(given) || !Array.isArray(expected)) return 0;
    let equal = 0;
    expected.forEach((cells, row) => {
      const line = given[row];
      if (!Array.isArray(cells) || !Array.isArray(line)) return;
      cells.forEach((cell, column) =>
        equal += column < line.length && same(cell, line[column]) ? 1 : 0
      );
    });
    return equal / Math.max(1, countCells(expected), countCells(given));
  },
});

function boardText(cells: Cells, columns: number, between: string): string {
  return `[${rowsOf(cells, columns).map((row) => `[${row}]`).join(between)}]`;
}

/** Python's equality of JSON values, where true equals 1. */
function same(a: unknown, b: unknown): boolean {
  return (typeof a === "boolean" ? Number(a) : a) === (typeof b === "boolean" ? Number(b) : b);
}

function countCells(rows: readonly unknown[]): number {
  return rows.reduce<number>((sum, row) => sum + (Array.isArray(row) ? row.length : 1), 0);
}
