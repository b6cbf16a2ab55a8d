/** The families of `rearc`: of whole grids, of colours and lines, of shapes, of two halves. */
import { type Area, areas } from "./components.ts";
import { type Families, type Family, type GridRule, withInputs } from "./family.ts";
import { transpose } from "../../grids.ts";
import type { Grid } from "./grids.ts";
import * as grids from "./grids.ts";

const any = withInputs(["noise", "full", "shapes"]);
const onGround = withInputs(["noise", "shapes"]);
const noise = withInputs(["noise"]);
const shapes = withInputs(["shapes"], 4);

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

export const FAMILIES: Families = {
  ...Object.fromEntries(
    Object.entries(FIXED).map(([name, rule]) => {
      return [name, { ...any.fixed(rule), even: HALVES.test(name) }];
    }),
  ),
  one_color_to_another: any.drawn(({ used, free }) => {
    const from = used[1]!, to = free[0];
    return to === undefined ? null : (g) => recolored(g, (color) => color === from ? to : color);
  }),
  exchange_two_colors: any.drawn(({ used }) => {
    const [a, b] = used as [number, number];
    return (g) => recolored(g, (color) => color === a ? b : color === b ? a : color);
  }),
  next_color: any.drawn(({ used }, random) => {
    const order = random.shuffle(used.slice());
    return (g) => recolored(g, (color) => order[(order.indexOf(color) + 1) % order.length]!);
  }),
  all_to_one_color: onGround.free((to) => (g, ground) =>
    recolored(g, (color) => color === ground ? color : to)
  ),
  new_background: onGround.free((to) => (g, ground) =>
    recolored(g, (color) => color === ground ? to : color)
  ),
  keep_one_color: onGround.drawn(({ used: [, kept, other] }) =>
    other === undefined
      ? null
      : (g, ground) => recolored(g, (color) => color === kept ? color : ground)
  ),
  remove_one_color: onGround.drawn(({ used: [, removed, other] }) =>
    other === undefined
      ? null
      : (g, ground) => recolored(g, (color) => color === removed ? ground : color)
  ),
  every_other_cell_away: onGround.fixed((g, ground) =>
    cellwise(g, (color, r, c) => (r + c) % 2 === 0 ? color : ground)
  ),
  frame: any.free((color) => (g) => {
    const h = g.length + 2, w = g[0]!.length + 2;
    return grids.gridOf(h, w, (r, c) => onEdge(r, h) || onEdge(c, w) ? color : g[r - 1]![c - 1]!);
  }),
  border_recolored: any.free((color) => (g) =>
    cellwise(g, (old, r, c) => onEdge(r, g.length) || onEdge(c, g[0]!.length) ? color : old)
  ),
  corners_marked: any.free((color) => (g) =>
    cellwise(g, (old, r, c) => onEdge(r, g.length) && onEdge(c, g[0]!.length) ? color : old)
  ),
  fall_down: noise.fixed((g, ground) => transpose(packed(transpose(g), ground, "end"))),
  fall_up: noise.fixed((g, ground) => transpose(packed(transpose(g), ground, "start"))),
  fall_left: noise.fixed((g, ground) => packed(g, ground, "start")),
  fall_right: noise.fixed((g, ground) => packed(g, ground, "end")),
  most_frequent_color: any.fixed((g, ground) => {
    const counts = frequencies(g, ground);
    return counts.length < 2 || counts[0]![1] === counts[1]![1] ? null : [[counts[0]![0]]];
  }),
  colors_by_frequency: any.fixed((g, ground) =>
    ranking(g, ground)?.map(([color]) => [color]) ?? null
  ),
  bars_of_color_counts: noise.fixed((g, ground) => {
    const counts = ranking(g, ground), most = counts?.[0]?.[1] ?? 0;
    if (counts === null || most > 12) return null;
    return counts.map(([color, n]) =>
      Array.from({ length: most }, (_, i) => i < n ? color : ground)
    );
  }),
  crop: onGround.fixed((g, ground) => cropped(g, ground)),
  crop_and_mirror: onGround.fixed((g, ground) => cropped(g, ground, grids.flipSideways)),
  crop_and_turn: onGround.fixed((g, ground) => cropped(g, ground, grids.rotate180)),
  crop_and_flip: onGround.fixed((g, ground) => cropped(g, ground, grids.flipUpsideDown)),
  shadow_right: onGround.fixed((g, ground) =>
    cellwise(g, (color, r, c) => color === ground ? g[r]![c - 1] ?? ground : color)
  ),
  shadow_below: onGround.fixed((g, ground) =>
    cellwise(g, (color, r, c) => color === ground ? g[r - 1]?.[c] ?? ground : color)
  ),
  shoot_right: noise.fixed(streaks),
  shoot_down: noise.fixed((g, ground) => transpose(streaks(transpose(g), ground))),
  shoot_left: noise.fixed((g, ground) =>
    grids.flipSideways(streaks(grids.flipSideways(g), ground))
  ),
  connect_in_rows: noise.fixed(connected),
  connect_in_columns: noise.fixed((g, ground) => transpose(connected(transpose(g), ground))),
  empty_rows_marked: onGround.free((color) => (g, ground) => emptyRows(g, ground, color)),
  empty_columns_marked: onGround.free((color) => (g, ground) =>
    transpose(emptyRows(transpose(g), ground, color))
  ),
  halo: onGround.free((color) => (g, ground) =>
    cellwise(g, (old, r, c) => old === ground && hasNeighbour(g, r, c, ground) ? color : old)
  ),
  lonely_cells_away: noise.fixed((g, ground) =>
    cellwise(g, (old, r, c) => hasNeighbour(g, r, c, ground) ? old : ground)
  ),
  rows_by_count: noise.fixed((g, ground) => {
    const counted = g.map((row) => ({ row, n: row.filter((color) => color !== ground).length }));
    const tie = new Set(counted.map(({ n }) => n)).size < g.length;
    return tie ? null : counted.sort((a, b) => a.n - b.n).map(({ row }) => row.slice());
  }),
  grid_in_each_cell: noise.fixed((g, ground) => {
    const h = g.length, w = g[0]!.length;
    return grids.gridOf(h * h, w * w, (r, c) => {
      const big = g[Math.floor(r / h)]![Math.floor(c / w)]!;
      return big === ground ? ground : g[r % h]![c % w]!;
    });
  }),
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

const onEdge = (at: number, count: number) => at === 0 || at === count - 1;

function recolored(g: Grid, change: (color: number) => number): Grid {
  return g.map((row) => row.map(change));
}

function cellwise(g: Grid, change: (color: number, r: number, c: number) => number): Grid {
  return g.map((row, r) => row.map((color, c) => change(color, r, c)));
}

/** Whether one of the eight neighbouring cells is not background. */
function hasNeighbour(g: Grid, r: number, c: number, ground: number): boolean {
  for (let y = r - 1; y <= r + 1; y++) {
    for (let x = c - 1; x <= c + 1; x++) {
      if ((y !== r || x !== c) && (g[y]?.[x] ?? ground) !== ground) return true;
    }
  }
  return false;
}

/** In each row, the coloured cells move to one side. */
function packed(g: Grid, ground: number, side: "start" | "end"): Grid {
  return g.map((row) => {
    const cells = row.filter((color) => color !== ground);
    const rest = new Array<number>(row.length - cells.length).fill(ground);
    return side === "end" ? [...rest, ...cells] : [...cells, ...rest];
  });
}

/** The colours other than the background with their numbers of cells, the most frequent first. */
function frequencies(g: Grid, ground: number): [color: number, count: number][] {
  const counts = new Map<number, number>();
  for (const color of g.flat()) {
    if (color !== ground) counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The frequencies; null if two are equal, or if there is only one colour. */
function ranking(g: Grid, ground: number): [color: number, count: number][] | null {
  const counts = frequencies(g, ground);
  const tie = counts.some(([, n], i) => i > 0 && n === counts[i - 1]![1]);
  return counts.length < 2 || tie ? null : counts;
}

/** The smallest rectangle with all coloured cells, changed; null if it is the whole grid. */
function cropped(g: Grid, ground: number, change = (part: Grid): Grid => part): Grid | null {
  const filled = (row: number[]) => row.some((color) => color !== ground);
  const columns = transpose(g);
  const top = g.findIndex(filled), left = columns.findIndex(filled);
  if (top < 0) return null;
  const bottom = g.findLastIndex(filled), right = columns.findLastIndex(filled);
  if (bottom - top + 1 === g.length && right - left + 1 === g[0]!.length) return null;
  return change(g.slice(top, bottom + 1).map((row) => row.slice(left, right + 1)));
}

/**
 * Every coloured cell fills the background on its right, up to the next coloured cell or the end.
 */
function streaks(g: Grid, ground: number): Grid {
  return g.map((row) => {
    let last = ground;
    return row.map((color) => last = color === ground ? last : color);
  });
}

/** In each row, the background between two successive cells of the same colour gets that colour. */
function connected(g: Grid, ground: number): Grid {
  return g.map((row) => {
    const result = row.slice();
    let last = -1;
    row.forEach((color, c) => {
      if (color === ground) return;
      if (last >= 0 && row[last] === color) result.fill(color, last, c);
      last = c;
    });
    return result;
  });
}

function emptyRows(g: Grid, ground: number, color: number): Grid {
  return g.map((row) => row.map((old) => row.every((x) => x === ground) ? color : old));
}

/**
 * A family whose inputs are two halves side by side. `is` decides for each output cell whether it
 * is coloured, given whether the cells of the halves are.
 */
function halves(is: (left: boolean, right: boolean) => boolean): Family {
  const made = withInputs(["noise"], 4).drawn(({ used, free }) => (g, ground) => {
    const color = free[0] ?? used[1]!, width = g[0]!.length / 2;
    const output = grids.gridOf(g.length, width, (r, c) => {
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
function ofUnique(at: 0 | -1, change: (g: Grid, area: Area, ground: number) => Grid): GridRule {
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

function cutOut(g: Grid, area: Area, ground: number): Grid {
  const { top, bottom, left, right } = extent(g, area);
  return only(g, area, ground).slice(top, bottom + 1).map((row) => row.slice(left, right + 1));
}

function boxed(g: Grid, area: Area): Grid {
  const { top, bottom, left, right } = extent(g, area);
  return g.map((row, r) =>
    r < top || r > bottom ? row : row.map((color, c) => c < left || c > right ? color : area.color)
  );
}
