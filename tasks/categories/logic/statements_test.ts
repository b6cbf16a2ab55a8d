/**
 * Solves aiw, knights_knaves, self_reference and syllogism again from the text of their questions.
 */
import assert from "node:assert/strict";
import { readGoldenLines } from "../../../tests/golden.ts";
import { entriesOf } from "../../testing.ts";
import type { Entry } from "../../types.ts";
import { hasOneSolution, holds, type Statement } from "./knights_knaves.ts";

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
