/**
 * Clues about who lives where, and what follows from them. Each category has as many values as
 * there are houses. Value v of category c has the number c · houses + v. Its domain is the set of
 * houses where it can be, as bits.
 */
import type { RandomStream } from "../../../core/philox.ts";

/**
 * `at`: value `a` is in house `b`; otherwise both are values. `left`: `a` is directly left of `b`.
 */
export interface Clue {
  kind: "same" | "left" | "beside" | "at";
  a: number;
  b: number;
}

export interface Street {
  houses: number;
  categories: number;
  /** The house of each value. */
  solution: readonly number[];
}

const KINDS = ["same", "left", "beside", "at"] as const;
const KIND_WEIGHTS = [5, 2, 2, 1];
/**
 * Maximum number of branches in the search for a second solution. A clue is kept when it needs
 * more.
 */
const MAX_BRANCHES = 60;

/**
 * Clues with a unique solution. They are drawn until deduction finds the solution, and then removed
 * as long as it stays unique. No clue names the house of the value `unsaid` directly.
 */
export function drawClues(random: RandomStream, street: Street, unsaid: number): Clue[] {
  const clues: Clue[] = [];
  const known = new Set<number>();
  const domains = allHouses(street);
  while (!isSolved(domains)) {
    const clue = drawClue(random, street);
    const key = (clue.a * 64 + clue.b) * KINDS.length + KINDS.indexOf(clue.kind);
    if (known.has(key) || (clue.kind === "at" && clue.a === unsaid)) continue;
    known.add(key);
    clues.push(clue);
    deduce(domains, street, clues);
  }
  random.shuffle(clues);
  reduce(clues, (rest) => {
    const left = allHouses(street);
    deduce(left, street, rest);
    return isSolved(left);
  });
  reduce(clues, (rest) => isUnique(street, rest));
  return clues;
}

/** Removes, one after another, the clues that are not needed. */
function reduce(clues: Clue[], isEnough: (rest: readonly Clue[]) => boolean): void {
  for (let i = clues.length - 1; i >= 0; i--) {
    const [clue] = clues.splice(i, 1);
    if (!isEnough(clues)) clues.splice(i, 0, clue!);
  }
}

function drawClue(random: RandomStream, { houses, categories, solution }: Street): Clue {
  const kind = random.weighted(KINDS, KIND_WEIGHTS);
  const first = random.below(categories);
  if (kind === "at") {
    const a = first * houses + random.below(houses);
    return { kind, a, b: solution[a]! };
  }
  if (kind === "same") {
    const second = (first + random.int(1, categories - 1)) % categories;
    const house = random.below(houses);
    const [a, b] = [Math.min(first, second), Math.max(first, second)]
      .map((category) => valueAt(category, house)) as [number, number];
    return { kind, a, b };
  }
  const house = random.below(houses - 1);
  const a = valueAt(first, house), b = valueAt(random.below(categories), house + 1);
  return kind === "beside" && random.chance(0.5) ? { kind, a: b, b: a } : { kind, a, b };

  function valueAt(category: number, house: number): number {
    return solution.indexOf(house, category * houses);
  }
}

function allHouses({ houses, categories }: Street): Uint8Array {
  return new Uint8Array(houses * categories).fill(2 ** houses - 1);
}

function isSolved(domains: Uint8Array): boolean {
  return domains.every(isSingle);
}

function isSingle(domain: number): boolean {
  return domain !== 0 && (domain & domain - 1) === 0;
}

/**
 * Narrows the domains by the clues and by "one value in each house" until nothing changes. Returns
 * false when there is no solution.
 */
function deduce(
  domains: Uint8Array,
  { houses, categories }: Street,
  clues: readonly Clue[],
): boolean {
  let changed = true;
  while (changed) {
    changed = false;
    for (const { kind, a, b } of clues) {
      if (kind === "at") narrow(a, 1 << b);
      else if (kind === "same") {
        narrow(a, domains[b]!);
        narrow(b, domains[a]!);
      } else if (kind === "left") {
        narrow(a, domains[b]! >> 1);
        narrow(b, domains[a]! << 1);
      } else {
        narrow(a, domains[b]! >> 1 | domains[b]! << 1);
        narrow(b, domains[a]! >> 1 | domains[a]! << 1);
      }
    }
    for (let category = 0; category < categories; category++) {
      const start = category * houses, end = start + houses;
      /** The houses in which some value, and in which at least two values, can be. */
      let some = 0, several = 0;
      for (let value = start; value < end; value++) {
        const domain = domains[value]!;
        if (domain === 0) return false;
        several |= some & domain;
        some |= domain;
      }
      if (some !== 2 ** houses - 1) return false;
      for (let value = start; value < end; value++) {
        const alone = domains[value]! & ~several;
        if (alone !== 0) narrow(value, alone);
        if (!isSingle(domains[value]!)) continue;
        for (let other = start; other < end; other++) {
          if (other !== value) narrow(other, ~domains[value]!);
        }
      }
    }
  }
  return domains.every((domain) => domain !== 0);

  function narrow(value: number, houses: number): void {
    const before = domains[value]!, after = before & houses;
    if (after === before) return;
    domains[value] = after;
    changed = true;
  }
}

/**
 * Whether these clues have one solution; also false when the search is cut off after some branches.
 */
function isUnique(street: Street, clues: readonly Clue[]): boolean {
  let branches = 0;
  return count(allHouses(street)) === 1;

  function count(domains: Uint8Array): number {
    if (!deduce(domains, street, clues)) return 0;
    let open = -1;
    for (let value = 0; value < domains.length; value++) {
      if (isSingle(domains[value]!)) continue;
      if (open === -1 || size(domains[value]!) < size(domains[open]!)) open = value;
    }
    if (open === -1) return 1;
    let found = 0;
    for (let rest = domains[open]!; rest !== 0; rest &= rest - 1) {
      if (++branches > MAX_BRANCHES) return 2;
      const tried = domains.slice();
      tried[open] = rest & -rest;
      found += count(tried);
      if (found > 1) return found;
    }
    return found;
  }
}

function size(domain: number): number {
  let bits = 0;
  for (let rest = domain; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
