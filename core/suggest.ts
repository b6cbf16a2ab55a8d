/**
 * Suggestions for typos: finds the known name that is most similar to a misspelt one, for messages
 * with "did you mean …?". Similarity is the optimal string alignment distance (Damerau–Levenshtein
 * without edits inside a transposed pair). Case is ignored, and `-` equals `_`.
 */

/** Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  const columns = b.length + 1;
  let beforeLast = new Array<number>(columns).fill(0);
  let last = Array.from({ length: columns }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = new Array<number>(columns).fill(0);
    row[0] = i;
    for (let j = 1; j < columns; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, beforeLast[j - 2]! + 1);
      }
      row[j] = best;
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}

/** Whether the edit distance is 1; much faster for one name beside many. */
export function isOneEdit(a: string, b: string): boolean {
  const shorter = Math.min(a.length, b.length);
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  let begin = 0, end = 0;
  while (begin < shorter && a[begin] === b[begin]) begin++;
  while (end < shorter - begin && a.at(-1 - end) === b.at(-1 - end)) end++;
  // The distance is 1 if the rests have one character at most, or two that are swapped.
  const [left, right] = [a, b].map((text) => text.slice(begin, text.length - end));
  const isSwap = left!.length === 2 && right === `${left![1]}${left![0]}`;
  return isSwap || Math.max(left!.length, right!.length) === 1;
}

/**
 * Whether a name is probably meant to be the other: one edit, or, where they begin with the same
 * letter, two edits in a name of six letters and more, or only other case and separators.
 */
export function isNearlySame(a: string, b: string): boolean {
  if (isOneEdit(a, b)) return true;
  if (a[0]?.toLowerCase() !== b[0]?.toLowerCase()) return false;
  const longer = Math.max(a.length, b.length), shorter = Math.min(a.length, b.length);
  if (longer >= 6 && longer - shorter <= 2 && editDistance(a, b) <= 2) return true;
  const [left, right] = [a, b].map((name) => name.toLowerCase().replace(/[-_]/g, ""));
  return left === right;
}

/** Minimum length of a name that is matched as a prefix. Shorter ones fit too many names. */
const MIN_PREFIX_LENGTH = 4;

/** Names for the same thing, in rgx and elsewhere, which are not similar as texts. */
const SYNONYMS: readonly (readonly string[])[] = [
  ["size", "num_examples", "num_samples", "count"],
  ["max_steps", "steps", "num_steps", "total_steps"],
  ["num_train_epochs", "epochs"],
  ["beta", "kl_coef", "kl_beta", "init_kl_coef", "kl_penalty"],
  ["epsilon", "clip_range", "cliprange", "clip_eps"],
  ["samples", "n", "eval_repeats", "completions_per_prompt"],
  ["workers", "max_concurrent"],
];

function synonym(name: string, candidates: readonly string[]): string | null {
  const plain = (text: string) => fold(text).replace(/^_+/, "");
  const group = SYNONYMS.find((names) => names.includes(plain(name))) ?? [];
  return candidates.find((candidate) => group.includes(plain(candidate))) ?? null;
}

/**
 * The candidate that means the same as `name`, or else the most similar one. The distance may be at
 * most a third of the longer name; a distance of 1 is always allowed, if at least one character is
 * the same, and of 2 where the first two characters are. Of equally similar candidates the first is
 * returned. The first candidate that begins with `name`, or that `name` begins with, comes before
 * those with two and more edits. null: there is none.
 */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  const all = [...candidates], same = synonym(name, all);
  if (same !== null) return same;
  const wanted = fold(name);
  let best: string | null = null;
  let bestDistance = Infinity;
  let begun: string | null = null;
  for (const candidate of all) {
    const folded = fold(candidate);
    const longer = Math.max(wanted.length, folded.length);
    const isBeginning = wanted.startsWith(folded) || folded.startsWith(wanted);
    if (isBeginning && Math.min(wanted.length, folded.length) >= MIN_PREFIX_LENGTH) {
      begun ??= candidate;
    }
    const isAlike = longer >= MIN_PREFIX_LENGTH && wanted.slice(0, 2) === folded.slice(0, 2);
    const allowed = Math.max(isAlike ? 2 : 1, Math.floor(longer / 3));
    if (Math.abs(wanted.length - folded.length) > Math.min(allowed, bestDistance)) continue;
    const distance = editDistance(wanted, folded);
    const shares = distance < longer;
    if (shares && distance <= allowed && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return bestDistance > 1 ? begun ?? best : best;
}

/** The end of an error message: ", did you mean x?", or "" when no candidate is similar. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const found = nearest(name, candidates);
  return found === null ? "" : `, did you mean ${found}?`;
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}
