/** Grade-school word problems from templates, with worked solutions. */
import { defineTask, float, type RandomStream } from "../../define.ts";
import { type Decimal, equalDecimals, parseDecimal } from "../../python/decimals.ts";
import { counting } from "./word_problems/counting.ts";
import { farm } from "./word_problems/farm.ts";
import { groups } from "./word_problems/groups.ts";
import { kitchen } from "./word_problems/kitchen.ts";
import { measures } from "./word_problems/measures.ts";
import { money } from "./word_problems/money.ts";
import { puzzles } from "./word_problems/puzzles.ts";
import { rates } from "./word_problems/rates.ts";
import { school } from "./word_problems/school.ts";
import { sport } from "./word_problems/sport.ts";
import type { Template, WordProblem } from "./word_problems/template.ts";
import { travel } from "./word_problems/travel.ts";
import { work } from "./word_problems/work.ts";

export default defineTask({
  description: "Solve a grade-school word problem.",
  scoring:
    "The first number of the answer (sign and thousands commas understood): 1 when right, 0.01 " +
    "when it is another number; no number 0.",
  params: { difficulty: float(1, "only 1.0 exists", { min: 1, max: 1 }) },
  generate(random, config) {
    const { question, steps, answer, variables } = random.choice(templates)(random);
    return {
      question: `${question} Answer with the number only.`,
      answer: String(answer),
      metadata: {
        answer_value: answer,
        answer_cot: `${steps.join("\n")}\n#### ${answer}`,
        variables,
      },
      difficulty: config.difficulty,
    };
  },
  score(answer, entry) {
    const given = firstNumber(answer), oracle = firstNumber(entry.answer ?? "");
    if (given === null) return 0;
    return oracle !== null && equalDecimals(given, oracle) ? 1 : 0.01;
  },
});

/**
 * Matches a number that is not part of a word (as in "x33" and "12a"). A sign belongs to it unless
 * it follows a letter, digit or dot ("5-70" is a range).
 */
const NUMBER = new RegExp(
  /(?:(?<![\w.])[-+−])?(?<!\w)(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)?(?!\w)/.source +
    /|(?<!\w)\.\d+(?!\w)/.source,
);

function firstNumber(text: string): Decimal | null {
  const match = NUMBER.exec(text.slice(0, 10_000));
  return match === null ? null : parseDecimal(match[0].replaceAll(",", "").replace("−", "-"));
}

/**
 * All word problem templates. A new template goes into one of these files, or into a new file that
 * is listed here.
 */
export const templates = [
  money,
  rates,
  groups,
  measures,
  puzzles,
  farm,
  school,
  sport,
  travel,
  kitchen,
  counting,
  work,
].flatMap((topic) => Object.values(topic).map(redrawn));

/** Draws until a template allows the numbers. */
function redrawn(template: Template): (random: RandomStream) => WordProblem {
  return (random) => {
    for (;;) {
      const problem = template(random);
      if (problem !== null) return problem;
    }
  };
}
