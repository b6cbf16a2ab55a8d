/**
 * Measure an amount of water with jugs. Puzzles are drawn until one needs enough moves. With many
 * jugs such puzzles have jugs of few different sizes, so after some rejected draws all jugs get one
 * of two sizes.
 */
import { RgxError } from "../../../core/errors.ts";
import type { RandomStream } from "../../../core/philox.ts";
import { gcdOf } from "../arithmetic/divisors.ts";
import { defineTask, int, levels } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";
import { isOverlong } from "../../scoring_rules.ts";
import type { ScorableEntry } from "../../types.ts";
import { applyMove, jugName, moveText, OUTSIDE, solveJugs } from "./jug_search.ts";

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
    num_jugs: int(3, "jugs", { min: 3, max: 26 }),
    difficulty: int(10, "fewest moves of a solution; jugs hold 3 to 3 + difficulty", {
      min: 1,
      max: 199,
    }),
  },
  curriculum: {
    num_jugs: levels([3, 4, 5, 7], "jugs"),
    difficulty: levels([5, 10, 15, 20], "fewest moves of a solution"),
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
      metadata: {
        puzzle: { jug_capacities: capacities, target, min_moves: moves.length },
      },
    };
  },
  score,
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

function score(answer: string, entry: ScorableEntry): number {
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
}

/** The index of a jug; −1 for a letter that names none. */
function jugNumber(name: string, jugs: number): number {
  const number = name.charCodeAt(0) - 65;
  return number < jugs ? number : -1;
}
