/** Families of `rearc` on colours, lines, falling cells and the shape of the coloured cells. */
import { type Families, withInputs } from "./family.ts";
import { flipSideways, flipUpsideDown, type Grid, gridOf, rotate180 } from "./grids.ts";
import { transpose } from "../../grids.ts";

const any = withInputs(["noise", "full", "shapes"]);
const onGround = withInputs(["noise", "shapes"]);
const noise = withInputs(["noise"]);

export const COLOR_FAMILIES: Families = {
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
    return gridOf(h, w, (r, c) => onEdge(r, h) || onEdge(c, w) ? color : g[r - 1]![c - 1]!);
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
  crop_and_mirror: onGround.fixed((g, ground) => cropped(g, ground, flipSideways)),
  crop_and_turn: onGround.fixed((g, ground) => cropped(g, ground, rotate180)),
  crop_and_flip: onGround.fixed((g, ground) => cropped(g, ground, flipUpsideDown)),
  shadow_right: onGround.fixed((g, ground) =>
    cellwise(g, (color, r, c) => color === ground ? g[r]![c - 1] ?? ground : color)
  ),
  shadow_below: onGround.fixed((g, ground) =>
    cellwise(g, (color, r, c) => color === ground ? g[r - 1]?.[c] ?? ground : color)
  ),
  shoot_right: noise.fixed(streaks),
  shoot_down: noise.fixed((g, ground) => transpose(streaks(transpose(g), ground))),
  shoot_left: noise.fixed((g, ground) => flipSideways(streaks(flipSideways(g), ground))),
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
    return gridOf(h * h, w * w, (r, c) => {
      const big = g[Math.floor(r / h)]![Math.floor(c / w)]!;
      return big === ground ? ground : g[r % h]![c % w]!;
    });
  }),
};

/** Whether a row or a column is the first or the last of so many. */
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
