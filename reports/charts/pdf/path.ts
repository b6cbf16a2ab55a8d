/** The outline of an SVG path as operators of PDF. Source: SVG 1.1, 8.3 and F.6 (arcs). */
import { number } from "./document.ts";

/** An outline: its operators, and the box around its points. */
export interface Outline {
  operators: string;
  box: [left: number, top: number, right: number, bottom: number];
}

/** The outline of path data (`d`). @throws Error for a command that the charts do not use */
export function pathOutline(d: string): Outline {
  const pen = new Pen();
  for (const [, command, list] of d.matchAll(/([a-zA-Z])([^a-zA-Z]*)/g)) {
    const values = (list!.match(/[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi) ?? []).map(Number);
    const kind = command!.toUpperCase(), isRelative = command !== kind;
    if (kind === "Z") {
      pen.close();
      continue;
    }
    const count = COUNTS[kind];
    if (count === undefined) throw new Error(`path data has the command ${command}`);
    for (let at = 0; at + count <= values.length; at += count) {
      // Further points of a move are lines.
      draw(pen, kind === "M" && at > 0 ? "L" : kind, values.slice(at, at + count), isRelative);
    }
  }
  return pen;
}

/** Numbers of each command. */
const COUNTS: Readonly<Record<string, number>> = { M: 2, L: 2, H: 1, V: 1, C: 6, Q: 4, A: 7 };

/** The outline of a rectangle. */
export function rectangle(x: number, y: number, width: number, height: number): Outline {
  return {
    operators: `${[x, y, width, height].map(number).join(" ")} re\n`,
    box: [x, y, x + width, y + height],
  };
}

function draw(pen: Pen, kind: string, values: number[], isRelative: boolean): void {
  const [x0, y0] = isRelative ? [pen.x, pen.y] : [0, 0];
  const v = (i: number) => values[i]!;
  if (kind === "M") pen.move(x0 + v(0), y0 + v(1));
  else if (kind === "L") pen.line(x0 + v(0), y0 + v(1));
  else if (kind === "H") pen.line(x0 + v(0), pen.y);
  else if (kind === "V") pen.line(pen.x, y0 + v(0));
  else if (kind === "C") {
    pen.curve(x0 + v(0), y0 + v(1), x0 + v(2), y0 + v(3), x0 + v(4), y0 + v(5));
  } else if (kind === "Q") {
    const { x, y } = pen, [cx, cy, ex, ey] = [x0 + v(0), y0 + v(1), x0 + v(2), y0 + v(3)];
    pen.curve(
      x + 2 / 3 * (cx - x),
      y + 2 / 3 * (cy - y),
      ex + 2 / 3 * (cx - ex),
      ey + 2 / 3 * (cy - ey),
      ex,
      ey,
    );
  } else arc(pen, v(0), v(1), v(2), v(3) !== 0, v(4) !== 0, x0 + v(5), y0 + v(6));
}

class Pen implements Outline {
  operators = "";
  box: Outline["box"] = [Infinity, Infinity, -Infinity, -Infinity];
  x = 0;
  y = 0;
  #start: [number, number] = [0, 0];

  move(x: number, y: number): void {
    this.#start = [x, y];
    this.#add("m", x, y);
  }

  line(x: number, y: number): void {
    this.#add("l", x, y);
  }

  curve(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.#add("c", x1, y1, x2, y2, x, y);
  }

  close(): void {
    this.operators += "h\n";
    [this.x, this.y] = this.#start;
  }

  #add(operator: string, ...points: number[]): void {
    this.operators += `${points.map(number).join(" ")} ${operator}\n`;
    for (let i = 0; i < points.length; i += 2) {
      const x = points[i]!, y = points[i + 1]!, [left, top, right, bottom] = this.box;
      this.box = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
      [this.x, this.y] = [x, y];
    }
  }
}

/** An arc of an ellipse as curves of at most a quarter each. */
function arc(
  pen: Pen,
  rx: number,
  ry: number,
  degrees: number,
  isLarge: boolean,
  isClockwise: boolean,
  x: number,
  y: number,
): void {
  if (rx === 0 || ry === 0) return pen.line(x, y);
  const angle = degrees * Math.PI / 180, cos = Math.cos(angle), sin = Math.sin(angle);
  const dx = (pen.x - x) / 2, dy = (pen.y - y) / 2;
  const px = cos * dx + sin * dy, py = cos * dy - sin * dx;
  // Radii that are too small to reach the end are enlarged.
  const enlarge = Math.max(1, Math.hypot(px / rx, py / ry));
  const a = rx * enlarge, b = ry * enlarge;
  const left = Math.max(0, (a * b) ** 2 - (a * py) ** 2 - (b * px) ** 2);
  const factor = (isLarge === isClockwise ? -1 : 1) *
    Math.sqrt(left / ((a * py) ** 2 + (b * px) ** 2 || 1));
  const cx = factor * a * py / b, cy = -factor * b * px / a;
  const from = Math.atan2((py - cy) / b, (px - cx) / a);
  let sweep = Math.atan2((-py - cy) / b, (-px - cx) / a) - from;
  if (isClockwise && sweep < 0) sweep += 2 * Math.PI;
  if (!isClockwise && sweep > 0) sweep -= 2 * Math.PI;
  const mx = (pen.x + x) / 2 + cos * cx - sin * cy, my = (pen.y + y) / 2 + sin * cx + cos * cy;
  const at = (u: number, v: number): [number, number] => [
    mx + cos * a * u - sin * b * v,
    my + sin * a * u + cos * b * v,
  ];
  const parts = Math.max(1, Math.ceil(Math.abs(sweep) / (Math.PI / 2) - 1e-9));
  const step = sweep / parts, k = 4 / 3 * Math.tan(step / 4);
  for (let i = 0; i < parts; i++) {
    const [c0, s0] = [Math.cos(from + i * step), Math.sin(from + i * step)];
    const [c1, s1] = [Math.cos(from + (i + 1) * step), Math.sin(from + (i + 1) * step)];
    pen.curve(...at(c0 - k * s0, s0 + k * c0), ...at(c1 + k * s1, s1 - k * c1), ...at(c1, s1));
  }
}
