/**
 * A reward: 1 for a completion that answers in few words, falling to 0 at twice as many. Change it,
 * and change short_answer_cases.jsonl with it:
 *
 *     rgx rewards test rewards/short_answer.ts
 */
interface Input {
  /** What the model wrote. */
  completion: string;
  /** The right answer of the problem, or null. */
  answer: string | null;
  /** Writes a number to the metrics of the step. */
  log(name: string, value: number): void;
}

export default function shortAnswer({ completion, log }: Input, params: { words?: number }) {
  const { words = 8 } = params;
  const found = completion.trim().split(/\s+/).filter((word) => word !== "").length;
  if (found === 0) return 0;
  log("words", found);
  return Math.max(0, Math.min(1, 2 - found / words));
}
