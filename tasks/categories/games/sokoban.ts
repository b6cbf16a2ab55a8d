/**
 * Push all boxes onto goals. A board is made backwards from its solved state: the player walks and
 * pulls boxes off their goals, so the reverse is a solution. The scorer reads the board from its
 * text and plays the answer on it.
 */
import { defineTask, int, levels } from "../../define.ts";
import { strip } from "../../python/text.ts";
import type { ScorableEntry } from "../../types.ts";
import { drawRoom, type Room } from "./sokoban_room.ts";

const SIZES = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
const MAX_SIDE = 20;
/** Longer texts are not read. */
const MAX_ANSWER_LENGTH = 100_000;

export default defineTask({
  description: "Push boxes onto goals.",
  scoring:
    "The letters U D L R are played (white space, commas, quotes and one full stop at the end " +
    "are skipped): 1 when no box is off a goal at the end; any other character, or a box left, 0.",
  params: {
    min_w: int(6, "fewest columns, with the walls", { min: 3 }),
    min_h: int(6, "fewest rows, with the walls", { min: 3 }),
    max_w: int(10, "most columns, with the walls", { max: MAX_SIDE }),
    max_h: int(10, "most rows, with the walls", { max: MAX_SIDE }),
    min_boxes: int(4, "boxes on the smallest board; fewer where they do not fit", { min: 1 }),
    max_boxes: int(10, "boxes on the largest board"),
    max_depth: int(80, "the solution has fewer moves", { min: 2 }),
  },
  curriculum: {
    width: levels(SIZES, "columns", "w"),
    height: levels(SIZES, "rows", "h"),
  },
  validate({ min_w, min_h }) {
    return Math.max(min_w, min_h) >= 5 ? [] : [
      "min_w: min_w or min_h must be at least 5, so that a box can be pushed between the walls, " +
      `found min_w = ${min_w} and min_h = ${min_h}`,
    ];
  },
  generate(random, config) {
    const width = random.int(config.min_w, config.max_w);
    const height = random.int(config.min_h, config.max_h);
    const smallest = config.min_w * config.min_h, largest = config.max_w * config.max_h;
    const share = largest === smallest ? 0 : (width * height - smallest) / (largest - smallest);
    const boxes = Math.floor(config.min_boxes + (config.max_boxes - config.min_boxes) * share);
    const room = drawRoom(random, width, height, boxes, config.max_depth - 1);
    const gamestr = roomText(room);
    return {
      question:
        "Solve this Sokoban. The player walks up, down, left or right and pushes a box that is " +
        "in the way one square ahead, if the square behind it has neither a wall nor a box. Push " +
        "every box onto a goal.\n* player, % player on a goal, @ box, $ box on a goal, X goal, + " +
        `wall, - empty floor\n\n${strip(gamestr)}\n\n` +
        "Answer with the moves as one word of the letters U (up), D (down), L (left) and R " +
        "(right), for example UURDL.",
      answer: room.solution,
      metadata: { gamestr, width, height },
    };
  },
  score,
});

function roomText({ width, height, isFloor, isGoal, isBox, player }: Room): string {
  let text = "";
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const at = row * width + column;
      let mark = isFloor[at] ? isGoal[at] ? "X" : "-" : "+";
      if (isBox[at]) mark = isGoal[at] ? "$" : "@";
      if (at === player) mark = isGoal[at] ? "%" : "*";
      text += mark + " ";
    }
    text += " \n";
  }
  return text + "\n";
}

interface Board {
  /** With an additional border of walls, so that no step leaves the board. */
  width: number;
  isWall: Uint8Array;
  isGoal: Uint8Array;
  isBox: Uint8Array;
  player: number;
}

/** Returns null for a text that is no board with a player. */
function readBoard(value: unknown): Board | null {
  if (typeof value !== "string") return null;
  const rows = value.split("\n").map((line) => line.replaceAll(" ", "")).filter((row) =>
    row !== ""
  );
  const width = Math.max(0, ...rows.map((row) => row.length)) + 2;
  const count = width * (rows.length + 2);
  const board = {
    width,
    isWall: new Uint8Array(count).fill(1),
    isGoal: new Uint8Array(count),
    isBox: new Uint8Array(count),
    player: -1,
  };
  rows.forEach((row, r) => {
    for (let c = 0; c < row.length; c++) {
      const at = (r + 1) * width + c + 1, mark = row[c]!;
      board.isWall[at] = mark === "+" ? 1 : 0;
      board.isGoal[at] = "X$%".includes(mark) ? 1 : 0;
      board.isBox[at] = "@$".includes(mark) ? 1 : 0;
      if (mark === "*" || mark === "%") board.player = at;
    }
  });
  return board.player < 0 ? null : board;
}

function score(answer: string, entry: ScorableEntry): number {
  const board = readBoard(entry.metadata?.["gamestr"]);
  if (board === null || answer.length > MAX_ANSWER_LENGTH) return 0;
  const moves = strip(answer).replace(/\.$/, "");
  if (/[^UDLR\s,'"]/.test(moves)) return 0;
  const { width, isWall, isGoal, isBox } = board;
  const steps: Record<string, number> = { U: -width, D: width, L: -1, R: 1 };
  let player = board.player;
  for (let i = 0; i < moves.length; i++) {
    const step = steps[moves[i]!];
    if (step === undefined) continue;
    const ahead = player + step, behind = ahead + step;
    if (isWall[ahead]) continue;
    if (isBox[ahead]) {
      if (isWall[behind] || isBox[behind]) continue;
      isBox[ahead] = 0;
      isBox[behind] = 1;
    }
    player = ahead;
  }
  return isBox.every((box, at) => !box || isGoal[at] === 1) ? 1 : 0;
}
