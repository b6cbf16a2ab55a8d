/**
 * A small rewriting system. When the hash signs of two neighbouring tokens face each other, the
 * tokens either swap places or vanish. The result does not depend on the order of the steps.
 * Therefore a program is computed by adding its tokens from the right, one after another, which
 * takes as many steps as always rewriting the leftmost pair.
 */
import { defineTask, int, type RandomStream } from "../../../define.ts";

const TOKENS = ["A#", "B#", "#A", "#B"] as const;
const MAX_STEPS = 100;
/**
 * Maximum number of draws. Three of five programs of 100 tokens end within the steps, but hardly
 * any of 200 tokens; in that case a longer one is used.
 */
const MAX_DRAWS = 100;

export default defineTask({
  description: "Compute a program of the rewriting system A::B.",
  scoring: "1 when equal, else 0.",
  params: { length: int(10, "tokens of the program", { min: 1, levels: [10, 25, 50, 100] }) },
  generate(random, { length }) {
    const { program, result } = drawProgram(random, length);
    return {
      question:
        "A program is a sequence of the four tokens A#, B#, #A and #B. Whenever two neighbouring " +
        "tokens have their # sides facing each other, they are rewritten:\n" +
        "A# #A becomes nothing\nB# #B becomes nothing\n" +
        "A# #B becomes #B A#\nB# #A becomes #A B#\n" +
        "This goes on until no rule applies. Compute this program:\n" +
        `${program.join(" ")}\nAnswer with the tokens that remain, separated by single spaces, ` +
        "or with nothing when none remain.",
      answer: result.join(" "),
      metadata: {},
    };
  },
  score(answer, entry) {
    return answer === entry.answer ? 1 : 0;
  },
  acceptsBlank: true,
});

/** A program that needs at most {@link MAX_STEPS} steps, unless none of {@link MAX_DRAWS} does. */
function drawProgram(
  random: RandomStream,
  length: number,
): { program: string[]; result: string[] } {
  for (let draw = 1;; draw++) {
    const program: string[] = [];
    for (let i = 0; i < length; i++) program.push(TOKENS[random.below(4)]!);
    const { steps, result } = compute(program);
    if (steps <= MAX_STEPS || draw === MAX_DRAWS) return { program, result };
  }
}

/** Computes the final tokens of a program and the number of steps. */
function compute(program: readonly string[]): { result: string[]; steps: number } {
  const left: string[] = [], right: string[] = [];
  let steps = 0;
  for (const token of program) {
    if (token[1] === "#") {
      right.push(token);
      continue;
    }
    let at = right.length - 1;
    while (at >= 0 && right[at]![0] !== token[1]) at--;
    steps += at < 0 ? right.length : right.length - at;
    if (at < 0) left.push(token);
    else right.splice(at, 1);
  }
  return { result: [...left, ...right], steps };
}
