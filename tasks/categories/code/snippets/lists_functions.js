/** Reference functions on lists, for codeio. Questions show exactly the lines that run. */

export function largestAndPlace({ numbers }) {
  let place = 0;
  for (let i = 1; i < numbers.length; i++) {
    if (numbers[i] > numbers[place]) place = i;
  }
  return { largest: numbers[place], place };
}

export function splitByParity({ numbers }) {
  const even = [], odd = [];
  for (const number of numbers) (number % 2 === 0 ? even : odd).push(number);
  return { even, odd };
}

export function runningSums({ numbers }) {
  let sum = 0;
  return { sums: numbers.map((number) => (sum = sum + number)) };
}

export function mixLists({ left, right }) {
  const mixed = [];
  for (let i = 0; i < left.length; i++) {
    if (i % 2 === 0) mixed.push(left[i], right[i]);
    else mixed.push(right[i], left[i]);
  }
  return { mixed };
}

export function turnGrid({ grid }) {
  const turned = [];
  for (let column = 0; column < grid[0].length; column++) {
    turned.push(grid.map((row) => row[column]).reverse());
  }
  return { turned };
}

export function longestRise({ numbers }) {
  let start = 0, best = { start: 0, length: 1 };
  for (let i = 1; i < numbers.length; i++) {
    if (numbers[i] <= numbers[i - 1]) start = i;
    if (i - start + 1 > best.length) best = { start, length: i - start + 1 };
  }
  return best;
}

export function mergeIntervals({ intervals }) {
  const sorted = intervals.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const merged = [];
  for (const [from, to] of sorted) {
    const last = merged[merged.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return { merged, covered: merged.reduce((sum, [from, to]) => sum + to - from, 0) };
}

export function bestLoad({ weights, values, capacity }) {
  const best = Array.from({ length: capacity + 1 }, () => 0);
  for (let i = 0; i < weights.length; i++) {
    for (let room = capacity; room >= weights[i]; room--) {
      best[room] = Math.max(best[room], best[room - weights[i]] + values[i]);
    }
  }
  return { value: best[capacity], half: best[Math.floor(capacity / 2)] };
}

export function countOut({ names, step }) {
  const circle = names.slice(), order = [];
  let place = 0;
  while (circle.length > 0) {
    place = (place + step - 1) % circle.length;
    order.push(circle[place]);
    circle.splice(place, 1);
  }
  return { step, order };
}

export function fewestHops({ roads, from, to }) {
  const distance = { [from]: 0 };
  const queue = [from];
  while (queue.length > 0) {
    const town = queue.shift();
    for (const [a, b] of roads) {
      for (const [here, there] of [[a, b], [b, a]]) {
        if (here === town && !(there in distance)) {
          distance[there] = distance[here] + 1;
          queue.push(there);
        }
      }
    }
  }
  return { reached: Object.keys(distance), hops: to in distance ? distance[to] : -1 };
}

export function orderTasks({ tasks, before }) {
  const order = [];
  const left = tasks.slice().sort();
  while (left.length > 0) {
    const next = left.findIndex((task) =>
      before.every(([first, second]) => second !== task || order.includes(first))
    );
    if (next < 0) return { order, stuck: left.length };
    order.push(...left.splice(next, 1));
  }
  return { order, stuck: 0 };
}

export function commonSubsequence({ left, right }) {
  const length = Array.from(
    { length: left.length + 1 },
    () => Array.from({ length: right.length + 1 }, () => 0),
  );
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      length[i][j] = left[i] === right[j]
        ? length[i + 1][j + 1] + 1
        : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const common = [];
  let i = 0, j = 0;
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      common.push(left[i]);
      i = i + 1;
      j = j + 1;
    } else if (length[i + 1][j] >= length[i][j + 1]) i = i + 1;
    else j = j + 1;
  }
  return { common };
}

export function chooseJobs({ jobs }) {
  const byPay = jobs.slice().sort((a, b) => b.pay - a.pay || a.deadline - b.deadline);
  const slots = {};
  let pay = 0;
  for (const job of byPay) {
    for (let day = job.deadline; day > 0; day--) {
      if (!slots["day " + day]) {
        slots["day " + day] = job.name;
        pay = pay + job.pay;
        break;
      }
    }
  }
  return { pay, slots };
}
