/** The interface of a family of `rearc`, and the input grids. */
import { type Grid, gridOf } from "./grids.ts";
import type { RandomStream } from "../../../core/philox.ts";

export const MAX_SIDE = 30;

/** `noise`: scattered cells; `full`: no background; `shapes`: some separate areas. */
export type InputKind = "noise" | "full" | "shapes";

/** The colours of an entry. The first used colour is the background. */
export interface Palette {
  used: number[];
  free: number[];
}

/** The rule: returns the output for an input, or null when this input does not show the rule. */
export type GridRule = (input: Grid, background: number) => Grid | null;

export interface Family {
  inputs: readonly InputKind[];
  minSide: number;
  even?: boolean;
  /**
   * Draws what is fixed for an entry, such as a colour. Returns null when the palette does not
   * allow it.
   */
  make(palette: Palette, random: RandomStream): GridRule | null;
}

/** Families by name, in the order in which they are drawn. */
export type Families = Readonly<Record<string, Family>>;

/** The ways to say what a family does with these inputs. */
export function withInputs(inputs: readonly InputKind[], minSide = 3) {
  const drawn = (make: Family["make"]): Family => ({ inputs, minSide, make });
  return {
    drawn,
    /** It has one rule. */
    fixed: (rule: GridRule) => drawn(() => rule),
    /** Its rule needs a colour that the inputs do not have. */
    free: (rule: (color: number) => GridRule) =>
      drawn(({ free: [color] }) => color === undefined ? null : rule(color)),
  };
}

export interface InputOptions {
  kind: InputKind;
  height: number;
  width: number;
  colors: readonly number[];
  /** Approximate number of areas per cell. */
  fill: number;
}

export function drawInput(random: RandomStream, options: InputOptions): Grid {
  const { kind, height, width, colors, fill } = options;
  switch (kind) {
    case "noise": {
      const others = colors.slice(1);
      return gridOf(height, width, () => random.chance(fill) ? random.choice(others) : colors[0]!);
    }
    case "full": {
      const grid = gridOf(height, width, () => colors[0]!);
      for (let r = 0; r < height; r++) {
        for (let c = 0; c < width; c++) {
          const near = random.chance(0.5) ? grid[r - 1]?.[c] : grid[r]![c - 1];
          grid[r]![c] = near === undefined || random.chance(fill) ? random.choice(colors) : near;
        }
      }
      return grid;
    }
    case "shapes":
      return drawShapes(random, options);
  }
}

/** Rectangles with missing parts that do not touch each other. */
function drawShapes(random: RandomStream, { height, width, colors, fill }: InputOptions): Grid {
  const background = colors[0]!, others = colors.slice(1);
  const grid = gridOf(height, width, () => background);
  const wanted = Math.max(1, Math.round(fill * height * width) - 1);
  for (let tries = 0, made = 0; made < wanted && tries < 4 * wanted; tries++) {
    const h = random.int(1, Math.min(4, height)), w = random.int(1, Math.min(4, width));
    const top = random.int(0, height - h), left = random.int(0, width - w);
    if (!isFree(grid, top, left, h, w, background)) continue;
    const color = random.choice(others), bite = random.int(0, 4);
    for (let r = 0; r < h; r++) {
      for (let c = 0; c < w; c++) {
        const corner = (r === 0 || r === h - 1) && (c === 0 || c === w - 1);
        const cut = corner && h > 1 && w > 1 && bite === 2 * Math.sign(r) + Math.sign(c) + 1;
        if (!cut) grid[top + r]![left + c] = color;
      }
    }
    made++;
  }
  return grid;
}

/** Whether the rectangle and the cells around it are background. */
function isFree(g: Grid, top: number, left: number, h: number, w: number, background: number) {
  for (let r = top - 1; r <= top + h; r++) {
    for (let c = left - 1; c <= left + w; c++) {
      if ((g[r]?.[c] ?? background) !== background) return false;
    }
  }
  return true;
}
