/**
 * Who lives in which house? Clues on names, animals, drinks … of neighbours (Einstein's riddle).
 */
import { consecutive, defineTask, int, type RandomStream } from "../../define.ts";
import { capitalize } from "../../text/spelling.ts";

interface Category {
  label: string;
  values: readonly string[];
  /** The phrase for the person who has a value. */
  says(value: string): string;
}

const NAMES =
  "alice arnold bob bruno carol clara david doris edgar emily felix fiona george greta hugo " +
  "irene jonas karin lucas maria nadia oscar paula peter quentin rita simon tessa victor wanda";

const NAME: Category = { label: "name", values: NAMES.split(" "), says: capitalize };

const CATEGORIES: readonly Category[] = [
  category("favourite colour", "red, blue, green, yellow, white, purple, orange, brown", "likes *"),
  category(
    "nationality",
    "Danish, German, Chinese, British, Spanish, Kenyan, Peruvian, Indian",
    "is *",
  ),
  category("animal", "cat, dog, horse, parrot, goldfish, rabbit, tortoise, hamster", "keeps a *"),
  category("drink", "tea, coffee, milk, water, lemonade, cocoa, cider, root beer", "drinks *"),
  category(
    "cigar",
    "corona, robusto, torpedo, panatela, lancero, churchill, perfecto, toro",
    "smokes a *",
  ),
  category("food", "pizza, soup, noodles, salad, curry, dumplings, stew, risotto", "eats *"),
  category(
    "flower",
    "roses, tulips, lilies, daffodils, violets, orchids, daisies, carnations",
    "grows *",
  ),
  category(
    "phone model",
    "Orbit 5, Pebble X, Nimbus 2, Quartz 10, Falcon S, Lumen 7, Comet Air, Delta 3",
    "has the phone model *",
  ),
  category("child", "Ada, Ben, Cora, Dan, Ella, Finn, Gus, Hana", "has a child called *"),
  category(
    "smoothie",
    "mango, cherry, banana, kiwi, coconut, melon, blueberry, peach",
    "buys the * smoothie",
  ),
];

export default defineTask({
  description: "Find out who lives in a house from clues about the neighbours.",
  scoring: "1 for the name, in any case and whatever the line breaks, else 0.",
  params: {
    num_people: int(4, "number of houses, with a person each", {
      min: 2,
      max: 7,
      levels: consecutive(2, 7),
    }),
    num_characteristics: int(4, "number of categories, the name among them", {
      min: 2,
      max: 7,
      levels: consecutive(2, 7),
    }),
  },
  generate(random, config) {
    const { num_people: houses, num_characteristics: count } = config;
    const categories = [NAME, ...random.sample(CATEGORIES, count - 1)];
    const values = categories.map((one) => random.sample(one.values, houses));
    const order = Array.from({ length: houses }, (_, house) => house);
    const solution = categories.flatMap(() => random.shuffle(order.slice()));
    const asked = random.below(houses);
    const answer = solution.indexOf(asked);
    const clues = drawClues(random, { houses, categories: count, solution }, answer);
    const lists = categories.map(({ label }, i) => `${label}: ${values[i]!.join(", ")}`);
    return {
      question:
        `${houses} houses stand in a row, numbered from 1 on the left to ${houses} on the right. ` +
        "In each lives one person. Each of these belongs to exactly one of them, and every " +
        `person has one of each kind:\n${lists.join("\n")}\n` +
        clues.map((clue, i) => `${i + 1}. ${capitalize(spell(clue))}.`).join("\n") +
        `\nWhat is the name of the person in house ${asked + 1}? Answer with the name alone.`,
      answer: values[0]![answer]!,
      metadata: {},
    };

    function spell({ kind, a, b }: Clue): string {
      if (kind === "at") return `${person(a)} lives in house ${b + 1}`;
      if (kind === "same") return `${person(a)} ${saying(b)}`;
      return kind === "left"
        ? `${person(a)} lives directly to the left of ${person(b)}`
        : `${person(a)} and ${person(b)} live next to each other`;
    }

    function saying(value: number): string {
      const of = Math.floor(value / houses);
      return categories[of]!.says(values[of]![value % houses]!);
    }

    function person(value: number): string {
      return value < houses ? saying(value) : `the person who ${saying(value)}`;
    }
  },
  score(answer, entry) {
    const [given, oracle] = [answer, entry.answer ?? ""]
      .map((text) => text.toLowerCase().replaceAll("\n", ""));
    return Number(given === oracle);
  },
});

/** Makes a category of comma-separated `values`. In `sentence`, * stands for the value. */
function category(label: string, values: string, sentence: string): Category {
  return { label, values: values.split(", "), says: (value) => sentence.replace("*", value) };
}

/**
 * Clues about who lives where, and deductions from them. Each category has as many values as there
 * are houses. Value v of category c has the number c · houses + v. Its domain is the set of houses
 * where it can be, as bits.
 */

/**
 * `at`: value `a` is in house `b`; otherwise both are values. `left`: `a` is directly left of `b`.
 */
interface Clue {
  kind: "same" | "left" | "beside" | "at";
  a: number;
  b: number;
}

interface Street {
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
function drawClues(random: RandomStream, street: Street, unsaid: number): Clue[] {
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
