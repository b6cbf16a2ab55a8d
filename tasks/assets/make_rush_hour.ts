/**
 * Writes lines of `rush_hour.txt`: hard Rush Hour boards with a shortest solution each. It is run
 * by hand. The file contains the lines of three runs, with these arguments:
 * `0 500 300 15`, `1000 500 300 15` and `10000 60 4000 40 42`.
 *
 *     deno run -A tasks/assets/make_rush_hour.ts FIRST COUNT CHANGES MIN_MOVES [KEEP] > lines
 *
 * For each number from FIRST on, a random board is changed CHANGES times by adding, removing and
 * moving vehicles and walls. A change is kept unless the board became easier (a little easier is
 * allowed at first). To rate a board, all reachable positions are found, and a breadth-first search
 * from the solved positions gives the farthest one. The hardest board is printed when it takes at
 * least MIN_MOVES moves. With KEEP, every earlier record of at least KEEP moves is printed too.
 *
 * A line consists of 36 squares row by row (o empty, x wall, letters vehicles, A the red car), a
 * space, and two characters for each move: the letter and the distance, 1–4 to the right or down,
 * a–d to the left or up.
 */
import { RandomStream } from "../../core/philox.ts";

interface Vehicle {
  vertical: boolean;
  /** The row of a horizontal vehicle, or the column of a vertical one. */
  line: number;
  length: number;
  at: number;
}

interface Board {
  /** The first vehicle is the red car. */
  vehicles: Vehicle[];
  walls: number[];
}

const SIZE = 6, EXIT_ROW = 2, MAX_VEHICLES = 13, MAX_WALLS = 2;
/** Maximum number of positions of a board; boards with more are skipped. */
const MAX_STATES = 8_000, SLOTS = 1 << 16;

const slots = new Int32Array(SLOTS), slotState = new Int32Array(SLOTS);
const keys = new Int32Array(MAX_STATES + 1);
const positions = new Uint8Array((MAX_STATES + 1) * MAX_VEHICLES);
const edgeStart = new Int32Array(MAX_STATES + 2);
let edges = new Int32Array(1 << 18);

function squares({ vertical, line, length, at }: Vehicle): number[] {
  return Array.from(
    { length },
    (_, i) => vertical ? (at + i) * SIZE + line : line * SIZE + at + i,
  );
}

interface Hardest {
  moves: number;
  /** The positions of the vehicles on the path from the hardest state to a solved one. */
  path: number[][];
}

/** The state that needs the most moves; null when there are too many states or no solved one. */
function hardest({ vehicles, walls }: Board): Hardest | null {
  const count = vehicles.length;
  const low: number[][] = [], high: number[][] = [], radix: number[] = [];
  let product = 1;
  for (const vehicle of vehicles) {
    const places = SIZE - vehicle.length + 1;
    radix.push(product);
    product *= places;
    const masks = Array.from({ length: places }, (_, at) => maskOf(squares({ ...vehicle, at })));
    low.push(masks.map(([lo]) => lo));
    high.push(masks.map(([, hi]) => hi));
  }
  if (product > 0x7fffffff) return null;
  const [wallLow, wallHigh] = maskOf(walls);
  slots.fill(-1);
  let states = 0, edgeCount = 0;
  const find = (key: number) => {
    let slot = (Math.imul(key, 0x9e3779b1) >>> 16) & (SLOTS - 1);
    while (slots[slot] !== -1) {
      if (slots[slot] === key) return slotState[slot]!;
      slot = (slot + 1) & (SLOTS - 1);
    }
    slots[slot] = key;
    slotState[slot] = states;
    keys[states] = key;
    return states++;
  };
  find(vehicles.reduce((key, { at }, v) => key + at * radix[v]!, 0));
  vehicles.forEach(({ at }, v) => positions[v] = at);
  for (let state = 0; state < states; state++) {
    edgeStart[state] = edgeCount;
    if (edgeCount > edges.length - 64) {
      const longer = new Int32Array(edges.length * 2);
      longer.set(edges);
      edges = longer;
    }
    const base = state * count;
    let lo = wallLow, hi = wallHigh;
    for (let v = 0; v < count; v++) {
      lo |= low[v]![positions[base + v]!]!;
      hi |= high[v]![positions[base + v]!]!;
    }
    for (let v = 0; v < count; v++) {
      const at = positions[base + v]!, lows = low[v]!, highs = high[v]!;
      const freeLow = lo & ~lows[at]!, freeHigh = hi & ~highs[at]!;
      for (let step = -1; step <= 1; step += 2) {
        for (let to = at + step; to >= 0 && to < lows.length; to += step) {
          if ((lows[to]! & freeLow) !== 0 || (highs[to]! & freeHigh) !== 0) break;
          const before = states, next = find(keys[state]! + (to - at) * radix[v]!);
          if (states > before) {
            if (states > MAX_STATES) return null;
            for (let i = 0; i < count; i++) positions[next * count + i] = positions[base + i]!;
            positions[next * count + v] = to;
          }
          edges[edgeCount++] = next;
        }
      }
    }
  }
  edgeStart[states] = edgeCount;
  return farthest(states, count);
}

function maskOf(list: readonly number[]): [low: number, high: number] {
  let low = 0, high = 0;
  for (const square of list) {
    if (square < 18) low |= 1 << square;
    else high |= 1 << (square - 18);
  }
  return [low, high];
}

/** Moves are reversible, so distances from the solved states are distances to them. */
function farthest(states: number, count: number): Hardest | null {
  const distance = new Int32Array(states).fill(-1), order = new Int32Array(states);
  let filled = 0;
  for (let state = 0; state < states; state++) {
    if (positions[state * count] !== SIZE - 2) continue;
    distance[state] = 0;
    order[filled++] = state;
  }
  if (filled === 0) return null;
  for (let i = 0; i < filled; i++) {
    const state = order[i]!;
    for (let e = edgeStart[state]!; e < edgeStart[state + 1]!; e++) {
      const next = edges[e]!;
      if (distance[next] !== -1) continue;
      distance[next] = distance[state]! + 1;
      order[filled++] = next;
    }
  }
  let state = order[filled - 1]!;
  const moves = distance[state]!, path: number[][] = [];
  for (;;) {
    path.push([...positions.subarray(state * count, (state + 1) * count)]);
    if (distance[state] === 0) return { moves, path };
    for (let e = edgeStart[state]!; e < edgeStart[state + 1]!; e++) {
      if (distance[edges[e]!] === distance[state]! - 1) {
        state = edges[e]!;
        break;
      }
    }
  }
}

function taken({ vehicles, walls }: Board): Set<number> {
  return new Set([...vehicles.flatMap(squares), ...walls]);
}

function addVehicle(random: RandomStream, board: Board): void {
  if (board.vehicles.length === MAX_VEHICLES) return;
  const used = taken(board);
  for (let attempt = 0; attempt < 50; attempt++) {
    const length = random.chance(0.3) ? 3 : 2;
    const vehicle = {
      vertical: random.chance(0.5),
      line: random.below(SIZE),
      length,
      at: random.below(SIZE - length + 1),
    };
    if (!vehicle.vertical && vehicle.line === EXIT_ROW) continue;
    if (squares(vehicle).some((square) => used.has(square))) continue;
    board.vehicles.push(vehicle);
    return;
  }
}

function changed(random: RandomStream, board: Board): Board {
  const next: Board = { vehicles: structuredClone(board.vehicles), walls: board.walls.slice() };
  if (random.chance(0.15)) {
    const empty = Array.from({ length: SIZE * SIZE }, (_, i) => i).filter((square) =>
      !taken(next).has(square) && Math.floor(square / SIZE) !== EXIT_ROW
    );
    if (next.walls.length > 0) next.walls.splice(random.below(next.walls.length), 1);
    if (next.walls.length < MAX_WALLS && empty.length > 0 && random.chance(0.6)) {
      next.walls.push(random.choice(empty));
    }
    return next;
  }
  const removed = random.below(3), added = removed === 0 ? 1 : random.int(0, removed + 1);
  for (let i = 0; i < removed && next.vehicles.length > 1; i++) {
    next.vehicles.splice(1 + random.below(next.vehicles.length - 1), 1);
  }
  for (let i = 0; i < added; i++) addVehicle(random, next);
  return next;
}

function lineOf(board: Board, { path }: Hardest): string {
  const cells = new Array<string>(SIZE * SIZE).fill("o");
  for (const wall of board.walls) cells[wall] = "x";
  const letter = (v: number) => String.fromCharCode(65 + v);
  board.vehicles.forEach((vehicle, v) => {
    for (const square of squares({ ...vehicle, at: path[0]![v]! })) cells[square] = letter(v);
  });
  let moves = "";
  for (let i = 1; i < path.length; i++) {
    const v = path[i]!.findIndex((at, k) => at !== path[i - 1]![k]);
    const distance = path[i]![v]! - path[i - 1]![v]!;
    moves += letter(v) + (distance > 0 ? distance : String.fromCharCode(96 - distance));
  }
  return `${cells.join("")} ${moves}`;
}

const [first, count, changes, minMoves, keep = Infinity] = Deno.args.map(Number) as [
  number,
  number,
  number,
  number,
  number?,
];
for (let number = first; number < first + count; number++) {
  const random = RandomStream.forPurpose(number, "task", "rush_hour boards");
  let board: Board = {
    vehicles: [{ vertical: false, line: EXIT_ROW, length: 2, at: random.below(3) }],
    walls: [],
  };
  for (let i = random.int(6, 10); i > 0; i--) addVehicle(random, board);
  let current = hardest(board), best = current, bestBoard = board;
  for (let change = 0; change < changes; change++) {
    const next = changed(random, board), found = hardest(next);
    if (found === null) continue;
    const slack = Math.floor(3 * (1 - change / changes) * random.random() ** 2);
    if (current !== null && found.moves < current.moves - slack) continue;
    // Later changes start at the hardest position, not at the one that was drawn.
    next.vehicles.forEach((vehicle, v) => vehicle.at = found.path[0]![v]!);
    [board, current] = [next, found];
    if (best === null || found.moves > best.moves) {
      if (best !== null && best.moves >= keep) console.log(lineOf(bestBoard, best));
      [best, bestBoard] = [found, next];
    }
  }
  if (best !== null && best.moves >= minMoves) console.log(lineOf(bestBoard, best));
}
