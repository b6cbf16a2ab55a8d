/**
 * Knights always tell the truth and knaves always lie (Smullyan's puzzles). Who is what? The
 * statements of all people together have exactly one solution.
 */
import { defineTask, int, isOverlong, type RandomStream } from "../../define.ts";
import { words } from "../../python/text.ts";
import { capitalize } from "../../text/spelling.ts";

/** No name contains "and", because the scorer removes this word from answers. */
const NAMES = (
  "Emma Liam Olivia Noah Ava William Sophia James Mia Benjamin Charlotte Lucas Amelia Henry " +
  "Harper Ethan Evelyn Jacob Abigail Michael Emily Daniel Elizabeth Logan Sofia Jackson Avery " +
  "Aiden Ella Samuel Scarlett Sebastian Grace David Chloe Joseph Victoria Carter Riley Owen Aria " +
  "Wyatt Lily John Aurora Jack Zoey Luke Penelope Jayden Layla Dylan Nora Levi Hazel Gabriel " +
  "Violet Julian Ruby Mateo"
).split(" ");

const ROLES = [
  ["knight", "knave"],
  ["pioneer", "laggard"],
  ["saint", "sinner"],
  ["hero", "villain"],
  ["angel", "devil"],
  ["altruist", "egoist"],
  ["sage", "fool"],
] as const;

export default defineTask({
  description: "Find out who tells the truth and who lies from what they say.",
  scoring:
    "1 when everybody has the right role (form and order are free); as many people as there are " +
    "and k of n right: 0.3 + 0.7·k/n; else 0.",
  params: {
    n_people: int(2, "number of people", { min: 1, max: NAMES.length, levels: [2, 3, 4, 5] }),
    depth_constraint: int(2, "deepest nesting of a statement", { min: 1, levels: [2, 3] }),
    width_constraint: int(2, "most statements joined by one and, or", { min: 1, levels: [2, 3] }),
  },
  rules: {
    "depth_constraint: must be at least 2: when everybody only calls somebody truthful or a liar, swapping all roles gives another solution":
      (c) => c.depth_constraint >= 2,
  },
  generate(random, config) {
    const [knight, knave] = random.choice(ROLES);
    const names = random.sample(NAMES, config.n_people);
    const { statements, solution } = drawPuzzle(random, config);
    const terms = {
      knight,
      knave,
      a_knight: withArticle(knight),
      a_knave: withArticle(knave),
      Knight: capitalize(knight),
      Knave: capitalize(knave),
    };
    const spoken = statements.map((statement, i) => {
      const text = phrase(statement, names, terms.a_knight, terms.a_knave);
      return `${names[i]} says: "${capitalize(text)}."`;
    });
    const roles = names.map((name, i) =>
      `${name} is ${solution[i] ? terms.a_knight : terms.a_knave}`
    );
    const form = enumerate(
      names.map((name) => `${name} is ${withArticle(`${knight}/${knave}`)}`),
    );
    return {
      question: `On an island live only ${plural(knight)}, all of whose statements are true, ` +
        `and ${plural(knave)}, all of whose statements are false. You meet ` +
        `${spokenList(names)}.\n` +
        `${spoken.join("\n")}\n` +
        'Here "or" does not exclude both, and "if … then …" is false only when the first part is ' +
        "true and the second is not. Who is what? Answer with one sentence that names everybody, " +
        `in the form: ${form}.`,
      answer: enumerate(roles) + ".",
      metadata: { statements, solution, names, knight_knave_terms: terms },
    };
  },
  score(answer, entry) {
    if (isOverlong(answer, entry)) return 0;
    const terms = entry.metadata?.["knight_knave_terms"] as Record<string, unknown> | undefined;
    const known = [terms?.["knight"], terms?.["knave"]].filter((term) => typeof term === "string");
    const roles = new Set(known.length === 2 ? known : ROLES.flat() as string[]);
    const expected = namedRoles(entry.answer ?? "", roles), given = namedRoles(answer, roles);
    const right = [...expected].filter((pair) => given.has(pair)).length;
    if (given.size !== expected.size || right === 0) return 0;
    return right === expected.size ? 1 : 0.3 + 0.7 * right / expected.size;
  },
});

interface Puzzle {
  statements: Statement[];
  solution: boolean[];
}

/** Draws roles and fitting statements until no other roles fit. */
function drawPuzzle(
  random: RandomStream,
  config: { n_people: number; depth_constraint: number; width_constraint: number },
): Puzzle {
  const { n_people, depth_constraint, width_constraint } = config;
  for (;;) {
    const solution = Array.from({ length: n_people }, () => random.chance(0.5));
    const statements = solution.map((role, speaker) => {
      let statement: Statement;
      let tries = 0;
      do {
        statement = drawStatement(random, speaker, n_people, depth_constraint, width_constraint);
      } while (holds(statement, solution) !== role && ++tries < 100);
      return statement;
    });
    const fits = statements.every((statement, i) => holds(statement, solution) === solution[i]);
    if (fits && hasOneSolution(statements)) return { statements, solution };
  }
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

function plural(noun: string): string {
  return noun + (noun.endsWith("o") ? "es" : "s");
}

/** "a, b, and c", also with a comma between two: the form of an answer. */
function enumerate(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `${parts.slice(0, -1).join(", ")}, and ${parts.at(-1)}`;
}

function spokenList(names: readonly string[]): string {
  return names.length === 2 ? names.join(" and ") : enumerate(names);
}

/** "name role" for every role word of a text and the word before it, unless that is a role too. */
function namedRoles(text: string, roles: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  let last: string | undefined;
  for (const word of words(text.toLowerCase().replace(/[.,()]/g, " "))) {
    if (SKIPPED.has(word)) continue;
    if (!roles.has(word)) last = word;
    else if (last !== undefined) {
      found.add(`${last} ${word}`);
      last = undefined;
    }
  }
  return found;
}

const SKIPPED = new Set(["is", "a", "an", "and"]);

/**
 * The statements of knights_knaves, as nested lists: ["telling-truth", i], ["lying", i], ["not",
 * s], ["and", s, …], ["or", s, …], ["->", s, s], ["<=>", s, s]. People are numbered from 0. This
 * file draws statements, evaluates them, phrases them, and searches for all roles that fit.
 */

type Operator = "not" | "and" | "or" | "->" | "<=>";
export type Statement = ["telling-truth" | "lying", number] | [Operator, ...Statement[]];

/**
 * Maximum number of atoms of a statement, approximately. Beyond it, only required parts are added,
 * as atoms.
 */
const MAX_ATOMS = 200;
const OPERATORS: readonly Operator[] = ["not", "and", "or", "->", "<=>"];

/** A statement nested at most `depth` deep. Speakers never call themselves liars. */
function drawStatement(
  random: RandomStream,
  speaker: number,
  people: number,
  depth: number,
  width: number,
): Statement {
  let atoms = 0;
  return draw(depth);

  function draw(levels: number): Statement {
    const operator = random.below(6) - 1;
    if (levels === 1 || operator === -1 || atoms >= MAX_ATOMS) return drawAtom();
    const name = OPERATORS[operator]!;
    const count = name === "not" ? 1 : operator >= 3 ? 2 : random.int(2, Math.max(2, width));
    const parts: Statement[] = [];
    for (let i = 0; i < count && (i < 2 || atoms < MAX_ATOMS); i++) {
      let part = draw(levels - 1);
      for (let tries = 0; tries < 8 && parts.some((other) => isSameAtom(other, part)); tries++) {
        part = draw(levels - 1);
      }
      parts.push(part);
    }
    return [name, ...parts];
  }

  function drawAtom(): Statement {
    atoms++;
    const about = random.below(people);
    return [about !== speaker && random.chance(0.5) ? "lying" : "telling-truth", about];
  }
}

function isSameAtom(a: Statement, b: Statement): boolean {
  return a[0] === b[0] && a[1] === b[1] && typeof a[1] === "number";
}

/** Whether a statement is true; undefined when that depends on people with unknown roles. */
export function holds(
  statement: Statement,
  isKnight: readonly (boolean | undefined)[],
): boolean | undefined {
  // No destructuring, because the generator spends most of its time here.
  switch (statement[0]) {
    case "telling-truth":
      return isKnight[statement[1] as number];
    case "lying":
      return negated(isKnight[statement[1] as number]);
    case "not":
      return negated(holds(statement[1] as Statement, isKnight));
    case "and":
      return all(statement, isKnight, true);
    case "or":
      return negated(all(statement, isKnight, false));
    case "->": {
      const condition = holds(statement[1] as Statement, isKnight);
      if (condition === false) return true;
      const result = holds(statement[2]!, isKnight);
      return result === true ? true : condition === undefined ? undefined : result;
    }
    case "<=>": {
      const left = holds(statement[1] as Statement, isKnight);
      const right = holds(statement[2]!, isKnight);
      return left === undefined || right === undefined ? undefined : left === right;
    }
  }
}

/** Whether every part of a statement has the wanted truth. */
function all(
  statement: Statement,
  isKnight: readonly (boolean | undefined)[],
  wanted: boolean,
): boolean | undefined {
  let known = true;
  for (let i = 1; i < statement.length; i++) {
    const truth = holds(statement[i] as Statement, isKnight);
    if (truth === !wanted) return false;
    if (truth === undefined) known = false;
  }
  return known ? true : undefined;
}

function negated(truth: boolean | undefined): boolean | undefined {
  return truth === undefined ? undefined : !truth;
}

/** Maximum number of branches when searching; a puzzle that needs more is drawn again. */
const MAX_BRANCHES = 500;

/** Whether exactly one assignment of roles makes the knights' statements, and no others, true. */
export function hasOneSolution(statements: readonly Statement[]): boolean {
  let branches = 0;
  return count(Array.from(statements, () => undefined)) === 1;

  /** The number of solutions with these roles; 2 for more, or when the search is cut off. */
  function count(isKnight: (boolean | undefined)[]): number {
    for (let changed = true; changed;) {
      changed = false;
      for (let i = 0; i < statements.length; i++) {
        const truth = holds(statements[i]!, isKnight);
        if (truth === undefined || truth === isKnight[i]) continue;
        if (isKnight[i] !== undefined) return 0;
        isKnight[i] = truth;
        changed = true;
      }
    }
    const open = isKnight.indexOf(undefined);
    if (open === -1) return 1;
    if (++branches > MAX_BRANCHES) return 2;
    const other = isKnight.slice();
    isKnight[open] = true;
    other[open] = false;
    const found = count(isKnight);
    return found === 2 ? 2 : Math.min(2, found + count(other));
  }
}

/** Phrases a statement. Parts that are not atoms are put in parentheses. */
function phrase(
  statement: Statement,
  names: readonly string[],
  aKnight: string,
  aKnave: string,
): string {
  const [operator, ...parts] = statement;
  if (operator === "telling-truth") return `${names[statement[1]]} is ${aKnight}`;
  if (operator === "lying") return `${names[statement[1]]} is ${aKnave}`;
  const inner = (parts as Statement[]).map((part) => {
    const text = phrase(part, names, aKnight, aKnave);
    return typeof part[1] === "number" ? text : `(${text})`;
  });
  switch (operator) {
    case "not":
      return `it is not the case that ${inner[0]}`;
    case "->":
      return `if ${inner[0]} then ${inner[1]}`;
    case "<=>":
      return inner.join(" if and only if ");
    default:
      return inner.join(` ${operator} `);
  }
}
