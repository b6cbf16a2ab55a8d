/**
 * Measures of several samples a problem: the unbiased pass@k of Chen et al. (2021, arXiv
 * 2107.03374), and the majority's answer.
 */

/**
 * Unbiased estimate of the chance that one of `k` samples is correct, from `n` with `c` correct.
 */
export function passAtK(n: number, c: number, k: number): number {
  if (!(k >= 1 && k <= n && c >= 0 && c <= n)) {
    throw new RangeError(`passAtK(${n}, ${c}, ${k}) needs 1 ≤ k ≤ n and 0 ≤ c ≤ n`);
  }
  if (n - c < k) return 1;
  let allWrong = 1;
  for (let i = n - c + 1; i <= n; i++) allWrong *= 1 - k / i;
  return 1 - allWrong;
}

/** The values of k that are reported: 1, 2, 4 … below `samples`, and `samples`. */
export function passLevels(samples: number): number[] {
  const levels: number[] = [];
  for (let k = 1; k < samples; k *= 2) levels.push(k);
  return [...levels, samples];
}

/**
 * Index of the first sample with the most frequent answer; −1 when no sample has an answer. Among
 * equally frequent answers the earliest counts.
 * @param same whether two different texts are the same answer; default: they are not
 */
export function majorityIndex(
  answers: readonly (string | null)[],
  same: (answer: string, other: string) => boolean = () => false,
): number {
  const kinds: { votes: number; first: number; text: string }[] = [];
  const known = new Map<string, (typeof kinds)[number]>();
  for (const [i, text] of answers.entries()) {
    if (text === null) continue;
    let kind = known.get(text) ?? kinds.find((other) => same(text, other.text));
    if (kind === undefined) kinds.push(kind = { votes: 0, first: i, text });
    known.set(text, kind);
    kind.votes++;
  }
  const maxVotes = Math.max(0, ...kinds.map(({ votes }) => votes));
  return kinds.find(({ votes }) => votes === maxVotes)?.first ?? -1;
}
