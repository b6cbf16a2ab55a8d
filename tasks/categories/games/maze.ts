/**
 * The shortest path through a maze of random walls. The distance is drawn among the allowed
 * distances that occur, which are computed by breadth-first search from the start. If none occurs,
 * everything is drawn again.
 */
import { RgxError } from "../../../core/errors.ts";
import { type ConfigOf, counts, defineTask, exactScore, type RandomStream } from "../../define.ts";
import { rowsOf } from "../../grids.ts";

/**
 * Probability 0.7 that an inner square is a passage, in 65536ths. One random word decides two
 * squares.
 */
const PASSAGE = Math.round(0.7 * 0x10000);
const TRIES = 2000;
const PRINTABLE = Array.from({ length: 94 }, (_, i) => 33 + i);

const params = {
  dist: counts([5, 10], "steps from start to goal", { min: 1, spans: [5, 10, 15, 20] }),
  grid_size: counts([5, 10], "rows and columns, with the border", {
    min: 4,
    max: 1000,
    spans: [10, 25, 50, 100],
  }),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Find the length of the shortest path through a maze.",
  ...exactScore("the number"),
  defaultSize: 50,
  params,
  rules: {
    "min_dist: must be at most (max_grid_size − 2)² − 1": (c) =>
      c.min_dist <= (c.max_grid_size - 2) ** 2 - 1,
  },
  generate(random, config) {
    const { size, isPassage, start, goal, distance } = drawMaze(random, config);
    const [wall, path, startMark, goalMark] = random.sample(PRINTABLE, 4) as [
      number,
      number,
      number,
      number,
    ];
    const codes = Array.from(isPassage, (passage) => passage ? path : wall);
    codes[start] = startMark;
    codes[goal] = goalMark;
    const grid = rowsOf(codes, size).map((row) => String.fromCharCode(...row));
    const mark = (code: number) => String.fromCharCode(code);
    return {
      question: `This maze has walls (${mark(wall)}) and passages (${mark(path)}). You stand at ` +
        `${mark(startMark)} and want to reach ${mark(goalMark)}. A step leads one square up, ` +
        "down, left or right, never into a wall.\n\n" +
        `${grid.join("\n")}\n\nHow many steps does the shortest way take? Answer with the number ` +
        "alone.",
      answer: String(distance),
      metadata: {
        grid_size: size,
        grid,
        shortest_path_length: distance,
        start: mark(startMark),
        goal: mark(goalMark),
        wall: mark(wall),
        path: mark(path),
      },
    };
  },
});

function drawMaze(random: RandomStream, config: Config) {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const size = random.int(config.min_grid_size, config.max_grid_size);
    const isPassage = drawPassages(random, size);
    const inside = size - 2;
    const start = (1 + random.below(inside)) * size + 1 + random.below(inside);
    if (isPassage[start] === 0) continue;
    const { order, distances } = distancesFrom(start, isPassage, size, config.max_dist);
    const farthest = distances[order.at(-1)!]! - 1;
    if (farthest < config.min_dist) continue;
    const distance = random.int(config.min_dist, farthest);
    const goal = random.choice(order.filter((square) => distances[square] === distance + 1));
    return { size, isPassage, start, goal, distance };
  }
  throw new RgxError(
    `task maze: found no maze with a shortest way of ${config.min_dist} to ${config.max_dist} ` +
      `steps in ${config.min_grid_size} to ${config.max_grid_size} rows and columns`,
    { advice: "lower min_dist or raise max_grid_size" },
  );
}

/** 1 for a passage; the border is wall. */
function drawPassages(random: RandomStream, size: number): Uint8Array {
  const isPassage = new Uint8Array(size * size);
  let word = 0, left = 0;
  for (let row = 1; row < size - 1; row++) {
    for (let column = 1; column < size - 1; column++) {
      if (left === 0) {
        word = random.u32();
        left = 2;
      }
      if ((word & 0xffff) < PASSAGE) isPassage[row * size + column] = 1;
      word >>>= 16;
      left--;
    }
  }
  return isPassage;
}

/**
 * The squares in the order of their distance, and 1 + the distance of each (0: farther than
 * `maximum`).
 */
function distancesFrom(start: number, isPassage: Uint8Array, size: number, maximum: number) {
  const distances = new Int32Array(isPassage.length);
  const order = [start];
  distances[start] = 1;
  for (let at = 0; at < order.length; at++) {
    const square = order[at]!, next = distances[square]! + 1;
    if (next > maximum + 1) break;
    for (const neighbour of [square - size, square - 1, square + 1, square + size]) {
      if (isPassage[neighbour] === 0 || distances[neighbour] !== 0) continue;
      distances[neighbour] = next;
      order.push(neighbour);
    }
  }
  return { order, distances };
}
