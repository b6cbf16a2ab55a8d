/**
 * Which tokens may come next in a state of a machine, as bit sets: a token may, when its bytes lead
 * to some state. A walk through the whole vocabulary takes milliseconds, so its results are kept.
 * Inside of a string nearly every token is possible, whatever follows the string. Therefore a walk
 * goes only up to the next mark of the grammar (the end of a string), and notes where in the tree
 * of tokens the mark was reached; only the few tokens beyond it depend on what follows.
 */
import type { Machine, Place, Rest, State } from "./machine.ts";
import type { Vocabulary } from "./vocabulary.ts";

interface Reach {
  mask: Uint32Array;
  /** Nodes of the vocabulary at which the mark is reached. */
  exits: readonly number[];
}

/** A place up to its first mark, and what follows the mark; null = there is no mark. */
interface Split {
  front: Place;
  rest: Rest | undefined;
}

/** Maximum bytes of the bit sets of each kind that are kept. */
const MAX_BYTES = 2 ** 23;
/** Tokens that are visited for one unit of work; see `Grammar.spend`. */
const VISITS = 4;

export class TokenMasks {
  #reaches = new Map<State, Reach>();
  #masks = new Map<State, Uint32Array>();
  #splits = new WeakMap<Place, Split>();
  /** By depth: the state on the path of a walk. */
  readonly #path: (State | null)[] = [];

  readonly #maxKept: number;

  constructor(private readonly machine: Machine, private readonly vocabulary: Vocabulary) {
    this.#maxKept = Math.ceil(MAX_BYTES / (4 * vocabulary.words));
  }

  /** The tokens that may come next: bit t mod 32 of word ⌊t/32⌋. Not to be changed. */
  of(state: State): Uint32Array {
    let mask = this.#masks.get(state);
    if (mask === undefined) {
      dropOldest(this.#masks, this.#maxKept);
      this.#masks.set(state, mask = this.#compute(state));
    }
    return mask;
  }

  #compute(state: State): Uint32Array {
    const { machine, vocabulary } = this, mask = new Uint32Array(vocabulary.words);
    const fronts = new Map<Rest | undefined, Place[]>();
    for (const place of state.places) {
      const { front, rest } = this.#split(place), list = fronts.get(rest);
      if (list === undefined) fronts.set(rest, [front]);
      else list.push(front);
    }
    for (const [rest, places] of fronts) {
      const front = machine.withPlaces(places.sort((a, b) => a.id - b.id), false);
      const { mask: reached, exits } = this.#reach(front);
      for (let w = 0; w < mask.length; w++) mask[w]! |= reached[w]!;
      if (rest === undefined) continue;
      const after = machine.stateOf(rest);
      for (const node of exits) this.#walk(after, node + 1, vocabulary.ends[node]!, mask, null);
    }
    return mask;
  }

  #reach(front: State): Reach {
    let reach = this.#reaches.get(front);
    if (reach === undefined) {
      dropOldest(this.#reaches, this.#maxKept);
      const { words, bytes } = this.vocabulary, exits: number[] = [];
      const mask = new Uint32Array(words);
      this.#walk(front, 0, bytes.length, mask, exits);
      this.#reaches.set(front, reach = { mask, exits });
    }
    return reach;
  }

  /**
   * Adds the tokens of nodes `node` … `end` − 1 whose bytes, from those of node `node` on, are
   * possible after `state`. All of these nodes are below the parent of `node`.
   * @param exits gets the nodes at which the machine may be at its end
   */
  #walk(
    state: State,
    node: number,
    end: number,
    mask: Uint32Array,
    exits: number[] | null,
  ): void {
    if (node >= end) return;
    const { machine, vocabulary: { bytes, depths, ends, starts, tokens } } = this;
    const path = this.#path, top = depths[node]! - 1;
    path[top] = state;
    let visited = 0;
    while (node < end) {
      const depth = depths[node]!, before = path[depth - 1]!, byte = bytes[node]!;
      const known = before.next[byte],
        next = known === undefined ? machine.step(before, byte) : known;
      if (next === null) {
        node = ends[node]!;
        continue;
      }
      path[depth] = next;
      visited++;
      for (let t = starts[node]!; t < starts[node + 1]!; t++) {
        const token = tokens[t]!;
        mask[token >>> 5]! |= 1 << (token & 31);
      }
      if (exits !== null && next.accepts) exits.push(node);
      node++;
    }
    machine.grammar.spend(Math.ceil(visited / VISITS));
  }

  #split(place: Place): Split {
    let split = this.#splits.get(place);
    if (split === undefined) {
      const nodes = [];
      let rest: Rest = place;
      while (rest !== null && rest.node.kind !== "mark") {
        nodes.push(rest.node);
        rest = rest.next;
      }
      const { machine } = this;
      split = rest === null ? { front: place, rest: undefined } : {
        front: nodes.reduceRight<Rest>((next, node) => machine.place(node, next), null)!,
        rest: rest.next,
      };
      this.#splits.set(place, split);
    }
    return split;
  }
}

function dropOldest(map: Map<State, unknown>, limit: number): void {
  if (map.size >= limit) map.delete(map.keys().next().value!);
}
