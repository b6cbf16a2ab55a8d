/**
 * Does a conclusion follow from two premises about three kinds of beings? This is decided by
 * meaning, not by form: over all worlds in which each kind has a member.
 */
import { bool, defineTask, exactScore, float, levels } from "../../define.ts";
import { wordList } from "../../text/lists.ts";
import { once } from "../../once.ts";

const QUANTIFIERS = ["All", "No", "Some", "Some … not"] as const;
type Quantifier = typeof QUANTIFIERS[number];

/** Kinds are numbered: 0 (only in premise 1), 1 (in both), 2 (only in premise 2). */
interface Sentence {
  quantifier: Quantifier;
  subject: number;
  predicate: number;
}

interface Argument {
  premises: [Sentence, Sentence];
  conclusion: Sentence;
  isValid: boolean;
}

export default defineTask({
  description: "Decide whether a conclusion follows from two premises.",
  ...exactScore("the right word"),
  params: {
    allow_all: bool(true, 'whether "All … are …" occurs'),
    allow_no: bool(true, 'whether "No … are …" occurs'),
    allow_some: bool(true, 'whether "Some … are …" occurs'),
    allow_some_not: bool(true, 'whether "Some … are not …" occurs'),
    invalid_ratio: float(0.3, "share of conclusions that do not follow", { min: 0, max: 1 }),
    inversion_probability: float(0.3, "probability that the conclusion turns one premise around", {
      min: 0,
      max: 1,
    }),
  },
  curriculum: {
    allow_all: levels([true, true, true, true], "the parameter allow_all"),
    allow_no: levels([false, true, true, true], "the parameter allow_no"),
    allow_some: levels([false, false, true, true], "the parameter allow_some"),
    allow_some_not: levels([false, false, false, true], "the parameter allow_some_not"),
  },
  rules: {
    "allow_all: one of allow_all, allow_no, allow_some, allow_some_not must be true": (c) =>
      c.allow_all || c.allow_no || c.allow_some || c.allow_some_not,
  },
  generate(random, config) {
    const { allow_all, allow_no, allow_some, allow_some_not } = config;
    const allowed = [allow_all, allow_no, allow_some, allow_some_not];
    const quantifiers = QUANTIFIERS.filter((_, i) => allowed[i]);
    const nouns = random.sample(wordList("kinds_of_beings"), 3);
    const turned = random.chance(config.inversion_probability) ? random.int(1, 2) : 0;
    const isValid = !random.chance(config.invalid_ratio);
    const all = argumentsOf(quantifiers, turned);
    const wanted = all.filter((argument) => argument.isValid === isValid);
    // Some sets of quantifiers allow only valid or only invalid arguments.
    const { premises, conclusion, isValid: follows } = random.choice(
      wanted.length > 0 ? wanted : all,
    );
    const [premise1, premise2] = premises.map((sentence) => spell(sentence, nouns));
    const concluded = spell(conclusion, nouns);
    return {
      question: `1. ${premise1}.\n2. ${premise2}.\n` +
        "Take both statements as true, whatever you know of the world, and take it that there " +
        `are some ${nouns[0]}, some ${nouns[1]} and some ${nouns[2]}. Does it follow that\n` +
        `${concluded}?\nAnswer Yes or No.`,
      answer: follows ? "Yes" : "No",
      metadata: {
        premise1,
        premise2,
        ...(turned > 0 && { selected_premise: turned }),
        conclusion: concluded,
        is_valid: follows,
        type: turned > 0 ? "inversion" : "syllogism",
      },
      difficulty: {},
    };
  },
});

function spell({ quantifier, subject, predicate }: Sentence, nouns: readonly string[]): string {
  const [first, not] = quantifier.split(" … ");
  return `${first} ${nouns[subject]} are ${not === undefined ? "" : "not "}${nouns[predicate]}`;
}

/**
 * Every argument with these quantifiers. With `turned` = 0 the conclusion is about kinds 0 and 2.
 * Otherwise it is premise `turned` with its kinds exchanged, where "All" may become "Some".
 */
const argumentsOf = once((quantifiers: readonly Quantifier[], turned: number) => {
  const found: Argument[] = [];
  for (const first of quantifiers) {
    for (const second of quantifiers) {
      const premises: [Sentence, Sentence] = [
        { quantifier: first, subject: 0, predicate: 1 },
        { quantifier: second, subject: 1, predicate: 2 },
      ];
      for (const quantifier of quantifiers) {
        const chosen = premises[turned - 1];
        const weakened = chosen?.quantifier === "All" && quantifier === "Some";
        if (chosen && quantifier !== chosen.quantifier && !weakened) continue;
        const conclusion = chosen === undefined
          ? { quantifier, subject: 0, predicate: 2 }
          : { quantifier, subject: chosen.predicate, predicate: chosen.subject };
        found.push({ premises, conclusion, isValid: follows(premises, conclusion) });
      }
    }
  }
  return found;
});

/**
 * Whether the conclusion holds in every world in which the premises hold and each kind has a
 * member. A being belongs to some of the three kinds (3 bits). A world is the set of combinations
 * that occur (8 bits).
 */
function follows(premises: readonly Sentence[], conclusion: Sentence): boolean {
  for (let world = 0; world < 256; world++) {
    const inhabited = [0, 1, 2].every((kind) => occurs(world, (being) => has(being, kind)));
    if (!inhabited || !premises.every((premise) => isTrue(premise, world))) continue;
    if (!isTrue(conclusion, world)) return false;
  }
  return true;
}

function isTrue({ quantifier, subject, predicate }: Sentence, world: number): boolean {
  const both = occurs(world, (being) => has(being, subject) && has(being, predicate));
  const onlySubject = occurs(world, (being) => has(being, subject) && !has(being, predicate));
  switch (quantifier) {
    case "All":
      return !onlySubject;
    case "No":
      return !both;
    case "Some":
      return both;
    case "Some … not":
      return onlySubject;
  }
}

function occurs(world: number, condition: (being: number) => boolean): boolean {
  for (let being = 0; being < 8; being++) if (world >> being & 1 && condition(being)) return true;
  return false;
}

function has(being: number, kind: number): boolean {
  return (being >> kind & 1) === 1;
}
