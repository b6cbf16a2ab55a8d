/** Solves the questions of the tasks on logic again from their text, by trying everything. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";
import { assertFast } from "../../../core/time_limit_testing.ts";
import { RandomStream } from "../../../core/philox.ts";
import { scoreAnswer, scoreTaskAnswer } from "../../registry.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import type { Entry } from "../../types.ts";
import { hasOneSolution, holds, type Statement } from "./knights_knaves.ts";

/** The output of a gate, given by its sign in the legend. */
function gateOutput(sign: string, inputs: boolean[]): boolean {
  if (sign === "&") return !inputs.includes(false);
  if (sign === "↑") return inputs.includes(false);
  if (sign === "+") return inputs.includes(true);
  if (sign === "↓") return !inputs.includes(true);
  assert.equal(sign, "⊕");
  return inputs.reduce((odd, input) => odd !== input, false);
}

/**
 * The output of a drawing. Each gate is a run of rows that ends in its sign; blank rows separate
 * gates.
 */
function outputOf(question: string): boolean {
  const values = new Map(
    [...question.matchAll(/\b([A-Z]+) = ([01])/g)].map(([, name, digit]) => [name!, digit === "1"]),
  );
  const [header, , ...rows] = question.split("\n\n")[1]!.split("\n") as [
    string,
    string,
    ...string[],
  ];
  const nameAt = new Map(
    [...header.matchAll(/[A-Z]+/g)].map(({ 0: name, index }) => [index, name]),
  );
  assert.equal(nameAt.size, values.size);
  const outputs: boolean[] = [];
  let sign = "", inputs: boolean[] = [], finalSign = "", ends = 0, wired = 0;
  for (const row of [...rows, ""]) {
    const body = /^([│●┼─> o]*?)(?:(──>o─|─────)│([&↑⊕])( *|───))?(?:│([&↑⊕+↓])(─── OUT)?)?$/
      .exec(row);
    assert.ok(body, row);
    const [, wires, lead, inputSign, link, last, out] = body;
    if (last !== undefined) {
      assert.ok(finalSign === "" || finalSign === last);
      finalSign = last;
    }
    ends += out === undefined ? 0 : 1;
    if (inputSign === undefined) {
      assert.ok(inputs.length > 0 && wired === 1, "a gate with one output ends here");
      outputs.push(gateOutput(sign, inputs));
      inputs = [];
      wired = 0;
      continue;
    }
    assert.ok(inputs.length === 0 || sign === inputSign, row);
    sign = inputSign;
    wired += link === "───" ? 1 : 0;
    const tap = wires!.indexOf("●");
    assert.ok(tap !== -1 && tap === wires!.lastIndexOf("●"));
    assert.ok(!wires!.slice(tap + 1).includes("│") && !wires!.slice(0, tap).includes("─"), row);
    inputs.push(values.get(nameAt.get(tap)!)! !== (lead === "──>o─"));
  }
  assert.equal(ends, 1);
  return gateOutput(finalSign, outputs);
}

Deno.test("circuit_logic: the circuit as drawn gives the answer", () => {
  const configs = [
    { seed: 1, size: 150 },
    { seed: 2, size: 40, min_terms: 1, max_terms: 2, min_inputs: 1, max_inputs: 2, neg_prob: 1 },
    { seed: 3, size: 20, min_terms: 5, max_terms: 10, max_inputs: 6, allow_reuse: false },
  ];
  for (const { question, answer } of entriesOf("circuit_logic", configs)) {
    assert.equal(answer, outputOf(question) ? "1" : "0", question);
  }
});

Deno.test("circuit_logic: without reuse each input has one gate; after Z comes AA", () => {
  const config = { seed: 1, size: 20, min_terms: 10, max_terms: 10, allow_reuse: false };
  for (const { metadata } of createDataset("circuit_logic", { ...config, min_inputs: 4 })) {
    const inputs = metadata["inputs"] as string[];
    assert.equal(inputs.length, 40);
    assert.deepEqual(inputs.slice(24, 29), ["Y", "Z", "AA", "AB", "AC"]);
    const used = (metadata["expression"] as string).match(/[A-Z]+/g)!;
    assert.deepEqual(used, inputs);
  }
});

Deno.test("G22: gates with one input are never NAND, and the legend has every gate once", () => {
  const config = { seed: 1, size: 300, min_inputs: 1, max_inputs: 1 };
  for (const { question, metadata } of createDataset("circuit_logic", config)) {
    const legend = [...question.matchAll(/ is (AND|NAND|XOR|OR|NOR): /g)].map((match) => match[1]);
    assert.equal(new Set(legend).size, legend.length);
    assert.ok(legend.includes(metadata["final_gate"] as string));
    assert.ok(!legend.includes("NAND"));
  }
});

const OPERATORS: [string, (a: boolean, b: boolean) => boolean][] = [
  ["↔", (a, b) => a === b],
  ["→", (a, b) => !a || b],
  ["∨", (a, b) => a || b],
  ["∧", (a, b) => a && b],
];

/** The truth of a formula, by recursive descent from the weakest operator to the strongest. */
function truth(formula: string, at: Record<string, boolean>): boolean {
  const tokens = [...formula.replace(/\s/g, "")];
  const value = level(0);
  assert.deepEqual(tokens, []);
  return value;

  function level(depth: number): boolean {
    const operator = OPERATORS[depth];
    if (operator === undefined) return operand();
    let left = level(depth + 1);
    while (tokens[0] === operator[0]) {
      tokens.shift();
      left = operator[1](left, level(depth + 1));
    }
    return left;
  }

  function operand(): boolean {
    const token = tokens.shift()!;
    if (token === "¬") return !operand();
    if (token !== "(") return at[token]!;
    const inner = level(0);
    assert.equal(tokens.shift(), ")");
    return inner;
  }
}

function assignments(names: readonly string[]): Record<string, boolean>[] {
  return Array.from(
    { length: 2 ** names.length },
    (_, bits) => Object.fromEntries(names.map((name, i) => [name, (bits >> i & 1) === 1])),
  );
}

function expectedScore(premises: string[], conclusion: string, names: string[]): number {
  const worlds = assignments(names);
  const possible = worlds.filter((world) => premises.every((premise) => truth(premise, world)));
  if (!possible.every((world) => truth(conclusion, world))) return 0.05;
  const single = /^[A-Z]$/.test(conclusion.replace(/[\s()]/g, ""));
  return single || worlds.every((world) => truth(conclusion, world)) ? 0.25 : 1;
}

function randomFormula(random: RandomStream, names: readonly string[], depth: number): string {
  const form = depth === 0 ? 0 : random.below(7);
  if (form < 2) return random.choice(names);
  if (form === 2) return `¬${randomFormula(random, names, depth - 1)}`;
  const operator = random.choice(OPERATORS)[0];
  const parts = [1, 2].map(() => randomFormula(random, names, depth - 1));
  // Without parentheses, the precedence of the operators matters.
  return form < 5 ? `(${parts.join(` ${operator} `)})` : parts.join(operator);
}

Deno.test("propositional_logic: the example follows from the question's premises", () => {
  const configs = [
    { seed: 1, size: 200 },
    { seed: 2, size: 40, min_vars: 6, max_vars: 8, min_complexity: 3, max_complexity: 5 },
    { seed: 3, size: 40, min_vars: 1, max_vars: 1 },
    { seed: 4, size: 40, max_complexity: 1, max_statements: 10 },
  ];
  for (const entry of entriesOf("propositional_logic", configs)) {
    const { question, metadata } = entry;
    const premises = [...question.matchAll(/^\d+\. (.+)$/gm)].map((match) => match[1]!);
    const names = /variables? ((?:[A-Z], )*[A-Z]),/.exec(question)![1]!.split(", ");
    assert.deepEqual(names, metadata["variables"]);
    const example = metadata["example_answer"] as string;
    assert.equal(expectedScore(premises, example, names), 1, `${question}\n${example}`);
    assert.equal(metadata["complexity"], example.match(/[A-Z¬∧∨→↔]/g)!.length);
    assert.ok(
      assignments(names).some((world) => premises.every((premise) => truth(premise, world))),
      `the premises contradict: ${question}`,
    );
    assert.equal(scoreAnswer(example, entry), 1);
  }
});

Deno.test("propositional_logic: trying every assignment gives the score of any formula", () => {
  const random = RandomStream.forPurpose(1, "shuffle", "formulas");
  const seen = new Set<number>();
  for (const entry of createDataset("propositional_logic", { seed: 5, size: 200, max_vars: 6 })) {
    const { premises, variables } = entry.metadata as { premises: string[]; variables: string[] };
    for (let i = 0; i < 5; i++) {
      const formula = randomFormula(random, variables, 3);
      const expected = expectedScore(premises, formula, variables);
      assert.equal(scoreAnswer(formula, entry), expected, `${premises} ⊢ ${formula}`);
      seen.add(expected);
    }
  }
  assert.deepEqual([...seen].sort(), [0.05, 0.25, 1]);
});

Deno.test("propositional_logic: deep, long and wide answers are scored quickly", () => {
  const names = [..."PQRSTUVWXYZ"];
  const entry = { metadata: { premises: [names.join(" ∧ ")], variables: names } };
  const answers: [string, number][] = [
    ["(".repeat(40_000) + "P ∧ Q" + ")".repeat(40_000), 1],
    ["(".repeat(1_000_000), 0],
    ["¬".repeat(60_000) + "(P ∧ Q)", 1],
    [names.join("∧") + "∧(P".repeat(20_000) + ")".repeat(20_000), 1],
    ["P ∧ ".repeat(250_000) + "P", 0],
  ];
  for (const [answer, score] of answers) {
    // The limit is 50 ms. The test allows more, in case the machine is busy.
    assertFast(500, () => {
      assert.equal(scoreTaskAnswer("propositional_logic", answer, entry), score);
    });
  }
});

/** A circle in which everybody knows everybody: the gender of its owner, and the other people. */
interface Circle {
  ownerIsFemale: boolean;
  males: number;
  females: number;
}

Deno.test("aiw: counting in an explicit list of people gives the answer", () => {
  for (const { question, answer } of entriesOf("aiw", [{}, { max_entities: 16 }])) {
    const circles = [
      ...question.matchAll(/\w+, a (girl|woman|man), has (\d+) (\w+)[^.;]*? and (\d+) (\w+)/g),
    ]
      .map(([, owner, first, firstKind, second]): Circle => {
        const maleFirst = /^(brother|male)/.test(firstKind!);
        const [males, females] = maleFirst ? [first, second] : [second, first];
        return { ownerIsFemale: owner !== "man", males: Number(males), females: Number(females) };
      });
    const groups = circles.map(({ ownerIsFemale, males, females }, circle) => [
      { name: `owner ${circle}`, female: ownerIsFemale },
      ...Array.from({ length: males }, (_, i) => ({ name: `m${circle}.${i}`, female: false })),
      // With two circles, the first woman who is no owner is in both.
      ...Array.from({ length: females }, (_, i) => ({
        name: circles.length === 2 && i === 0 ? "shared" : `f${circle}.${i}`,
        female: true,
      })),
    ]);
    const asked = circles.length === 2 ? "shared" : "m0.0";
    const women = new Set(
      groups.filter((group) => group.some(({ name }) => name === asked)).flat()
        .filter(({ name, female }) => female && name !== asked).map(({ name }) => name),
    );
    assert.equal(String(women.size), answer, question);
  }
});

/** Parses a statement by recursive descent over its words and tells whether it is true. */
function statementHolds(
  text: string,
  isTruthful: ReadonlyMap<string, boolean>,
  good: string,
): boolean {
  const tokens = text.match(/[()]|[\w]+/g)!;
  let at = 0;
  const truth = sentence();
  assert.equal(at, tokens.length, text);
  return truth;

  function sentence(): boolean {
    if (peek("if")) {
      take("if");
      const condition = part();
      take("then");
      const result = part();
      return !condition || result;
    }
    if (peek("it")) {
      take("it is not the case that");
      return !part();
    }
    let truth = part();
    if (peek("if")) {
      take("if and only if");
      return truth === part();
    }
    while (peek("and") || peek("or")) {
      const and = tokens[at++] === "and";
      const next = part();
      truth = and ? truth && next : truth || next;
    }
    return truth;
  }

  function part(): boolean {
    if (peek("(")) {
      take("(");
      const truth = sentence();
      take(")");
      return truth;
    }
    const [name, is, article, role] = tokens.slice(at, at += 4);
    assert.ok(is === "is" && /^an?$/.test(article!), text);
    const truthful = isTruthful.get(name!);
    assert.notEqual(truthful, undefined, text);
    return truthful === (role === good);
  }

  function peek(word: string): boolean {
    return tokens[at]?.toLowerCase() === word;
  }

  function take(words: string): void {
    for (const word of words.split(" ")) assert.equal(tokens[at++]!.toLowerCase(), word, text);
  }
}

Deno.test("knights_knaves: only the roles of the answer fit the statements", () => {
  const configs = [
    { seed: 1 },
    { seed: 2, n_people: 4, depth_constraint: 3, width_constraint: 3 },
    { seed: 3, n_people: 6 },
    { seed: 4, n_people: 1, size: 30 },
    { seed: 5, n_people: 3, depth_constraint: 5, width_constraint: 1, size: 50 },
  ];
  for (const { question, answer } of entriesOf("knights_knaves", configs)) {
    const good = /live only (\w+)s, all of whose statements are true/.exec(question)![1]!;
    const role = good.replace(/oe$/, "o");
    const said = [...question.matchAll(/^(\w+) says: "(.*)\."$/gm)]
      .map(([, name, text]) => ({ name: name!, text: text! }));
    const solutions: string[] = [];
    for (let bits = 0; bits < 2 ** said.length; bits++) {
      const roles = new Map(said.map(({ name }, i) => [name, (bits >> i & 1) === 1]));
      const fits = said.every(({ name, text }) =>
        statementHolds(text, roles, role) === roles.get(name)
      );
      if (fits) solutions.push([...roles].map(([name, is]) => `${name} ${is}`).join());
    }
    const named = [...answer!.matchAll(/(\w+) is an? (\w+)/g)]
      .map(([, name, word]) => `${name} ${word === role}`).join();
    assert.deepEqual(solutions, [named], question);
    assert.match(answer!, /^(\w+ is an? \w+, )*(and )?\w+ is an? \w+\.$/);
  }
});

Deno.test("knights_knaves: the recorded puzzles have one solution, the recorded one", () => {
  const rows = readGoldenLines<{ entry: Entry }>(
    "reasoning-gym/model-answers/knights_knaves.jsonl",
  );
  assert.ok(rows.length > 20);
  for (const { entry: { metadata } } of rows) {
    const statements = metadata["statements"] as Statement[];
    const solution = metadata["solution"] as boolean[];
    assert.deepEqual(statements.map((statement) => holds(statement, solution)), solution);
    assert.ok(hasOneSolution(statements), JSON.stringify(statements));
  }
});

/** Whether a statement of self_reference is true for an assignment of truth values. */
function holdsFor(text: string, declared: readonly boolean[]): boolean {
  const trueOnes = declared.filter(Boolean).length, falseOnes = declared.length - trueOnes;
  const counted = /^(At least|At most|Exactly) (\d+) of the seven statements (?:is|are) (\w+)$/
    .exec(text);
  if (counted) {
    const count = counted[3] === "true" ? trueOnes : falseOnes, limit = Number(counted[2]);
    if (counted[1] === "At least") return count >= limit;
    return counted[1] === "At most" ? count <= limit : count === limit;
  }
  const one = /^Exactly one of the statements (\d) and (\d) is true$/.exec(text);
  if (one) return declared[Number(one[1]) - 1] !== declared[Number(one[2]) - 1];
  const kind = /^The number of (\w+) statements is a (prime|composite) number$/.exec(text)!;
  const count = kind[1] === "true" ? trueOnes : falseOnes;
  const divisors = Array.from({ length: count }, (_, i) => i + 1).filter((d) => count % d === 0);
  return kind[2] === "prime" ? divisors.length === 2 : divisors.length > 2;
}

Deno.test("self_reference: all 128 declarations are tried", () => {
  for (const { question, answer } of entriesOf("self_reference", [{ size: 160 }])) {
    const said = [...question.matchAll(/^\d\. (.*)\.$/gm)].map((match) => match[1]!);
    assert.equal(said.length, 7);
    let ways = 0;
    for (let bits = 0; bits < 128; bits++) {
      const declared = said.map((_, i) => (bits >> i & 1) === 1);
      if (said.every((text, i) => holdsFor(text, declared) === declared[i])) ways++;
    }
    assert.equal(String(ways), answer, question);
    assert.ok(ways > 0);
  }
});

Deno.test("self_reference is varied: numbers, their combinations and answers", () => {
  const all = entriesOf("self_reference", [{ size: 1000 }]);
  const numbers = all.map(({ question }) => question.match(/(?<=[tly] )\d(?= of)/g)!);
  const distinct = new Set(numbers.map(String)).size;
  assert.ok(distinct > 800, `${distinct} of 1000 combinations of numbers`);
  for (let place = 0; place < 4; place++) {
    for (let number = 0; number <= 7; number++) {
      const share = numbers.filter((four) => four[place] === String(number)).length / 1000;
      assert.ok(share > 0.05 && share < 0.25, `${number} is in ${share} at place ${place}`);
    }
  }
  assert.ok(new Set(all.map(({ answer }) => answer)).size >= 5);
});

/**
 * Which terms of a sentence are distributed, and whether it is negative (traditional syllogistic).
 */
function readSentence(text: string) {
  const [, quantifier, subject, not, predicate] = /^(All|No|Some) (\w+) are (not )?(\w+)$/.exec(
    text,
  )!;
  const negative = quantifier === "No" || not !== undefined;
  const whole = [...(quantifier === "Some" ? [] : [subject!]), ...(negative ? [predicate!] : [])];
  return { quantifier, subject: subject!, predicate: predicate!, negative, whole };
}

Deno.test("syllogism: the rules of distribution and conversion agree", () => {
  const configs = [
    { seed: 1, size: 300 },
    { seed: 2, invalid_ratio: 0.9, inversion_probability: 0.6 },
    { seed: 3, allow_some: false, allow_some_not: false },
    { seed: 4, allow_no: false, allow_some: false, allow_some_not: false, size: 30 },
  ];
  for (const { question, answer, metadata } of entriesOf("syllogism", configs)) {
    const [first, second, conclusion] = question
      .match(/(?:All|No|Some) \w+ are (?:not )?\w+(?=[.?]\n)/g)!.map(readSentence);
    let follows: boolean;
    if (metadata["type"] === "inversion") {
      const source = metadata["selected_premise"] === 1 ? first! : second!;
      assert.deepEqual(
        [conclusion!.subject, conclusion!.predicate],
        [source.predicate, source.subject],
      );
      follows = source.negative === conclusion!.negative &&
        conclusion!.whole.every((term) => source.whole.includes(term));
    } else {
      assert.equal(first!.predicate, second!.subject);
      const negatives = Number(first!.negative) + Number(second!.negative);
      const whole = [...first!.whole, ...second!.whole];
      follows = whole.includes(first!.predicate) && negatives === Number(conclusion!.negative) &&
        conclusion!.whole.every((term) => whole.includes(term));
    }
    assert.equal(answer, follows ? "Yes" : "No", question);
    assert.equal(metadata["is_valid"], follows);
  }
});

interface Puzzle {
  houses: number;
  /** The values of each category; the names come first. */
  lists: string[][];
  labels: string[];
  clues: { text: string; kind: string; values: string[]; house: number }[];
  asked: number;
}

function read(question: string): Puzzle {
  const houses = Number(question.split(" ")[0]);
  const lines = [...question.matchAll(/^([a-z ]+): (.+)$/gm)];
  const lists = lines.map((match) => match[2]!.split(", "));
  const words = lists.flat();
  const clues = [...question.matchAll(/^\d+\. (.+)\.$/gm)].map(([, text]) => {
    const place = / lives in house (\d+)$/.exec(text!);
    const kind = place
      ? "at"
      : / lives directly to the left of /.test(text!)
      ? "left"
      : / live next to each other$/.test(text!)
      ? "beside"
      : "same";
    const values = words
      .map((word) => ({ word, at: text!.search(new RegExp(`\\b${word}\\b`, "i")) }))
      .filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at).map(({ word }) => word);
    assert.equal(values.length, kind === "at" ? 1 : 2, `${text}: ${values}`);
    return { text: text!, kind, values, house: Number(place?.[1] ?? 0) };
  });
  const asked = Number(/the person in house (\d+)\?/.exec(question)![1]);
  return { houses, lists, labels: lines.map((match) => match[1]!), clues, asked };
}

function permutations(items: readonly string[]): string[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest])
  );
}

/**
 * The names in the asked house for all arrangements that fit, adding one category after another.
 */
function solve({ houses, lists, clues, asked }: Puzzle): string[] {
  let partial: Map<string, number>[] = [new Map()];
  const placed = new Set<string>();
  for (const list of lists) {
    list.forEach((value) => placed.add(value));
    const checkable = clues.filter(({ values }) =>
      values.every((value) => placed.has(value)) && values.some((value) => list.includes(value))
    );
    const orders = permutations(list);
    partial = partial.flatMap((before) =>
      orders.map((order) => new Map([...before, ...order.map((v, i) => [v, i + 1] as const)]))
        .filter((houseOf) =>
          checkable.every(({ kind, values, house }) => {
            const a = houseOf.get(values[0]!)!, b = houseOf.get(values[1]!)!;
            if (kind === "at") return a === house;
            if (kind === "same") return a === b;
            return kind === "left" ? a + 1 === b : Math.abs(a - b) === 1;
          })
        )
    );
  }
  assert.equal(partial.length, 1, "exactly one arrangement fits");
  assert.ok(asked >= 1 && asked <= houses);
  return partial.map((houseOf) => lists[0]!.find((name) => houseOf.get(name) === asked)!);
}

Deno.test("zebra_puzzles: exactly one arrangement fits the clues, with the answer", () => {
  const configs = [
    { seed: 1, size: 30 },
    { seed: 2, size: 40, num_people: 3, num_characteristics: 5 },
    { seed: 3, size: 40, num_people: 2, num_characteristics: 2 },
    { seed: 4, size: 30, num_people: 2, num_characteristics: 7 },
    { seed: 5, size: 3, num_people: 5, num_characteristics: 3 },
  ];
  for (const { question, answer } of entriesOf("zebra_puzzles", configs)) {
    assert.deepEqual(solve(read(question)), [answer], question);
  }
});

Deno.test("zebra_puzzles: every clue is needed, none names the asked person directly", () => {
  for (const { question, answer } of entriesOf("zebra_puzzles", [{ size: 15, num_people: 3 }])) {
    const puzzle = read(question);
    puzzle.clues.forEach((left, i) => {
      const clues = puzzle.clues.filter((_, j) => j !== i);
      assert.throws(
        () => solve({ ...puzzle, clues }),
        /exactly one/,
        `${question}\n${left.text}`,
      );
      assert.ok(left.kind !== "at" || left.values[0] !== answer);
    });
  }
});

Deno.test("zebra_puzzles vary: houses, names, categories, kinds and number of clues", () => {
  const puzzles = entriesOf("zebra_puzzles", [{ size: 400 }]).map(({ question, answer }) => ({
    ...read(question),
    answer: answer!,
  }));
  const share = (is: (puzzle: typeof puzzles[number]) => boolean) =>
    puzzles.filter(is).length / puzzles.length;
  for (let house = 1; house <= 4; house++) {
    const asked = share((puzzle) => puzzle.asked === house);
    assert.ok(asked > 0.15 && asked < 0.35, `house ${house} is asked in ${asked}`);
    const listed = share(({ lists, answer }) => lists[0]![house - 1] === answer);
    assert.ok(listed > 0.15 && listed < 0.35, `the answer is name ${house} in ${listed}`);
  }
  const labels = new Set(puzzles.flatMap((puzzle) => puzzle.labels.slice(1)));
  assert.equal(labels.size, 10);
  for (const label of labels) {
    assert.ok(share(({ labels }) => labels.includes(label)) > 0.2, label);
  }
  assert.ok(new Set(puzzles.map(({ answer }) => answer)).size >= 25);
  const clues = puzzles.flatMap((puzzle) => puzzle.clues);
  for (const kind of ["at", "same", "left", "beside"]) {
    const part = clues.filter((clue) => clue.kind === kind).length / clues.length;
    assert.ok(part > 0.05 && part < 0.7, `${kind} is ${part} of all clues`);
  }
  assert.ok(new Set(clues.map(({ text }) => text)).size > 0.8 * clues.length);
  const counts = puzzles.map((puzzle) => puzzle.clues.length).sort((a, b) => a - b);
  assert.ok(counts[40]! < counts[360]!, "the number of clues varies");
  assert.ok(
    counts[200]! >= 7 && counts[200]! <= 13,
    `the median puzzle has ${counts[200]} clues`,
  );
});
