/**
 * Answers that are far longer than the right one in any notation are worth nothing and are not read, so that
 * endless ones cost nothing.
 */
export function isOverlong(answer: string, oracle: string): boolean {
  return answer.length > 20 * oracle.length + 1000;
}
