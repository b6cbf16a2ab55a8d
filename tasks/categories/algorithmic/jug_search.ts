/**
 * Finds a shortest solution of a water jug puzzle by breadth-first search over all jugs. Jugs are
 * sorted by capacity, and jugs of the same capacity by their amounts. So states that differ only in
 * the order of equal jugs count as the same state.
 */

/** A move: water flows `from` a jug (or the tap) `to` a jug (or the drain). */
export interface JugMove {
  from: number;
  to: number;
}

/** Stands for the tap and the drain. */
export const OUTSIDE = -1;

/**
 * Writes a move like the answer does: `fill A`, `empty B`, `pour A->B`. Jugs are letters from A.
 */
export function moveText({ from, to }: JugMove): string {
  if (from === OUTSIDE) return `fill ${jugName(to)}`;
  return to === OUTSIDE ? `empty ${jugName(from)}` : `pour ${jugName(from)}->${jugName(to)}`;
}

export function jugName(jug: number): string {
  return String.fromCharCode(65 + jug);
}

/** Applies a move to the amounts, in place. The move may have no effect. */
export function applyMove(
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
function search(
  capacities: Uint8Array,
  target: number,
  maxStates: number,
): JugMove[] | null {
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
