/** What rows of logits say: the likeliest tokens, and the sum that normalises them. */

/** One of the most likely tokens, and its log-probability in nats. */
export interface TopToken {
  /** Its id in the vocabulary. */
  id: number;
  /** Log p, in nats. */
  logprob: number;
}

/** What TRL logs of the logits in the place of a token. */
export interface LogitSummary {
  mean: number;
  /** The likeliest token. */
  top: number;
}

/** Indices of the k largest values, in descending order; of equal ones the lowest is first. */
export function largest(z: ArrayLike<number>, k: number): number[] {
  const best: number[] = [];
  for (let v = 0; v < z.length && k > 0; v++) {
    if (best.length === k && z[v]! <= z[best[k - 1]!]!) continue;
    let at = best.length;
    while (at > 0 && z[best[at - 1]!]! < z[v]!) at--;
    best.splice(at, 0, v);
    if (best.length > k) best.pop();
  }
  return best;
}

/** The entropy in nats of what logits give at temperature 1. @param lse their log Σ exp */
export function entropyOf(z: ArrayLike<number>, lse: number): number {
  let mean = 0;
  for (let v = 0; v < z.length; v++) {
    const p = Math.exp(z[v]! - lse);
    if (p > 0) mean += p * z[v]!;
  }
  return lse - mean;
}

/** log Σ exp(z / temperature) */
export function logSumExp(z: ArrayLike<number>, temperature: number = 1): number {
  let top = -Infinity, sum = 0;
  for (let v = 0; v < z.length; v++) if (z[v]! > top) top = z[v]!;
  for (let v = 0; v < z.length; v++) sum += Math.exp((z[v]! - top) / temperature);
  return top / temperature + Math.log(sum);
}
