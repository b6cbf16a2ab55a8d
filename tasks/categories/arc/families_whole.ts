/** Families of `rearc` that rearrange the whole grid. */
import { type Families, withInputs } from "./family.ts";
import { transpose } from "../../grids.ts";
import type { Grid } from "./grids.ts";
import * as grids from "./grids.ts";

const any = withInputs(["noise", "full", "shapes"]);

const above = (a: Grid, b: Grid): Grid => [...a, ...b];
const beside = (a: Grid, b: Grid): Grid => a.map((row, r) => [...row, ...b[r]!]);
const half = (n: number) => n >> 1;

function enlarged(g: Grid, rows: number, columns: number): Grid {
  return grids.gridOf(
    g.length * rows,
    g[0]!.length * columns,
    (r, c) => g[Math.floor(r / rows)]![Math.floor(c / columns)]!,
  );
}

function cycled(g: Grid, down: number, right: number): Grid {
  const h = g.length, w = g[0]!.length;
  return grids.gridOf(h, w, (r, c) => g[(r - down + h) % h]![(c - right + w) % w]!);
}

/** Rules without random parameters. */
const FIXED: Readonly<Record<string, (g: Grid) => Grid>> = {
  mirror_sideways: grids.flipSideways,
  mirror_upside_down: grids.flipUpsideDown,
  turn_90: grids.rotate90,
  turn_180: grids.rotate180,
  turn_270: grids.rotate270,
  mirror_diagonal: transpose,
  mirror_other_diagonal: grids.antitranspose,
  twice_beside: (g) => beside(g, g),
  twice_above: (g) => above(g, g),
  twice_both: (g) => beside(above(g, g), above(g, g)),
  reflect_right: (g) => beside(g, grids.flipSideways(g)),
  reflect_left: (g) => beside(grids.flipSideways(g), g),
  reflect_down: (g) => above(g, grids.flipUpsideDown(g)),
  reflect_up: (g) => above(grids.flipUpsideDown(g), g),
  reflect_both: (g) => {
    const wide = beside(g, grids.flipSideways(g));
    return above(wide, grids.flipUpsideDown(wide));
  },
  with_half_turn_right: (g) => beside(g, grids.rotate180(g)),
  with_half_turn_below: (g) => above(g, grids.rotate180(g)),
  enlarge_2: (g) => enlarged(g, 2, 2),
  enlarge_3: (g) => enlarged(g, 3, 3),
  stretch_rows: (g) => enlarged(g, 2, 1),
  stretch_columns: (g) => enlarged(g, 1, 2),
  upper_half: (g) => g.slice(0, half(g.length)),
  lower_half: (g) => g.slice(-half(g.length)),
  left_half: (g) => g.map((row) => row.slice(0, half(row.length))),
  right_half: (g) => g.map((row) => row.slice(-half(row.length))),
  upper_left_quarter: (g) =>
    g.slice(0, half(g.length)).map((row) => row.slice(0, half(row.length))),
  lower_right_quarter: (g) => g.slice(-half(g.length)).map((row) => row.slice(-half(row.length))),
  swap_upper_lower: (g) => above(g.slice(half(g.length)), g.slice(0, half(g.length))),
  swap_left_right: (g) =>
    g.map((row) => [...row.slice(half(row.length)), ...row.slice(0, half(row.length))]),
  complete_from_left: (g) => {
    const left = g.map((row) => row.slice(0, half(row.length)));
    return beside(left, grids.flipSideways(left));
  },
  complete_from_top: (g) => {
    const top = g.slice(0, half(g.length));
    return above(top, grids.flipUpsideDown(top));
  },
  without_border: (g) => g.slice(1, -1).map((row) => row.slice(1, -1)),
  border_twice: (g) =>
    grids.gridOf(g.length + 2, g[0]!.length + 2, (r, c) => {
      const row = Math.min(Math.max(r - 1, 0), g.length - 1);
      return g[row]![Math.min(Math.max(c - 1, 0), g[0]!.length - 1)]!;
    }),
  every_other_row: (g) => g.filter((_, r) => r % 2 === 0),
  every_other_column: (g) => g.map((row) => row.filter((_, c) => c % 2 === 0)),
  mirror_every_other_row: (g) => g.map((row, r) => r % 2 === 1 ? row.toReversed() : row.slice()),
  roll_down: (g) => cycled(g, 1, 0),
  roll_up: (g) => cycled(g, -1, 0),
  roll_right: (g) => cycled(g, 0, 1),
  roll_left: (g) => cycled(g, 0, -1),
  roll_diagonally: (g) => cycled(g, 1, 1),
  slanted_rows: (g) => g.map((row, r) => row.map((_, c) => row[(c + r) % row.length]!)),
  exchange_outer_rows: (g) => [g.at(-1)!, ...g.slice(1, -1), g[0]!].map((row) => row.slice()),
  exchange_outer_columns: (g) => g.map((row) => [row.at(-1)!, ...row.slice(1, -1), row[0]!]),
};

/** Rules that need even sides, so that the same rule applies to all pairs. */
const HALVES = /half$|quarter$|^swap|^complete/;

export const WHOLE_FAMILIES: Families = Object.fromEntries(
  Object.entries(FIXED).map(([name, rule]) => {
    return [name, { ...any.fixed(rule), even: HALVES.test(name) }];
  }),
);
