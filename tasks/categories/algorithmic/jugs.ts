/**
 * Measure an amount of water with jugs. Puzzles are drawn until one needs enough moves. With many
 * jugs such puzzles have jugs of few different sizes, so after some rejected draws all jugs get one
 * of two sizes.
 */
import { RgxError } from "../../../core/errors.ts";
import { defineTask, int, isOverlong, type RandomStream } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";
import { gcdOf } from "../arithmetic/divisors.ts";

/** Maximum number of draws for three jugs, and for more jugs, whose searches take longer. */
const MAX_DRAWS = 10_000, MAX_LARGE_DRAWS = 2_000;
/** Number of draws with independent sizes when there are more than three jugs. */
const INDEPENDENT_DRAWS = 30;
/**
 * Maximum number of states of a search with three jugs of up to 202 litres; it is never reached.
 */
const MAX_STATES = 200_000;
/**
 * With more than three jugs: approximate maximum number of moves that one search tries, and maximum
 * number of searches. Together they take about ten seconds.
 */
const MAX_MOVES = 300_000, MAX_LARGE_SEARCHES = 300;

export default defineTask({
  description: "Measure an amount of water with jugs.",
  scoring:
    "1 for a JSON list of moves after which a jug holds the target; 0.01 for other moves of jugs " +
    "that there are; else 0.",
  params: {
    num_jugs: int(3, "jugs", { min: 3, max: 26, levels: [3, 4, 5, 7] }),
    difficulty: int(10, "fewest moves of a solution; jugs hold 3 to 3 + difficulty", {
      min: 1,
      max: 199,
      levels: [5, 10, 15, 20],
    }),
  },
  generate(random, { num_jugs, difficulty }) {
    const { capacities, target, moves } = drawPuzzle(random, num_jugs, difficulty);
    const sizes = capacities.map((capacity, jug) => `${jugName(jug)} ${capacity}`).join(", ");
    return {
      question:
        `There are ${num_jugs} empty jugs, which hold this many litres: ${sizes}. There is as ` +
        `much water as needed. Measure out ${target} litre${target === 1 ? "" : "s"}: after the ` +
        "last move, any of the jugs must hold exactly this amount.\n" +
        "The moves are: fill a jug to the brim (fill A), pour out all of a jug (empty A), and " +
        "pour from one jug into another until the first is empty or the second is full (pour " +
        'A->B).\nAnswer with a JSON list of the moves in order (such as: ["fill A", "pour A->B", ' +
        '"empty B"]).',
      answer: `["${moves.join('", "')}"]`,
      metadata: { puzzle: { jug_capacities: capacities, target, min_moves: moves.length } },
    };
  },
  score(answer, entry) {
    const moves = isOverlong(answer, entry) ? null : parseJson(answer);
    const puzzle = entry.metadata?.["puzzle"];
    const { jug_capacities: capacities, target: goal } = (puzzle ?? {}) as Record<string, unknown>;
    if (!Array.isArray(moves) || !Array.isArray(capacities)) return 0;
    const n = capacities.length, amounts = capacities.map(() => 0);
    for (const text of moves) {
      const match = typeof text === "string" ? MOVE.exec(text) : null;
      if (match === null) return 0;
      const [, verb, only, source, target] = match;
      const from = jugNumber(only ?? source!, n), to = jugNumber(only ?? target!, n);
      if (from < 0 || to < 0) return 0;
      applyMove(capacities, amounts, {
        from: verb === "fill" ? OUTSIDE : from,
        to: verb === "empty" ? OUTSIDE : to,
      });
    }
    return amounts.some((amount) => amount === goal) ? 1 : 0.01;
  },
});

function drawPuzzle(
  random: RandomStream,
  jugs: number,
  difficulty: number,
): { capacities: number[]; target: number; moves: string[] } {
  const size = () => random.int(3, 3 + difficulty);
  const draws = jugs === 3 ? MAX_DRAWS : MAX_LARGE_DRAWS;
  for (let draw = 0, searches = 0; draw < draws && searches < MAX_LARGE_SEARCHES; draw++) {
    const capacities = jugs === 3 || draw < INDEPENDENT_DRAWS
      ? Array.from({ length: jugs }, size)
      : twoSizes(random, jugs, size(), size());
    const step = capacities.reduce(gcdOf);
    const target = step * random.int(1, Math.max(...capacities) / step);
    if (jugs > 3) {
      if (threeAreEnough(capacities, target, difficulty)) continue;
      searches++;
    }
    const moves = solveJugs(capacities, target, jugs === 3 ? MAX_STATES : MAX_MOVES / jugs ** 2);
    if (moves !== null && moves.length >= difficulty) {
      return { capacities, target, moves: moves.map(moveText) };
    }
  }
  throw new RgxError(
    `jugs: found no puzzle with num_jugs = ${jugs} that needs difficulty = ${difficulty} moves ` +
      `in ${draws} random draws`,
    { advice: "lower difficulty or num_jugs: more jugs make a target easier to reach" },
  );
}

/** Jugs of two sizes, a random number of each, in random order. */
function twoSizes(random: RandomStream, jugs: number, a: number, b: number): number[] {
  const first = random.int(1, jugs - 1);
  return random.shuffle(Array.from({ length: jugs }, (_, jug) => jug < first ? a : b));
}

/** Whether three jugs of neighbouring sizes alone reach the target in fewer moves. */
function threeAreEnough(capacities: readonly number[], target: number, moves: number): boolean {
  const sorted = capacities.toSorted((a, b) => a - b);
  for (let first = 0; first + 3 <= sorted.length; first++) {
    const path = solveJugs(sorted.slice(first, first + 3), target, MAX_STATES);
    if (path !== null && path.length < moves) return true;
  }
  return false;
}

const MOVE = /^\s*(?:(fill|empty)\s+(\S)|pour\s+(\S)->(\S))\s*$/;

/** The index of a jug; −1 for a letter that names none. */
function jugNumber(name: string, jugs: number): number {
  const number = name.charCodeAt(0) - 65;
  return number < jugs ? number : -1;
}

/**
 * Finds a shortest solution of a water jug puzzle by breadth-first search over all jugs. Jugs are
 * sorted by capacity, and jugs of the same capacity by their amounts. So states that differ only in
 * the order of equal jugs count as the same state.
 */

/** A move: water flows `from` a jug (or the tap) `to` a jug (or the drain). */
interface JugMove {
  from: number;
  to: number;
}

/** Stands for the tap and the drain. */
const OUTSIDE = -1;

/**
 * Writes a move like the answer does: `fill A`, `empty B`, `pour A->B`. Jugs are letters from A.
 */
function moveText({ from, to }: JugMove): string {
  if (from === OUTSIDE) return `fill ${jugName(to)}`;
  return to === OUTSIDE ? `empty ${jugName(from)}` : `pour ${jugName(from)}->${jugName(to)}`;
}

function jugName(jug: number): string {
  return String.fromCharCode(65 + jug);
}

/** Applies a move to the amounts, in place. The move may have no effect. */
function applyMove(
  capacities: ArrayLike<number>,
  amounts: Uint8Array | number[],
  { from, to }: JugMove,
): void {
  if (from === OUTSIDE) amounts[to] = capacities[to]!;
  else if (to === OUTSIDE) amounts[from] = 0;
  else if (from !== to) {
    const poured = Math.min(amounts[from]!, capacities[to]! - amounts[to]!);
    amounts[from] = amounts[from]! - poured;
    amounts[to] = amounts[to]! + poured;
  }
}

/**
 * Returns a shortest list of moves after which some jug holds `target`. Returns null when there is
 * none, or when more than `maxStates` states would have to be visited. Capacities must be below
 * 256.
 */
export function solveJugs(
  capacities: readonly number[],
  target: number,
  maxStates: number,
): JugMove[] | null {
  const sorted = Uint8Array.from(capacities).sort();
  const path = search(sorted, target, maxStates);
  return path === null ? null : withRealJugs(capacities, path);
}

/** The search over sorted jugs. Its moves contain positions in the sorted state. */
function search(capacities: Uint8Array, target: number, maxStates: number): JugMove[] | null {
  const n = capacities.length;
  const isNew = newStates(capacities);
  let states = new Uint8Array(256 * n);
  const parents = [-1], moves: number[] = [-1];
  const next = new Uint8Array(n);
  let count = 1, found = -1;
  isNew(next);
  const visit = (head: number, from: number, to: number) => {
    const before = head * n;
    for (let i = 0; i < n; i++) next[i] = states[before + i]!;
    applyMove(capacities, next, { from, to });
    settle(capacities, next);
    if (!isNew(next)) return;
    if ((count + 1) * n > states.length) {
      const larger = new Uint8Array(2 * states.length);
      larger.set(states);
      states = larger;
    }
    states.set(next, count * n);
    parents.push(head);
    moves.push((from + 1) * (n + 1) + to + 1);
    if (next.includes(target)) found = count;
    count++;
  };
  for (let head = 0; head < count && found < 0; head++) {
    if (count > maxStates) return null;
    const before = head * n;
    for (let jug = 0; jug < n; jug++) {
      const amount = states[before + jug]!, capacity = capacities[jug]!;
      // This jug equals the previous one, so its moves lead to the same states.
      if (jug > 0 && capacities[jug - 1] === capacity && states[before + jug - 1] === amount) {
        continue;
      }
      if (amount < capacity) visit(head, OUTSIDE, jug);
      if (amount === 0) continue;
      visit(head, jug, OUTSIDE);
      for (let to = 0; to < n; to++) {
        if (to !== jug && states[before + to]! < capacities[to]!) visit(head, jug, to);
      }
    }
  }
  if (found < 0) return null;
  const path: JugMove[] = [];
  for (let at = found; parents[at]! >= 0; at = parents[at]!) {
    path.push({ from: Math.floor(moves[at]! / (n + 1)) - 1, to: moves[at]! % (n + 1) - 1 });
  }
  return path.reverse();
}

/**
 * Sorts the amounts of jugs with the same capacity. Insertion sort, since nearly all are in place.
 */
function settle(capacities: Uint8Array, amounts: Uint8Array): void {
  for (let i = 1; i < amounts.length; i++) {
    const amount = amounts[i]!;
    let at = i;
    for (; capacities[at - 1] === capacities[i] && amounts[at - 1]! > amount; at--) {
      amounts[at] = amounts[at - 1]!;
    }
    amounts[at] = amount;
  }
}

/** Visited marks for small state spaces, so that most searches need no hash table. */
const marks = new Uint32Array(1 << 16);
let lastMark = 0;

/** Returns a function that is true when a state is passed to it for the first time. */
function newStates(capacities: Uint8Array): (state: Uint8Array) => boolean {
  const base = capacities.at(-1)! + 1, possible = base ** capacities.length;
  const indexOf = (state: Uint8Array) => {
    let value = 0;
    for (let i = 0; i < state.length; i++) value = value * base + state[i]!;
    return value;
  };
  if (possible <= marks.length) {
    if (lastMark === 0xffff_ffff) marks.fill(lastMark = 0);
    const mark = ++lastMark;
    return (state) => {
      const key = indexOf(state);
      return marks[key] !== mark && (marks[key] = mark) > 0;
    };
  }
  const key = possible <= Number.MAX_SAFE_INTEGER ? indexOf : (state: Uint8Array) => state.join();
  const seen = new Set<number | string>();
  return (state) => {
    const size = seen.size;
    return seen.add(key(state)).size > size;
  };
}

/**
 * Translates moves of the sorted search to the jugs in their given order. Each step looks up which
 * jug is at which position of the sorted state.
 */
function withRealJugs(capacities: readonly number[], path: readonly JugMove[]): JugMove[] {
  const amounts = capacities.map(() => 0);
  return path.map(({ from, to }) => {
    const order = capacities.map((_, jug) => jug).sort((a, b) =>
      capacities[a]! - capacities[b]! || amounts[a]! - amounts[b]!
    );
    const real = (position: number) => position === OUTSIDE ? OUTSIDE : order[position]!;
    const move = { from: real(from), to: real(to) };
    applyMove(capacities, amounts, move);
    return move;
  });
}
