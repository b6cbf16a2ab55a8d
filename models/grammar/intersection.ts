/**
 * The texts of a grammar that meet further conditions, each of which is a grammar whose texts are
 * wanted or not wanted. All states that can be reached are made beforehand, because those from
 * which no text can be completed must never be entered.
 */
import { UsageError } from "../../core/errors.ts";
import type { Grammar, Node, Range } from "./grammar.ts";
import { Machine, type State } from "./machine.ts";

export interface Condition {
  node: Node;
  /** Whether its texts are those that are not wanted. */
  isNegative: boolean;
}

const MAX_STATES = 8192;

interface Joint {
  /** That of the grammar, then those of the conditions; null = none of its texts begins so. */
  states: readonly (State | null)[];
  accepts: boolean;
  /** Ranges of bytes to each next state. */
  steps: Map<Joint, Range[]>;
  canEnd: boolean;
}

/** @throws UsageError when there are too many states */
export function intersection(g: Grammar, main: Node, conditions: readonly Condition[]): Node {
  const nodes = [main, ...conditions.map(({ node }) => node)];
  for (const node of nodes) g.findInfinite(node);
  const machine = new Machine(g), known = new Map<string, Joint>();
  const numbers = new Map<State | null, number>([[null, -1]]);
  const numberOf = (state: State | null) => {
    if (!numbers.has(state)) numbers.set(state, numbers.size);
    return numbers.get(state)!;
  };
  const accepts = ([first, ...others]: readonly (State | null)[]) =>
    first!.accepts &&
    conditions.every(({ isNegative }, c) => (others[c]?.accepts ?? false) !== isNegative);
  const joint = (states: readonly (State | null)[]): Joint => {
    const key = states.map(numberOf).join();
    let found = known.get(key);
    if (found === undefined) {
      if (known.size >= MAX_STATES) {
        throw new UsageError("a pattern that has to meet too many other conditions at once", {
          advice: "Leave out its lookaheads, minLength or maxLength.",
        });
      }
      found = { states, accepts: accepts(states), steps: new Map(), canEnd: false };
      known.set(key, found);
    }
    return found;
  };
  const start = joint(nodes.map((node) => machine.stateOf(machine.place(node, null))));
  for (const one of known.values()) {
    g.spend(128 * nodes.length);
    for (let byte = 0; byte < 256; byte++) {
      const next = one.states.map((state) => state && machine.step(state, byte));
      if (next[0] === null) continue;
      if (conditions.some(({ isNegative }, c) => !isNegative && next[c + 1] === null)) continue;
      const to = joint(next), ranges = one.steps.get(to) ?? [];
      ranges.push([byte, byte]);
      one.steps.set(to, ranges);
    }
  }
  // The states from which a text can be completed are mostly those that were found last.
  const all = [...known.values()].reverse();
  for (let changes = true; changes;) {
    changes = false;
    g.spend(all.length);
    for (const one of all) {
      if (one.canEnd || !(one.accepts || [...one.steps.keys()].some((to) => to.canEnd))) continue;
      one.canEnd = changes = true;
    }
  }
  const name = `intersection ${nodes.map(({ id }) => id)} ${conditions.map((c) => c.isNegative)}`;
  const rules = new Map<Joint, Node>();
  const ruleOf = (one: Joint): Node => {
    let rule = rules.get(one);
    if (rule === undefined) {
      const body = () =>
        g.alt(
          ...one.accepts ? [g.empty] : [],
          ...[...one.steps].filter(([to]) => to.canEnd)
            .map(([to, ranges]) => g.seq(g.bytes(...ranges), ruleOf(to))),
        );
      rules.set(one, rule = g.rule(`${name} ${rules.size}`, body));
    }
    return rule;
  };
  return ruleOf(start);
}
