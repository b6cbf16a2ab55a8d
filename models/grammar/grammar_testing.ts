/** Helpers for tests of grammars. Not part of the program. */
import type { Tokenizer } from "../tokenizers/types.ts";
import { Grammar, type Node } from "./grammar.ts";
import { Machine, type State } from "./machine.ts";
import type { TokenConstraint } from "./token_constraint.ts";

const encoder = new TextEncoder();

/** Whether a grammar has a text. */
export function accepts(make: (g: Grammar) => Node): (text: string) => boolean {
  const grammar = new Grammar(), root = make(grammar), machine = new Machine(grammar);
  grammar.findInfinite(root);
  const start = machine.stateOf(machine.place(root, null));
  return (text) => {
    let state: State | null = start;
    for (const byte of encoder.encode(text)) state = state && machine.step(state, byte);
    return state?.accepts ?? false;
  };
}

/** The ids of a bit set. */
export function idsOf(mask: Uint32Array): number[] {
  const ids: number[] = [];
  mask.forEach((word, w) => {
    for (let bits = word; bits !== 0; bits &= bits - 1) {
      ids.push(32 * w + 31 - Math.clz32(bits & -bits));
    }
  });
  return ids;
}

/**
 * Ids of a text that is drawn from the tokens that a constraint allows. Every second token is drawn
 * from `preferred` ones where it can be, so that texts end.
 * @param draw a random index below a number
 * @returns null when the text has not ended after `limit` tokens
 */
export function drawText(
  constraint: TokenConstraint,
  { eosId }: Pick<Tokenizer, "eosId">,
  draw: (below: number) => number,
  preferred: ReadonlySet<number>,
  limit = 200,
): number[] | null {
  const text = constraint.begin(eosId === null ? [] : [eosId]), ids: number[] = [];
  while (!text.isOver) {
    if (ids.length === limit) return null;
    const allowed = idsOf(text.allowed), some = allowed.filter((id) => preferred.has(id));
    const from = some.length > 0 && draw(2) === 0 ? some : allowed, id = from[draw(from.length)]!;
    ids.push(id);
    text.push(id);
  }
  return ids.at(-1) === eosId ? ids.slice(0, -1) : ids;
}
