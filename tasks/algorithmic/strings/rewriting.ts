/**
 * Systems of rules on counts: each step applies the first rule whose ingredients are there, until none is
 * or the allowed number of steps is reached. Every rule here leaves fewer things or other kinds that never
 * turn back, so a state cannot occur twice.
 */

/** Change of every count by one application; negative where something is used up. */
export type Rule = readonly number[];

/** All states from the first to the last one, each a copy. */
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
