/** Families of `rearc` on colours, lines, falling cells and the shape of the coloured cells. */
import { type Family, type GridRule, type InputKind, type Palette, withFree } from "./family.ts";
import { flipSideways, flipUpsideDown, type Grid, gridOf, rotate180 } from "./grids.ts";
import { transpose } from "../../grids.ts";
import type { RandomStream } from "../../../core/philox.ts";

const ANY: readonly InputKind[] = ["noise", "full", "shapes"];
const ON_GROUND: readonly InputKind[] = ["noise", "shapes"];

export const COLOR_FAMILIES: readonly Family[] = [
  family("one_color_to_another", ANY, ({ used, free }) => {
    const from = used[1]!, to = free[0];
    return to === undefined ? null : (g) => recolored(g, (color) => color === from ? to : color);
  }),
  family("exchange_two_colors", ANY, ({ used }) => {
    const [a, b] = used as [number, number];
    return (g) => recolored(g, (color) => color === a ? b : color === b ? a : color);
  }),
  family("next_color", ANY, ({ used }, random) => {
    const order = random.shuffle(used.slice());
    return (g) => recolored(g, (color) => order[(order.indexOf(color) + 1) % order.length]!);
  }),
  family(
    "all_to_one_color",
    ON_GROUND,
    withFree((to) => (g, ground) => recolored(g, (color) => color === ground ? color : to)),
  ),
  family(
    "new_background",
    ON_GROUND,
    withFree((to) => (g, ground) => recolored(g, (color) => color === ground ? to : color)),
  ),
  family("keep_one_color", ON_GROUND, ({ used }) => {
    const kept = used[1]!;
    return used.length < 3
      ? null
      : (g, ground) => recolored(g, (color) => color === kept ? color : ground);
  }),
  family("remove_one_color", ON_GROUND, ({ used }) => {
    const removed = used[1]!;
    return used.length < 3
      ? null
      : (g, ground) => recolored(g, (color) => color === removed ? ground : color);
  }),
  family(
    "every_other_cell_away",
    ON_GROUND,
    () => (g, ground) => cellwise(g, (color, r, c) => (r + c) % 2 === 0 ? color : ground),
  ),
  family(
    "frame",
    ANY,
    withFree((color) => (g) => {
      const h = g.length + 2, w = g[0]!.length + 2;
      return gridOf(h, w, (r, c) => onEdge(r, h) || onEdge(c, w) ? color : g[r - 1]![c - 1]!);
    }),
  ),
  family(
    "border_recolored",
    ANY,
    withFree((color) => (g) =>
      cellwise(g, (old, r, c) => onEdge(r, g.length) || onEdge(c, g[0]!.length) ? color : old)
    ),
  ),
  family(
    "corners_marked",
    ANY,
    withFree((color) => (g) =>
      cellwise(g, (old, r, c) => onEdge(r, g.length) && onEdge(c, g[0]!.length) ? color : old)
    ),
  ),
  ...["down", "up", "left", "right"].map((direction) =>
    family(`fall_${direction}`, ["noise"], () => (g, ground) => fallen(g, ground, direction))
  ),
  family("most_frequent_color", ANY, () => (g, ground) => {
    const counts = frequencies(g, ground);
    return counts.length < 2 || counts[0]![1] === counts[1]![1] ? null : [[counts[0]![0]]];
  }, 3),
  family("colors_by_frequency", ANY, () => (g, ground) => {
    const counts = frequencies(g, ground);
    const tie = counts.some(([, n], i) => i > 0 && n === counts[i - 1]![1]);
    return counts.length < 2 || tie ? null : counts.map(([color]) => [color]);
  }, 3),
  family("bars_of_color_counts", ["noise"], () => (g, ground) => {
    const counts = frequencies(g, ground);
    const tie = counts.some(([, n], i) => i > 0 && n === counts[i - 1]![1]);
    if (counts.length < 2 || tie || counts[0]![1] > 12) return null;
    return counts.map(([color, n]) =>
      Array.from({ length: counts[0]![1] }, (_, i) => i < n ? color : ground)
    );
  }, 3),
  family("crop", ON_GROUND, () => (g, ground) => cropped(g, ground)),
  family("crop_and_mirror", ON_GROUND, () => (g, ground) => {
    const part = cropped(g, ground);
    return part && flipSideways(part);
  }),
  family("crop_and_turn", ON_GROUND, () => (g, ground) => {
    const part = cropped(g, ground);
    return part && rotate180(part);
  }),
  family("crop_and_flip", ON_GROUND, () => (g, ground) => {
    const part = cropped(g, ground);
    return part && flipUpsideDown(part);
  }),
  family(
    "shadow_right",
    ON_GROUND,
    () => (g, ground) =>
      cellwise(g, (color, r, c) => color === ground ? g[r]![c - 1] ?? ground : color),
  ),
  family(
    "shadow_below",
    ON_GROUND,
    () => (g, ground) =>
      cellwise(g, (color, r, c) => color === ground ? g[r - 1]?.[c] ?? ground : color),
  ),
  family("shoot_right", ["noise"], () => streaks),
  family("shoot_down", ["noise"], () => (g, ground) => transpose(streaks(transpose(g), ground))),
  family(
    "shoot_left",
    ["noise"],
    () => (g, ground) => flipSideways(streaks(flipSideways(g), ground)),
  ),
  family("connect_in_rows", ["noise"], () => connected),
  family(
    "connect_in_columns",
    ["noise"],
    () => (g, ground) => transpose(connected(transpose(g), ground)),
  ),
  family(
    "empty_rows_marked",
    ["noise", "shapes"],
    withFree((color) => (g, ground) => emptyRows(g, ground, color)),
  ),
  family(
    "empty_columns_marked",
    ["noise", "shapes"],
    withFree((color) => (g, ground) => transpose(emptyRows(transpose(g), ground, color))),
  ),
  family(
    "halo",
    ["noise", "shapes"],
    withFree((color) => (g, ground) =>
      cellwise(g, (old, r, c) => old === ground && hasNeighbour(g, r, c, ground) ? color : old)
    ),
  ),
  family(
    "lonely_cells_away",
    ["noise"],
    () => (g, ground) => cellwise(g, (old, r, c) => hasNeighbour(g, r, c, ground) ? old : ground),
  ),
  family("rows_by_count", ["noise"], () => (g, ground) => {
    const counted = g.map((row) => ({ row, n: row.filter((color) => color !== ground).length }));
    const tie = new Set(counted.map(({ n }) => n)).size < g.length;
    return tie ? null : counted.sort((a, b) => a.n - b.n).map(({ row }) => row.slice());
  }),
  family("grid_in_each_cell", ["noise"], () => (g, ground) => {
    const h = g.length, w = g[0]!.length;
    return gridOf(h * h, w * w, (r, c) => {
      const big = g[Math.floor(r / h)]![Math.floor(c / w)]!;
      return big === ground ? ground : g[r % h]![c % w]!;
    });
  }),
];

/** Whether a row or a column is the first or the last of so many. */
const onEdge = (at: number, count: number) => at === 0 || at === count - 1;

function family(
  name: string,
  inputs: readonly InputKind[],
  make: (palette: Palette, random: RandomStream) => GridRule | null,
  minSide = 3,
): Family {
  return {
    name,
    inputs,
    minSide,
    make(random, palette) {
      const rule = make(palette, random);
      return rule && ((g, ground) => {
        const output = rule(g, ground);
        return output === null || isSame(g, output) ? null : output;
      });
    },
  };
}

function isSame(a: Grid, b: Grid): boolean {
  return a.length === b.length && a[0]!.length === b[0]!.length &&
    a.every((row, r) => row.every((color, c) => color === b[r]![c]));
}

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

function fallen(g: Grid, ground: number, direction: string): Grid {
  const upright = direction === "down" || direction === "up" ? transpose(g) : g;
  const packed = upright.map((row) => {
    const cells = row.filter((color) => color !== ground);
    const rest = new Array<number>(row.length - cells.length).fill(ground);
    return direction === "down" || direction === "right"
      ? [...rest, ...cells]
      : [...cells, ...rest];
  });
  return upright === g ? packed : transpose(packed);
}

/** The colours other than the background with their numbers of cells, the most frequent first. */
function frequencies(g: Grid, ground: number): [color: number, count: number][] {
  const counts = new Map<number, number>();
  for (const color of g.flat()) {
    if (color !== ground) counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The smallest rectangle with all coloured cells; null if it is the whole grid. */
function cropped(g: Grid, ground: number): Grid | null {
  const filled = (row: number[]) => row.some((color) => color !== ground);
  const columns = transpose(g);
  const top = g.findIndex(filled), left = columns.findIndex(filled);
  if (top < 0) return null;
  const bottom = g.findLastIndex(filled), right = columns.findLastIndex(filled);
  if (bottom - top + 1 === g.length && right - left + 1 === g[0]!.length) return null;
  return g.slice(top, bottom + 1).map((row) => row.slice(left, right + 1));
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
