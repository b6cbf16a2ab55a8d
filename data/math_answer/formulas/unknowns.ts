/**
 * Points at which formulas with unknowns are compared. The numbers are arbitrary, so that different
 * sums and products are not equal by chance (Schwartz 1980; Zippel 1979). They have both signs and
 * sizes from 10⁻² to 10⁹, since some equations, such as |x| + |y| = |x + y| and √(x²) = x, hold
 * only for some numbers. Where a formula has branches there are points on each of them.
 */
import * as balls from "../numbers/ball.ts";
import { fnv1a } from "../../../core/philox.ts";
import { type Real, toNumber } from "../numbers/real.ts";
import type { Expr, Operation } from "./expression.ts";
import { call, hasNames, minus, nodes, number, written } from "./expression.ts";

export type Point = ReadonlyMap<string, Real>;

/** MurmurHash3's finalizer: names that are close in the alphabet get unrelated numbers. */
function mixed(text: string): number {
  let hash = fnv1a(text);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 1;
}

/** Sizes of the numbers, in thousandths, at one point after the other. */
const SIZES = [1000, 1300, 320, 2600, 7000, 90, 480, 15_000, 4100, 700, 130_000, 30, 9e8, 1.1e12];
/** How many points are enough for formulas without branches. */
const SMOOTH = 5;
const MAX_POINTS = 40;

/** A number between a size and twice that size. */
function sized(thousandths: number, sign: bigint, key: string): balls.Ball {
  // 31 arbitrary bits after the point; 1049/2^20 is about a thousandth.
  const m = ((1n << 31n) + BigInt(mixed(key))) * BigInt(thousandths) * 1049n;
  return { m: sign * m, r: 0n, e: -51 };
}

/** Whole numbers of 24 bits, at which polynomials are computed fast and exactly. */
function large(names: readonly string[], seed: string, k: number): Point {
  return new Map(names.map((name) => {
    const n = BigInt(mixed(`${seed} ${name} ${k} large`) >>> 7) + 2n;
    return [name, { n: k % 2 === 0 ? n : -n, d: 1n }];
  }));
}

function spread(names: readonly string[], seed: string, k: number): Point {
  return new Map(names.map((name, i) => {
    const word = mixed(`${seed} ${name} ${k} sign`);
    // Positive numbers first, negative ones next; then any.
    const sign = k === 0 ? 1n : k === 1 ? -1n : word % 2 === 0 ? 1n : -1n;
    const size = k < 2 ? SIZES[k]! : SIZES[(k + (word >> 1) % (i + 1)) % SIZES.length]!;
    return [name, sized(size, sign, `${seed} ${name} ${k}`)];
  }));
}

/** All unknowns small, as in the domain of √(1 − x² − y²). */
function small(names: readonly string[], seed: string, k: number): Point {
  const size = Math.ceil([90, 160, 240, 320][k % 4]! / Math.sqrt(names.length));
  return new Map(names.map((name) => {
    const sign = mixed(`${seed} ${name} ${k} small`) % 2 === 0 ? 1n : -1n;
    return [name, sized(size, sign, `${seed} ${name} ${k} small`)];
  }));
}

/** Whole numbers, which factorials and powers of negative numbers need. */
function whole(names: readonly string[], seed: string, k: number): Point {
  return new Map(names.map((name) => {
    const n = mixed(`${seed} ${name} ${k} whole`) % (k < 6 ? 12 : 60);
    return [name, { n: BigInt(k < 12 ? n + 1 : -n), d: 1n }];
  }));
}

/** @param seed a text that the writer of an answer does not know: the points depend on it */
export function pointsFor(names: readonly string[], exprs: readonly Expr[], seed: string): Point[] {
  const all = exprs.flatMap((expr) => [...nodes(expr)]);
  if (all.some(counts)) return range(12, (k) => whole(names, seed, k));
  if (all.some(alternates)) return range(18, (k) => whole(names, seed, k));
  if (all.every(isRational)) return range(SMOOTH, (k) => large(names, seed, k));
  const branches = distinct(all.flatMap(branching));
  if (branches.length === 0) return range(SMOOTH, (k) => spread(names, seed, k));
  const points = range(SIZES.length + 2, (k) => spread(names, seed, k));
  points.push(...range(4, (k) => small(names, seed, k)));
  for (const k of [0, 1]) {
    for (const branch of branches.slice(0, 12)) {
      for (const name of names) {
        if (points.length > MAX_POINTS) break;
        points.push(...around(branch, points[k]!, name, seed));
      }
    }
  }
  return points;
}

const range = <T>(count: number, make: (k: number) => T): T[] =>
  Array.from({ length: count }, (_, k) => make(k));

/** Whether a node is a number, an unknown, a sum, a product, a quotient or a small power. */
function isRational(expr: Expr): boolean {
  if (expr.kind !== "call") return expr.kind === "number" || expr.kind === "name";
  const [, second] = expr.args;
  if (expr.name !== "^") return ["+", "*", "/", "negate"].includes(expr.name);
  return second!.kind === "number" && second!.value.d === 1n && second!.value.n < 20n;
}

const distinct = (exprs: readonly Expr[]): Expr[] => [
  ...new Map(exprs.map((expr) => [written(expr), expr])).values(),
];

function counts(expr: Expr): boolean {
  return expr.kind === "call" && (expr.name === "!" || expr.name === "binomial") &&
    expr.args.some(hasNames);
}

/** Whether it is a power of a negative number, such as (−1)^n. */
function alternates(expr: Expr): boolean {
  return expr.kind === "call" && expr.name === "^" && hasNames(expr.args[1]!) &&
    isNegative(expr.args[0]!);
}

function isNegative(expr: Expr): boolean {
  return expr.kind === "call" && expr.name === "negate" ||
    (expr.kind === "number" && expr.value.n < 0n);
}

/** The formulas at whose zeros a node changes its branch or ends its domain. */
function branching(expr: Expr): Expr[] {
  if (expr.kind !== "call" || !hasNames(expr)) return [];
  const [first, second] = expr.args;
  switch (expr.name) {
    case "abs":
    case "ln":
    case "log":
    case "floor":
    case "ceil":
      return [first!];
    case "root":
      return [first!, ...insideSquares(first!)];
    case "^":
      return second!.kind === "number" && second!.value.d === 1n
        ? []
        : [first!, ...insideSquares(first!)];
    case "arcsin":
    case "arccos":
      return [minus(first!, number(1n)), call("+", first!, number(1n))];
    case "min":
    case "max":
      return expr.args.slice(1).map((arg) => minus(arg, expr.args[0]!));
    default:
      return [];
  }
}

/** g of g², which touches 0 and does not cross it. */
function insideSquares(expr: Expr): Expr[] {
  return [...nodes(expr)].flatMap((node) =>
    node.kind === "call" && node.name === "^" && hasNames(node.args[0]!) ? [node.args[0]!] : []
  );
}

/** Distances from a zero, in thousandths. */
const STEPS = [-9000, -130, 130, 9000];

/** Points on both sides of the zeros that a formula has along one unknown. */
function around(branch: Expr, from: Point, name: string, seed: string): Point[] {
  if (![...nodes(branch)].some((node) => node.kind === "name" && node.name === name)) return [];
  const near = new Map([...from].map(([key, value]) => [key, toNumber(value)]));
  const value = (x: number) => estimate(branch, near.set(name, x));
  return zeros(value).flatMap((zero) => {
    const scale = BigInt(Math.max(1, Math.round(Math.abs(zero) / 100)));
    return STEPS.map((step, i) => {
      const by = sized(Math.abs(step), step < 0 ? -scale : scale, `${seed} ${name} ${i}`);
      return new Map([...from, [name, balls.add(exactly(zero), by, 192)]]);
    });
  });
}

/** A float64 rounded to 20 bits after the point, which is exact enough. */
const exactly = (x: number): balls.Ball => ({ m: BigInt(Math.round(x * 1048576)), r: 0n, e: -20 });

const GRID = [0.011, 0.13, 0.51, 1.07, 1.93, 3.1, 5.3, 9.7, 31, 97, 1013];

/** Up to four numbers where a function changes its sign or, if it is a parabola, turns. */
function zeros(value: (x: number) => number): number[] {
  const [a, b, c] = [value(-1), value(0), value(1)] as const;
  const slope = (c - a) / 2, bend = a - 2 * b + c;
  const far = value(1000), size = Math.abs(a) + Math.abs(b) + Math.abs(c);
  const parabola = b + slope * 1000 + bend * 500_000;
  if (Math.abs(far - parabola) <= 1e-9 * (size * 1e6 + Math.abs(far))) {
    if (Math.abs(bend) <= 1e-9 * size) return slope === 0 ? [] : [-b / slope].filter(isNear);
    const turn = -slope / bend, square = turn * turn - 2 * b / bend;
    const half = square > 0 ? Math.sqrt(square) : 0;
    return [...new Set([turn - half, turn, turn + half])].filter(isNear);
  }
  const grid = [...GRID.map((x) => -x).reverse(), ...GRID], found: number[] = [];
  let before = value(grid[0]!);
  for (let i = 1; i < grid.length && found.length < 4; i++) {
    const after = value(grid[i]!);
    if (before * after < 0) found.push(bisected(value, grid[i - 1]!, grid[i]!, before));
    before = after;
  }
  return found;
}

const isNear = (x: number) => Math.abs(x) < 1e12;

function bisected(value: (x: number) => number, low: number, high: number, atLow: number): number {
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (value(middle) * atLow > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** A float64 near the value of a formula. It is fast and only says where to look. */

const FUNCTIONS: Readonly<Partial<Record<Operation, (...args: number[]) => number>>> = {
  "+": (a, b) => a! + b!,
  "*": (a, b) => a! * b!,
  "/": (a, b) => a! / b!,
  "negate": (a) => -a!,
  "^": (a, b) => a! ** b!,
  "root": (a, degree) =>
    degree! % 2 === 1 ? Math.sign(a!) * Math.abs(a!) ** (1 / degree!) : a! ** (1 / degree!),
  "abs": Math.abs,
  "floor": Math.floor,
  "ceil": Math.ceil,
  "min": Math.min,
  "max": Math.max,
  "log": (x, base) => Math.log(x!) / Math.log(base!),
  "sin": Math.sin,
  "cos": Math.cos,
  "tan": Math.tan,
  "arcsin": Math.asin,
  "arccos": Math.acos,
  "arctan": Math.atan,
  "sinh": Math.sinh,
  "cosh": Math.cosh,
  "tanh": Math.tanh,
  "ln": Math.log,
  "exp": Math.exp,
};

/** NaN if there is no real value, or for functions that are not in the table. */
function estimate(expr: Expr, point: ReadonlyMap<string, number>): number {
  switch (expr.kind) {
    case "number":
      return Number(expr.value.n) / Number(expr.value.d);
    case "constant":
      return expr.name === "π" ? Math.PI : expr.name === "e" ? Math.E : NaN;
    case "name":
      return point.get(expr.name) ?? NaN;
    case "unknown function":
      return NaN;
    case "call":
      return FUNCTIONS[expr.name]?.(...expr.args.map((arg) => estimate(arg, point))) ?? NaN;
  }
}
