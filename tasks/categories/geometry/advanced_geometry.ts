/** Orthocenter, incircle and angles of triangles with integer coordinates. */
import { choices, defineTask, type Generated, type RandomStream, sizes } from "../../define.ts";
import { formatFixed, round } from "../../python/repr.ts";
import { parseFinite } from "../../python/decimals.ts";
import { strip } from "../../python/text.ts";

type Point = readonly [x: bigint, y: bigint];

const TASK_TYPES = ["orthocenter", "incircle_radius", "angle_measure"] as const;
const LEVELS = [10, 100, 1000, 10_000];
const ORTHOCENTER_DECIMALS = 3;
const RADIUS_DECIMALS = 3;
const ANGLE_DECIMALS = 2;

export default defineTask({
  description: "Find the orthocenter, the incircle's radius or an angle of a triangle.",
  scoring:
    "Angle: 1 when equal at 2 decimals, another number 0.05. Radius: 1 when equal at 3 decimals, " +
    "0.5 at 2, another number 0.05. Orthocenter: 1 when both coordinates are equal at 3 " +
    "decimals. Else 0.01.",
  defaultSize: 50,
  params: {
    coord: sizes([-10, 10], "coordinate", {
      apart: true,
      min: -1e9,
      max: 1e9,
      each: [LEVELS.map((n) => -n), LEVELS],
    }),
    task_types: choices([...TASK_TYPES], "what to ask for", TASK_TYPES),
  },
  generate(random, { min_coord, max_coord, task_types }) {
    const task_type = random.choice(task_types);
    const [a, b, c] = drawTriangle(random, min_coord, max_coord);
    const corners = { A: a.map(String), B: b.map(String), C: c.map(String) };
    const triangle =
      `The triangle ABC has the corners A = ${pointText(a)}, B = ${pointText(b)} and ` +
      `C = ${pointText(c)}. `;
    const made = MAKERS[task_type]!(a, b, c);
    return {
      question: triangle + made.question,
      answer: made.answer,
      metadata: { ...corners, task_type, ...made.metadata },
    };
  },
  score(answer, entry) {
    if (answer.length > MAX_LENGTH) return UNREADABLE;
    const oracle = entry.answer ?? "", metadata = entry.metadata ?? {};
    const text = strip(answer);
    switch (metadata["task_type"]) {
      case "orthocenter":
        return scorePoint(text, oracle);
      case "incircle_radius": {
        const known = metadata["incircle_radius_approx"];
        const radius = typeof known === "number" ? known : parseFinite(oracle);
        const given = parseFinite(text);
        if (given === null || radius === null) return UNREADABLE;
        const equalAt = (decimals: number) => round(given, decimals) === round(radius, decimals);
        return equalAt(RADIUS_DECIMALS) ? 1 : equalAt(RADIUS_DECIMALS - 1) ? NEARLY : WRONG;
      }
      default: {
        const given = parseFinite(text.replaceAll("°", ""));
        const angle = parseFinite(oracle.replaceAll("°", ""));
        if (given === null || angle === null) return UNREADABLE;
        return round(given, ANGLE_DECIMALS) === round(angle, ANGLE_DECIMALS) ? 1 : WRONG;
      }
    }
  },
});

function pointText([x, y]: Point): string {
  return `(${x}, ${y})`;
}

function drawTriangle(random: RandomStream, low: number, high: number): [Point, Point, Point] {
  const point = (): Point => [BigInt(random.int(low, high)), BigInt(random.int(low, high))];
  for (;;) {
    const corners: [Point, Point, Point] = [point(), point(), point()];
    if (twiceArea(...corners) !== 0n) return corners;
  }
}

function minus(a: Point, b: Point): Point {
  return [a[0] - b[0], a[1] - b[1]];
}

function dot(a: Point, b: Point): bigint {
  return a[0] * b[0] + a[1] * b[1];
}

function twiceArea(a: Point, b: Point, c: Point): bigint {
  const u = minus(b, a), v = minus(c, a);
  return u[0] * v[1] - u[1] * v[0];
}

type Made = Pick<Generated, "question" | "answer" | "metadata">;

const MAKERS: Record<string, (a: Point, b: Point, c: Point) => Made> = {
  orthocenter(a, b, c) {
    // H·(C − B) = A·(C − B) and H·(C − A) = B·(C − A), solved by Cramer's rule.
    const u = minus(c, b), v = minus(c, a), r = dot(a, u), s = dot(b, v);
    const below = u[0] * v[1] - u[1] * v[0];
    const x = reduced(r * v[1] - s * u[1], below), y = reduced(s * u[0] - r * v[0], below);
    const values = [x.value, y.value];
    const text = values.map((value) => fixed(value, ORTHOCENTER_DECIMALS)).join(", ");
    return {
      question: "At which point do its three altitudes meet (the orthocenter)? Answer with " +
        "the coordinates as in (1.250, -3.000), rounded to 3 decimal places.",
      answer: `(${text})`,
      metadata: { ortho: [x.text, y.text], orthocenter_approx: values },
    };
  },
  incircle_radius(a, b, c) {
    const area = twiceArea(a, b, c), size = area < 0n ? -area : area;
    const squares = [[b, c], [c, a], [a, b]].map(([p, q]) => {
      const side = minus(p!, q!);
      return dot(side, side);
    });
    // r = area / (perimeter / 2). Both are doubled here.
    const perimeter = squares.reduce((sum, square) => sum + Math.sqrt(Number(square)), 0);
    const radius = Number(size) / perimeter;
    const roots = squares.map((square) => `sqrt(${square})`);
    return {
      question: "What is the radius of its incircle? Answer with a decimal number, " +
        "rounded to 3 decimal places.",
      answer: fixed(radius, RADIUS_DECIMALS),
      metadata: {
        incircle_radius_exact: `${size}/(${roots.join(" + ")})`,
        incircle_radius_approx: radius,
      },
    };
  },
  angle_measure(a, b, c) {
    const area = Number(twiceArea(a, b, c));
    const angle = Math.atan2(Math.abs(area), Number(dot(minus(a, b), minus(c, b))));
    const degrees = angle * 180 / Math.PI;
    return {
      question: "How large is the angle ABC (at the corner B)? Answer in degrees, rounded to 2 " +
        "decimal places, with the sign °, as in 48.37°.",
      answer: `${fixed(degrees, ANGLE_DECIMALS)}°`,
      metadata: { angle_ABC_degrees: degrees },
    };
  },
};

/** n/d in lowest terms, as text and as the nearest number. */
function reduced(n: bigint, d: bigint): { text: string; value: number } {
  let [a, b] = [n, d];
  while (b !== 0n) [a, b] = [b, a % b];
  if ((a < 0n) !== (d < 0n)) a = -a;
  const top = n / a, bottom = d / a;
  return {
    text: bottom === 1n ? `${top}` : `${top}/${bottom}`,
    value: Number(top) / Number(bottom) + 0,
  };
}

/** Formats with a fixed number of decimals; never "-0.000". */
function fixed(value: number, decimals: number): string {
  return formatFixed(round(value, decimals) + 0, decimals);
}

const UNREADABLE = 0.01, WRONG = 0.05, NEARLY = 0.5;
const MAX_LENGTH = 1000;

function scorePoint(text: string, oracle: string): number {
  const given = parsePoint(text), right = parsePoint(oracle);
  const equal = given !== null && right !== null &&
    given.every((value, i) =>
      round(value, ORTHOCENTER_DECIMALS) === round(right[i]!, ORTHOCENTER_DECIMALS)
    );
  return equal ? 1 : UNREADABLE;
}

/** Two numbers separated by a comma, with or without brackets. */
function parsePoint(text: string): number[] | null {
  const inner = text.replace(/^\(/, "").replace(/\)$/, "");
  const values = inner.split(",").map(parseFinite);
  return values.length === 2 && values.every((value) => value !== null) ? values : null;
}
