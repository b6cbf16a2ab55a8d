/**
 * Reference functions that simulate a process, for codeio. Questions show exactly the lines that
 * run.
 */

export function countFloors({ start, buttons }) {
  let floor = start;
  let highest = start;
  for (const button of buttons) {
    floor = button === "up" ? floor + 1 : floor - 1;
    highest = Math.max(highest, floor);
  }
  return { floor, highest };
}

export function switchLamps({ lamps, presses }) {
  const state = lamps.slice();
  for (const press of presses) state[press] = 1 - state[press];
  return { presses, state };
}

export function keepAccount({ balance, moves }) {
  const refused = [];
  for (const move of moves) {
    if (balance + move < 0) refused.push(move);
    else balance = balance + move;
  }
  return { balance, refused };
}

export function walkRobot({ commands, width, height }) {
  const turns = [[0, 1], [1, 0], [0, -1], [-1, 0]];
  let x = 0, y = 0, facing = 0, bumps = 0;
  for (const command of commands) {
    if (command === "R") facing = (facing + 1) % 4;
    else if (command === "L") facing = (facing + 3) % 4;
    else {
      const nextX = x + turns[facing][0], nextY = y + turns[facing][1];
      if (nextX < 0 || nextY < 0 || nextX >= width || nextY >= height) bumps = bumps + 1;
      else [x, y] = [nextX, nextY];
    }
  }
  return { x, y, facing: "NESW"[facing], bumps };
}

export function runStack({ program }) {
  const stack = [];
  for (const word of program) {
    if (word === "dup") stack.push(stack[stack.length - 1]);
    else if (word === "swap") stack.push(stack.pop(), stack.pop());
    else if (word === "add") stack.push(stack.pop() + stack.pop());
    else if (word === "mul") stack.push((stack.pop() * stack.pop()) % 1000);
    else stack.push(Number(word));
  }
  return { stack };
}

export function playLife({ rows, rounds }) {
  const alive = (grid, r, c) => (grid[r] && grid[r][c] === "#" ? 1 : 0);
  for (let round = 0; round < rounds; round++) {
    rows = rows.map((row, r) =>
      row.split("").map((_, c) => {
        let near = -alive(rows, r, c);
        for (let i = r - 1; i <= r + 1; i++) {
          for (let j = c - 1; j <= c + 1; j++) near = near + alive(rows, i, j);
        }
        return near === 3 || (near === 2 && alive(rows, r, c)) ? "#" : ".";
      }).join("")
    );
  }
  return { rows };
}

export function serveQueue({ arrivals, durations, counters }) {
  const free = Array.from({ length: counters }, () => 0);
  let waited = 0, longest = 0;
  for (let i = 0; i < arrivals.length; i++) {
    const counter = free.indexOf(Math.min(...free));
    const begin = Math.max(free[counter], arrivals[i]);
    waited = waited + begin - arrivals[i];
    longest = Math.max(longest, begin - arrivals[i]);
    free[counter] = begin + durations[i];
  }
  return { waited, longest, end: Math.max(...free) };
}

export function fallSand({ columns, drops }) {
  const height = columns.slice();
  for (const drop of drops) {
    let place = drop;
    for (;;) {
      if (place > 0 && height[place - 1] < height[place]) place = place - 1;
      else if (place < height.length - 1 && height[place + 1] < height[place]) place = place + 1;
      else break;
    }
    height[place] = height[place] + 1;
  }
  return { height, top: Math.max(...height) };
}

export function countIslands({ rows }) {
  const land = new Set();
  rows.forEach((row, r) =>
    row.split("").forEach((cell, c) => cell === "#" && land.add(r + "," + c))
  );
  const sizes = [];
  while (land.size > 0) {
    const open = [[...land][0]];
    land.delete(open[0]);
    let size = 0;
    while (open.length > 0) {
      const [r, c] = open.pop().split(",").map(Number);
      size = size + 1;
      for (const next of [[r + 1, c], [r - 1, c], [r, c + 1], [r, c - 1]]) {
        const key = next.join(",");
        if (land.delete(key)) open.push(key);
      }
    }
    sizes.push(size);
  }
  return { islands: sizes.length, sizes: sizes.sort((a, b) => b - a) };
}

export function useCache({ room, requests }) {
  let kept = [];
  const misses = [];
  for (const request of requests) {
    if (kept.includes(request)) kept = kept.filter((item) => item !== request);
    else misses.push(request);
    kept.push(request);
    if (kept.length > room) kept.shift();
  }
  return { hits: requests.length - misses.length, misses, kept };
}

export function walkAnt({ size, steps }) {
  const black = new Set();
  let r = Math.floor(size / 2), c = Math.floor(size / 2), facing = 0;
  for (let step = 0; step < steps; step++) {
    const cell = r + "," + c;
    if (black.delete(cell)) facing = (facing + 3) % 4;
    else {
      black.add(cell);
      facing = (facing + 1) % 4;
    }
    if (facing === 0) r = (r + size - 1) % size;
    if (facing === 1) c = (c + 1) % size;
    if (facing === 2) r = (r + 1) % size;
    if (facing === 3) c = (c + size - 1) % size;
  }
  return { row: r, column: c, facing, black: black.size };
}

export function stepRegister({ bits, taps, steps }) {
  let register = bits;
  let output = "";
  for (let step = 0; step < steps; step++) {
    let next = 0;
    for (const tap of taps) next = next ^ Number(register[tap]);
    output = output + register[register.length - 1];
    register = next + register.slice(0, -1);
  }
  return { output, register };
}
