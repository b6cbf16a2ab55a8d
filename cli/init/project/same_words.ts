/**
 * A reward: how many words the completion and the right answer have in common, from 0 to 1 (F1). It
 * is 1 for the same words. It fits answers that are plain text, without <answer> tags.
 */
export default function sameWords({ completion, answer }: {
  completion: string;
  answer: string | null;
}): number {
  const written = wordsOf(completion), right = wordsOf(answer ?? ""), left = [...right];
  const common = written.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }).length;
  return common === 0 ? 0 : 2 * common / (written.length + right.length);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
