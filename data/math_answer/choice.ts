/** The letter of a choice: the gold (B) may be answered by "B)" or "Option B". */
import { unwrap } from "./reading/clean.ts";
import { TEXT } from "./reading/units.ts";

const GOLD = new RegExp(`^\\s*(?:${TEXT}\\s*\\{\\s*\\(?([A-J])\\)?\\s*\\}|\\(([A-J])\\))\\s*$`);
const COMMAND = new RegExp(`${TEXT}\\s*\\{([^{}]*)\\}`, "g");
const CHOSEN =
  /^\s*(?:(?:the\s+)?(?:correct\s+)?(?:answer|option|choice)(?:\s+is|:)?\s*)?\(?\s*([A-J])\s*[).:]?\s*$/i;
const MAX_LENGTH = 80;

/** Whether an answer is the gold letter; false also where one of them is no choice. */
export function sameChoice(answer: string, gold: string): boolean {
  const wanted = GOLD.exec(gold)?.slice(1).find((letter) => letter !== undefined);
  if (wanted === undefined || answer.length > MAX_LENGTH) return false;
  return CHOSEN.exec(unwrap(answer).replace(COMMAND, "$1"))?.[1] === wanted;
}
