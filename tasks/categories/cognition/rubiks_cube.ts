/**
 * Solve a scrambled Rubik's cube. The example solution reverses the scramble, without moves that
 * cancel.
 */
import { bool, defineTask, int, intervals, levels } from "../../define.ts";
import { isOverlong } from "../../scoring_rules.ts";
import { Cube } from "./cube.ts";
import type { RandomStream } from "../../../core/philox.ts";
import type { ScorableEntry } from "../../types.ts";

/** The colour letters of faces U, L, F, R, B, D of the solved cube, and their ANSI backgrounds. */
const COLORS = ["Y", "R", "G", "O", "B", "W"] as const;
const ANSI = [43, 41, 42, 45, 44, 47] as const;
const TURNS = ["L", "R", "D", "U", "B", "F"] as const;
const UNSOLVED = 0.01;

export default defineTask({
  description: "Solve a scrambled Rubik's cube.",
  scoring: "1 when the moves solve the cube, else 0.01.",
  params: {
    min_scramble_steps: int(3, "fewest moves of the scramble", { min: 1 }),
    max_scramble_steps: int(10, "most moves of the scramble", { min: 1, max: 10_000 }),
    cube_size: int(3, "layers of the cube", { min: 2, max: 6 }),
    remove_ansi: bool(true, "letters only; else they stand on coloured ground (ANSI codes)"),
  },
  curriculum: {
    cube_size: levels([3, 4, 5, 6, 7], "layers of the cube"),
    scramble_steps: intervals([3, 10, 25, 50, 100], "moves of the scramble"),
  },
  generate(random, config) {
    const { cube_size: size } = config;
    const steps = random.int(config.min_scramble_steps, config.max_scramble_steps);
    const { cube, scramble } = drawScramble(random, size, steps);
    const deep = size > 3
      ? " Rw turns the two outer layers on the right, 3Rw the three outer ones, 2R only the " +
        "second layer from the right; likewise for the other faces."
      : "";
    return {
      question:
        `This is a ${size}x${size}x${size} Rubik's cube, unfolded: in the middle row, from left ` +
        "to right, the left, front, right and back face; above the front face the upper one, " +
        "below it the lower one. A letter is the color of a sticker.\n\n" +
        `${net(cube, config.remove_ansi)}\n\n` +
        "Which moves solve it, so that every face has one color? Use Singmaster notation: L, R, " +
        "U, D, F and B turn the left, right, upper, lower, front and back face a quarter " +
        `clockwise as seen from outside, with ' counterclockwise.${deep} Answer with the moves ` +
        "in order, separated by single spaces; write U U, not U2.",
      answer: null,
      metadata: {
        cube_size: size,
        scramble_steps: steps,
        scramble_moves: scramble.join(" "),
        example_correct_answer: undone(scramble).join(" "),
      },
    };
  },
  score,
});

/** Draws moves that do not leave the cube solved. */
function drawScramble(random: RandomStream, size: number, steps: number) {
  for (;;) {
    const scramble = Array.from({ length: steps }, () => drawMove(random, size));
    const cube = new Cube(size);
    cube.apply(scramble.join(" "));
    if (!cube.isSolved()) return { cube, scramble };
  }
}

function drawMove(random: RandomStream, size: number): string {
  const turn = random.choice(TURNS), reversed = random.chance(0.5) ? "'" : "";
  if (size <= 3) return turn + reversed;
  const wide = random.chance(0.5), layer = random.int(1, size >> 1);
  const number = layer === (wide ? 2 : 1) ? "" : String(layer);
  return number + turn + (wide ? "w" : "") + reversed;
}

function inverse(move: string): string {
  return move.endsWith("'") ? move.slice(0, -1) : `${move}'`;
}

/** The inverse of a scramble. Adjacent moves that cancel each other are removed. */
function undone(scramble: readonly string[]): string[] {
  const moves: string[] = [];
  for (const move of scramble.toReversed().map(inverse)) {
    if (moves.at(-1) === inverse(move)) moves.pop();
    else moves.push(move);
  }
  return moves;
}

function net({ size, stickers }: Cube, plain: boolean): string {
  const row = (face: number, line: number) => {
    let text = "";
    for (let i = 0; i < size; i++) {
      const color = stickers[(face * size + line) * size + i]!;
      text += plain ? ` ${COLORS[color]} ` : `\x1b[30;${ANSI[color]}m ${COLORS[color]} \x1b[0m`;
    }
    return text;
  };
  const blank = " ".repeat(3 * size);
  const rows = Array.from({ length: size }, (_, line) => line);
  return [
    ...rows.map((line) => blank + row(0, line)),
    ...rows.map((line) => [1, 2, 3, 4].map((face) => row(face, line)).join("")),
    ...rows.map((line) => blank + row(5, line)),
  ].join("\n");
}

function score(answer: string, entry: ScorableEntry): number {
  const size = entry.metadata?.["cube_size"], scramble = entry.metadata?.["scramble_moves"];
  const known = Number.isInteger(size) && (size as number) >= 2 && (size as number) <= 10;
  if (!known || typeof scramble !== "string" || scramble.length > 100_000) return UNSOLVED;
  if (isOverlong(answer, entry)) return UNSOLVED;
  const cube = new Cube(size as number);
  return cube.apply(scramble) && cube.apply(answer) && cube.isSolved() ? 1 : UNSOLVED;
}
