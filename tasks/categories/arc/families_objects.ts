/** Families of `rearc` on single shapes on the background, and on two grids side by side. */
import { type Area, areas } from "./components.ts";
import { type Families, type Family, type GridRule, withInputs } from "./family.ts";
import { type Grid, gridOf } from "./grids.ts";

const shapes = withInputs(["shapes"], 4);

export const OBJECT_FAMILIES: Families = {
  largest_only: shapes.fixed(ofUnique(-1, only)),
  largest_away: shapes.fixed(ofUnique(-1, painted)),
  largest_cut_out: shapes.fixed(ofUnique(-1, cutOut)),
  smallest_cut_out: shapes.fixed(ofUnique(0, cutOut)),
  largest_recolored: shapes.free((color) => ofUnique(-1, (g, area) => painted(g, area, color))),
  smallest_recolored: shapes.free((color) => ofUnique(0, (g, area) => painted(g, area, color))),
  single_cells_recolored: shapes.free((color) => (g, ground) => {
    const single = bySize(g, ground).filter((area) => area.cells.length === 1);
    return single.length === 0
      ? null
      : single.reduce((grid, area) => painted(grid, area, color), g);
  }),
  single_cells_away: shapes.fixed((g, ground) => {
    const found = bySize(g, ground);
    const single = found.filter((area) => area.cells.length === 1);
    if (single.length === 0 || single.length === found.length) return null;
    return single.reduce((grid, area) => painted(grid, area, ground), g);
  }),
  count_as_row: shapes.drawn(({ used }) => (g, ground) => {
    const count = bySize(g, ground).length;
    return count < 1 || count > 20 ? null : [new Array<number>(count).fill(used[1]!)];
  }),
  colors_by_size: shapes.fixed((g, ground) => {
    const found = bySize(g, ground);
    const tie = new Set(found.map(({ cells }) => cells.length)).size < found.length;
    return found.length < 2 || tie ? null : [found.map(({ color }) => color)];
  }),
  move_right_by_one: shapes.fixed((g, ground) =>
    g.some((row) => row.at(-1) !== ground) ? null : g.map((row) => [ground, ...row.slice(0, -1)])
  ),
  move_down_by_two: shapes.fixed((g, ground) => {
    const empty = (row: number[] | undefined) => row!.every((color) => color === ground);
    if (!empty(g.at(-1)) || !empty(g.at(-2)) || g.every(empty)) return null;
    return [g.at(-1)!.slice(), g.at(-2)!.slice(), ...g.slice(0, -2)];
  }),
  box_filled: shapes.fixed((g, ground) => bySize(g, ground).reduce(boxed, g)),
  common_cells: halves((a, b) => a && b),
  cells_of_either: halves((a, b) => a || b),
  cells_of_one: halves((a, b) => a !== b),
  cells_of_neither: halves((a, b) => !a && !b),
  left_without_right: halves((a, b) => a && !b),
};

/**
 * A family whose inputs are two halves side by side. `is` decides for each output cell whether it
 * is coloured, given whether the cells of the halves are.
 */
function halves(is: (left: boolean, right: boolean) => boolean): Family {
  const made = withInputs(["noise"], 4).drawn(({ used, free }) => (g, ground) => {
    const color = free[0] ?? used[1]!, width = g[0]!.length / 2;
    const output = gridOf(g.length, width, (r, c) => {
      const row = g[r]!;
      return is(row[c] !== ground, row[c + width] !== ground) ? color : ground;
    });
    return new Set(output.flat()).size < 2 ? null : output;
  });
  return { ...made, even: true };
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

function only(g: Grid, area: Area, ground: number): Grid {
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
function cutOut(g: Grid, area: Area, ground: number): Grid {
  const { top, bottom, left, right } = extent(g, area);
  return only(g, area, ground).slice(top, bottom + 1).map((row) => row.slice(left, right + 1));
}

/** The bounding box of the area, filled with its colour. */
function boxed(g: Grid, area: Area): Grid {
  const { top, bottom, left, right } = extent(g, area);
  return g.map((row, r) =>
    r < top || r > bottom ? row : row.map((color, c) => c < left || c > right ? color : area.color)
  );
}
