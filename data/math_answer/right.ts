/** Whether an answer that was found in a completion is right. */
import { isCopied } from "./copied.ts";
import { sameAnswer } from "./equal.ts";
import { readings } from "./find.ts";

/**
 * @param answer may hold several boxes that stand together
 * @param question where it speaks of degrees or of percent, an answer may add that unit; an answer
 *   that only repeats one of its formulas is wrong
 */
export function isRight(answer: string, gold: string, question = ""): boolean {
  return readings(answer).some((reading) =>
    sameAnswer(reading, gold, question) && !isCopied(reading, gold, question)
  );
}
