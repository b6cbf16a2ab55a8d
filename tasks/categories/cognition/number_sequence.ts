/** The next term of a sequence in which a few arithmetic steps lead from each term to the next. */
import { counts, defineTask, exactScore, int, type RandomStream } from "../../define.ts";

interface Step {
  text: string;
  apply(value: number, previous: number): number;
}

/** Maximum absolute value of a term. */
const MAX_TERM = 1000;
/** Maximum number of rules that are drawn for a sequence. After that, the even numbers are used. */
const MAX_TRIES = 50;

export default defineTask({
  description: "Continue a sequence of numbers.",
  ...exactScore("the number"),
  params: {
    terms: counts([4, 8], "terms shown", { min: 4, max: 1000, spans: [4, 8, 12, 16] }),
    min_value: int(-100, "has no effect, as in the original", {
      levels: [-100, -500, -1000, -10000],
    }),
    max_value: int(100, "has no effect, as in the original", { levels: [100, 500, 1000, 10000] }),
    max_complexity: int(3, "a rule has at most this many steps and one", {
      min: 1,
      max: 100,
      levels: [2, 3, 4, 5],
    }),
  },
  rules: {
    "min_value: must be below max_value": ({ min_value, max_value }) => min_value < max_value,
  },
  generate(random, config) {
    const complexity = random.int(1, config.max_complexity);
    const terms = random.int(config.min_terms, config.max_terms);
    const { sequence, rule } = drawSequence(random, complexity, terms + 1);
    return {
      question:
        "In this sequence each term is made from the term before it by the same rule: one or " +
        "more steps in a fixed order, each of which adds a constant, multiplies by a constant, " +
        "squares, doubles, halves and rounds down, or adds the term before that one (0 for the " +
        `first term).\n${sequence.slice(0, -1).join(", ")}, ?\n` +
        "Which number comes next? Answer with the number only.",
      answer: String(sequence.at(-1)),
      metadata: { rule, complexity, sequence },
      difficulty: {
        max_complexity: config.max_complexity,
        terms: [config.min_terms, config.max_terms],
      },
    };
  },
});

function drawSequence(random: RandomStream, complexity: number, length: number) {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const steps = Array.from({ length: random.int(1, complexity + 1) }, () => drawStep(random));
    const sequence = follow(steps, random.int(-10, 10), length);
    if (sequence === null || !isInteresting(sequence, complexity)) continue;
    return { sequence, rule: steps.map((step) => step.text).join(" then ") };
  }
  const start = 2 * random.int(-5, 5);
  return { sequence: Array.from({ length }, (_, i) => start + 2 * i), rule: "add 2" };
}

function drawStep(random: RandomStream): Step {
  const constant = () => random.int(1, 10) * (random.chance(0.5) ? 1 : -1);
  switch (random.below(6)) {
    case 0: {
      const c = constant();
      return { text: `add ${c}`, apply: (x) => x + c };
    }
    case 1: {
      const c = constant();
      return { text: `multiply by ${c}`, apply: (x) => x * c };
    }
    case 2:
      return { text: "square", apply: (x) => x * x };
    case 3:
      return { text: "double", apply: (x) => 2 * x };
    case 4:
      return { text: "halve", apply: (x) => Math.floor(x / 2) };
    default:
      return { text: "add previous term", apply: (x, previous) => x + previous };
  }
}

/** The terms from the start on; null when one is too large. */
function follow(steps: readonly Step[], start: number, length: number): number[] | null {
  const sequence = [start];
  let previous = 0;
  while (sequence.length < length) {
    const last = sequence.at(-1)!;
    // Adding 0 turns a negative zero into 0.
    const next = steps.reduce((value, step) => step.apply(value, previous), last) + 0;
    if (!(Math.abs(next) <= MAX_TERM)) return null;
    previous = last;
    sequence.push(next);
  }
  return sequence;
}

function isInteresting(sequence: readonly number[], complexity: number): boolean {
  const step = sequence[1]! - sequence[0]!;
  const arithmetic = sequence.every((x, i) => i === 0 || x - sequence[i - 1]! === step);
  return !arithmetic || (complexity === 1 && step !== 0);
}
