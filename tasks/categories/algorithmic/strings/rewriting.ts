/**
 * Systems of rules on counts. Each step applies the first rule whose ingredients are available,
 * until no rule applies or the maximum number of steps is reached. Every rule either reduces the
 * number of things or produces kinds that never turn back. So no state occurs twice.
 */

/** The change of each count when the rule is applied; negative for ingredients. */
export type Rule = readonly number[];

/** All states from the first to the last, each a copy. */
export function applyRules(
  start: readonly number[],
  rules: readonly Rule[],
  maxSteps: number,
): number[][] {
  const states = [start.slice()];
  let state = states[0]!;
  for (let step = 0; step < maxSteps; step++) {
    const counts = state;
    const rule = rules.find((change) => change.every((delta, i) => counts[i]! + delta >= 0));
    if (rule === undefined) break;
    state = counts.map((count, i) => count + rule[i]!);
    states.push(state);
  }
  return states;
}
