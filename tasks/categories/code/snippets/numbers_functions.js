/** Reference functions on numbers, for codeio. Questions show exactly the lines that run. */

export function sumAndDifference({ a, b }) {
  return { sum: a + b, difference: a - b };
}

export function splitMinutes({ minutes }) {
  const hours = Math.floor(minutes / 60);
  return { days: Math.floor(hours / 24), hours: hours % 24, minutes: minutes % 60 };
}

export function fewestCoins({ amount }) {
  const result = {};
  for (const coin of [50, 20, 10, 5, 2, 1]) {
    result["of " + coin] = Math.floor(amount / coin);
    amount = amount % coin;
  }
  return result;
}

export function followCollatz({ start, limit }) {
  let value = start, steps = 0, largest = start;
  while (value !== 1 && steps < limit) {
    value = value % 2 === 0 ? value / 2 : 3 * value + 1;
    largest = Math.max(largest, value);
    steps = steps + 1;
  }
  return { steps, largest, last: value };
}

export function digitsInBase({ number, base }) {
  const digits = [];
  while (number > 0) {
    digits.unshift(number % base);
    number = Math.floor(number / base);
  }
  return { base, digits };
}

export function leadingDifferences({ numbers }) {
  const leading = [];
  let row = numbers;
  while (row.length > 0) {
    leading.push(row[0]);
    const next = [];
    for (let i = 1; i < row.length; i++) next.push(row[i] - row[i - 1]);
    row = next;
  }
  return { leading };
}

export function primeFactors({ number }) {
  const factors = {};
  for (let p = 2; p * p <= number; p++) {
    while (number % p === 0) {
      factors["p" + p] = (factors["p" + p] || 0) + 1;
      number = number / p;
    }
  }
  if (number > 1) factors["p" + number] = (factors["p" + number] || 0) + 1;
  return factors;
}

export function pseudoRandom({ seed, factor, count }) {
  const values = [];
  let state = seed;
  for (let i = 0; i < count; i++) {
    state = (state * factor + 7) % 1009;
    values.push(state % 10);
  }
  return { values, state };
}

export function subsetSums({ numbers, target }) {
  let ways = new Map([[0, 1]]);
  for (const number of numbers) {
    const next = new Map(ways);
    for (const [sum, count] of ways) {
      next.set(sum + number, (next.get(sum + number) || 0) + count);
    }
    ways = next;
  }
  return { sums: ways.size, ways: ways.get(target) || 0 };
}

export function rankOfOrder({ order }) {
  let rank = 0;
  for (let i = 0; i < order.length; i++) {
    let smaller = 0;
    for (let j = i + 1; j < order.length; j++) {
      if (order[j] < order[i]) smaller = smaller + 1;
    }
    rank = rank * (order.length - i) + smaller;
  }
  return { size: order.length, rank };
}

export function continuedFraction({ top, bottom }) {
  const terms = [];
  while (bottom !== 0) {
    terms.push(Math.floor(top / bottom));
    [top, bottom] = [bottom, top % bottom];
  }
  return { terms, divisor: top };
}
