/**
 * Move a tower of disks from one peg to another. The example solution is that of Frame and Stewart,
 * which is optimal for three and four pegs and the best known for more (Stewart 1941; Bousch 2014
 * for four).
 */
import { bool, consecutive, counts, defineTask } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { once } from "../../once.ts";

type Move = readonly [disk: number, from: number, to: number];

/** Maximum number of disks, because the solution is written out: 2^20 moves with three pegs. */
const MAX_DISKS = 20;

export default defineTask({
  description: "Solve the Tower of Hanoi with three or more pegs.",
  scoring:
    "The moves are played: a line of another form or an illegal move is worth 0; solved: least " +
    "number of moves / moves used; legal but not solved 0.05.",
  params: {
    disks: counts([3, 7], "disks", {
      min: 1,
      max: MAX_DISKS,
      levels: [3, 5, 10, 15],
      as: "num_disks",
    }),
    pegs: counts([3, 4], "pegs", { min: 3, levels: [3, 4, 5], as: "num_pegs" }),
    visualize: bool(false, "add the pegs after every move of the example solution to the metadata"),
  },
  generate(random, config) {
    const disks = random.int(config.min_disks, config.max_disks);
    const pegs = random.int(config.min_pegs, config.max_pegs);
    const all = consecutive(1, pegs);
    const [start, target] = random.sample(all, 2) as [number, number];
    const auxiliary = all.filter((peg) => peg !== start && peg !== target);
    const moves: Move[] = [];
    solve(moves, disks, start, target, auxiliary);
    return {
      question: `There are ${pegs} pegs, Peg 1 to Peg ${pegs}. Peg ${start} holds ${disks} ` +
        `disk${disks === 1 ? "" : "s"}, numbered from 1 (the smallest, on top) to ${disks} (the ` +
        "largest, at the bottom); the other pegs are empty. Bring the whole tower to Peg " +
        `${target} in as few moves as possible. A move takes the top disk of one peg to another ` +
        "peg, and a disk never lies on a smaller one.\n" +
        "Write one move per line, and nothing else, in exactly this form:\n" +
        "Move disk 1 from Peg 2 to Peg 3",
      answer: moves.map(([d, from, to]) => `Move disk ${d} from Peg ${from} to Peg ${to}`).join(
        "\n",
      ),
      metadata: {
        num_disks: disks,
        num_pegs: pegs,
        start_peg: start,
        target_peg: target,
        auxiliary_pegs: auxiliary,
        solution_length: moves.length,
        ...(config.visualize && { states: states(moves, disks, pegs, start) }),
      },
    };
  },
  score(answer, entry) {
    const {
      num_disks: disks,
      num_pegs: pegs,
      start_peg: start,
      target_peg: target,
      solution_length,
    } = (entry.metadata ?? {}) as Record<string, number | undefined>;
    if (!isCount(disks) || !isCount(pegs) || !isCount(start) || !isCount(target)) return 0;
    if (start > pegs || target > pegs) return 0;
    const board = initialBoard(disks, pegs, start);
    let count = 0;
    for (const line of answer.split("\n").map(strip)) {
      if (line === "") continue;
      const match = LINE.exec(line);
      if (match === null) return 0;
      const disk = Number(match[1]), from = board[Number(match[2]) - 1];
      const to = board[Number(match[3]) - 1];
      if (from === undefined || to === undefined || from.at(-1) !== disk) return 0;
      if (to.length > 0 && to.at(-1)! < disk) return 0;
      from.pop();
      to.push(disk);
      count++;
    }
    if (board[target - 1]!.length < disks) return 0.05;
    return count === 0 ? 0.05 : Math.min(1, (solution_length ?? count) / count);
  },
});

/** The least number of moves, and how many of the smallest disks are moved aside first. */
const best = once((disks: number, pegs: number): { moves: number; parked: number } => {
  if (disks <= 1) return { moves: disks, parked: 0 };
  if (pegs === 3) return { moves: 2 ** disks - 1, parked: disks - 1 };
  let found = { moves: Infinity, parked: 0 };
  for (let parked = 1; parked < disks; parked++) {
    const moves = 2 * best(parked, pegs).moves + best(disks - parked, pegs - 1).moves;
    if (moves < found.moves) found = { moves, parked };
  }
  return found;
});

/** Appends the moves of disks offset+1 … offset+disks, which may rest on any peg of `spare`. */
function solve(
  moves: Move[],
  disks: number,
  from: number,
  to: number,
  spare: readonly number[],
  offset = 0,
): void {
  if (disks === 0) return;
  if (disks === 1) {
    moves.push([offset + 1, from, to]);
    return;
  }
  const { parked } = best(disks, spare.length + 2);
  const [park, ...rest] = spare as [number, ...number[]];
  solve(moves, parked, from, park, [...rest, to], offset);
  solve(moves, disks - parked, from, to, rest, offset + parked);
  solve(moves, parked, park, to, [...rest, from], offset);
}

/** The pegs (bottom to top) before the first move and after every move. */
function states(moves: readonly Move[], disks: number, pegs: number, start: number): number[][][] {
  const board = initialBoard(disks, pegs, start);
  const result = [structuredClone(board)];
  for (const [disk, from, to] of moves) {
    board[from - 1]!.pop();
    board[to - 1]!.push(disk);
    result.push(structuredClone(board));
  }
  return result;
}

export function initialBoard(disks: number, pegs: number, start: number): number[][] {
  const board: number[][] = Array.from({ length: pegs }, () => []);
  for (let disk = disks; disk >= 1; disk--) board[start - 1]!.push(disk);
  return board;
}

/**
 * Nine words separated by single spaces. Like the original, it accepts any text glued to the first
 * word.
 */
const LINE = /^\S*Move disk (\d+) from Peg (\d+) to Peg (\d+)$/;

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= 1000;
}
