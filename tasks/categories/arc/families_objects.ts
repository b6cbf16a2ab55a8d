/** Families of `rearc` on single shapes on the background, and on two grids side by side. */
import { type Area, areas } from "./components.ts";
import { type Family, type GridRule, type Palette, withFree } from "./family.ts";
import { type Grid, gridOf } from "./grids.ts";

export const OBJECT_FAMILIES: readonly Family[] = [
  shapes("largest_only", () => ofUnique(-1, (g, area, ground) => only(g, ground, area))),
  shapes("largest_away", () => ofUnique(-1, painted)),
  shapes("largest_cut_out", () => ofUnique(-1, (g, area, ground) => cutOut(g, ground, area))),
  shapes("smallest_cut_out", () => ofUnique(0, (g, area, ground) => cutOut(g, ground, area))),
  shapes(
    "largest_recolored",
    withFree((color) => ofUnique(-1, (g, area) => painted(g, area, color))),
  ),
  shapes(
    "smallest_recolored",
    withFree((color) => ofUnique(0, (g, area) => painted(g, area, color))),
  ),
  shapes(
    "single_cells_recolored",
    withFree((color) => (g, ground) => {
      const single = bySize(g, ground).filter((area) => area.cells.length === 1);
      return single.length === 0
        ? null
        : single.reduce((grid, area) => painted(grid, area, color), g);
    }),
  ),
  shapes("single_cells_away", () => (g, ground) => {
    const found = bySize(g, ground);
    const single = found.filter((area) => area.cells.length === 1);
    if (single.length === 0 || single.length === found.length) return null;
    return single.reduce((grid, area) => painted(grid, area, ground), g);
  }),
  shapes("count_as_row", ({ used }) => (g, ground) => {
    const count = bySize(g, ground).length;
    return count < 1 || count > 20 ? null : [new Array<number>(count).fill(used[1]!)];
  }),
  shapes("colors_by_size", () => (g, ground) => {
    const found = bySize(g, ground);
    const tie = new Set(found.map(({ cells }) => cells.length)).size < found.length;
    return found.length < 2 || tie ? null : [found.map(({ color }) => color)];
  }),
  shapes(
    "move_right_by_one",
    () => (g, ground) =>
      g.some((row) => row.at(-1) !== ground) ? null : g.map((row) => [ground, ...row.slice(0, -1)]),
  ),
  shapes("move_down_by_two", () => (g, ground) => {
    const empty = (row: number[] | undefined) => row!.every((color) => color === ground);
    if (!empty(g.at(-1)) || !empty(g.at(-2)) || g.every(empty)) return null;
    return [g.at(-1)!.slice(), g.at(-2)!.slice(), ...g.slice(0, -2)];
  }),
  shapes("box_filled", () => (g, ground) => {
    let output = g;
    for (const area of bySize(g, ground)) output = boxed(output, area);
    return output;
  }),
  halves("common_cells", (a, b) => a && b),
  halves("cells_of_either", (a, b) => a || b),
  halves("cells_of_one", (a, b) => a !== b),
  halves("cells_of_neither", (a, b) => !a && !b),
  halves("left_without_right", (a, b) => a && !b),
];

/** A family whose inputs are separate shapes. */
function shapes(name: string, make: (palette: Palette) => GridRule | null): Family {
  return {
    name,
    inputs: ["shapes"],
    minSide: 4,
    make(_random, palette) {
      const rule = make(palette);
      return rule && ((g, ground) => {
        const output = rule(g, ground);
        if (output === null || output.length !== g.length) return output;
        return output.flat().join() === g.flat().join() ? null : output;
      });
    },
  };
}

/**
 * A family whose inputs are two halves side by side. `is` decides for each output cell whether it
 * is coloured, given whether the cells of the halves are.
 */
function halves(name: string, is: (left: boolean, right: boolean) => boolean): Family {
  return {
    name,
    inputs: ["noise"],
    minSide: 4,
    even: true,
    make(_random, { used, free }) {
      const color = free[0] ?? used[1]!;
      return (g, ground) => {
        const width = g[0]!.length / 2;
        const output = gridOf(g.length, width, (r, c) => {
          const row = g[r]!;
          return is(row[c] !== ground, row[c + width] !== ground) ? color : ground;
        });
        return new Set(output.flat()).size < 2 ? null : output;
      };
    },
  };
}

/** The areas that are not background, the smallest first. */
function bySize(g: Grid, ground: number): Area[] {
  return areas(g).filter(({ color }) => color !== ground)
    .sort((a, b) => a.cells.length - b.cells.length);
}

/**
 * The rule that changes the first (0) or last (−1) area by size, where its size is unique among at
 * least two areas.
 */
function ofUnique(
  at: 0 | -1,
  change: (g: Grid, area: Area, ground: number) => Grid,
): GridRule {
  return (g, ground) => {
    const found = bySize(g, ground), area = found.at(at), next = found.at(at === 0 ? 1 : -2);
    if (found.length < 2 || area!.cells.length === next!.cells.length) return null;
    return change(g, area!, ground);
  };
}

function painted(g: Grid, { cells }: Area, color: number): Grid {
  const width = g[0]!.length, result = g.map((row) => row.slice());
  for (const cell of cells) result[Math.floor(cell / width)]![cell % width] = color;
  return result;
}

function only(g: Grid, ground: number, area: Area): Grid {
  return painted(g.map((row) => row.map(() => ground)), area, area.color);
}

function extent(g: Grid, { cells }: Area) {
  const width = g[0]!.length;
  const rows = cells.map((cell) => Math.floor(cell / width)), columns = cells.map((c) => c % width);
  return {
    top: Math.min(...rows),
    bottom: Math.max(...rows),
    left: Math.min(...columns),
    right: Math.max(...columns),
  };
}

/** The area alone, cut to its bounding box. */
function cutOut(g: Grid, ground: number, area: Area): Grid {
  const { top, bottom, left, right } = extent(g, area);
  return only(g, ground, area).slice(top, bottom + 1).map((row) => row.slice(left, right + 1));
}

/** The bounding box of the area, filled with its colour. */
function boxed(g: Grid, area: Area): Grid {
  const { top, bottom, left, right } = extent(g, area);
  return g.map((row, r) =>
    r < top || r > bottom ? row : row.map((color, c) => c < left || c > right ? color : area.color)
  );
}
