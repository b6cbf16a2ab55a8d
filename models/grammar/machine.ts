/**
 * Runs a grammar over bytes. A state is the set of all places in the grammar at which a text may
 * be; a place is a set of bytes and what has to follow it. States are made when they are first
 * reached, and kept, so that most steps are a look-up in a table.
 */
import { RgxError } from "../../core/errors.ts";
import type { Grammar, Node } from "./grammar.ts";

/** What is still to be matched: a node, and then the rest. Null = the end. */
export type Rest = Place | null;

/** Equal places are one object. */
export interface Place {
  id: number;
  node: Node;
  next: Rest;
}

export interface State {
  /** Places whose node is a set of bytes, by id. */
  places: readonly Place[];
  /** Whether the text may end here. */
  accepts: boolean;
  /** By byte: the next state; null = the byte is not possible; undefined = not known yet. */
  next: (State | null | undefined)[];
}

/** Maximum number of places of a state, and of states that are kept. */
const MAX_PLACES = 4096, MAX_STATES = 4096;
/** See `Grammar.spend`: a state has a table of 256 bytes. */
const STATE_WORK = 64;

export class Machine {
  readonly #states = new Map<string, State>();
  readonly #places = new Map<number, Map<number, Place>>();
  #placeCount = 0;

  constructor(readonly grammar: Grammar) {}

  /** The state in which `rest` is still to be matched. */
  stateOf(rest: Rest): State {
    return this.#state([rest]);
  }

  place(node: Node, next: Rest): Place {
    const key = next?.id ?? -1;
    let places = this.#places.get(node.id);
    if (places === undefined) this.#places.set(node.id, places = new Map());
    let place = places.get(key);
    if (place === undefined) {
      place = { id: this.#placeCount++, node, next };
      places.set(key, place);
    }
    return place;
  }

  /** The state after a byte, or null when the byte is not possible. */
  step(state: State, byte: number): State | null {
    const known = state.next[byte];
    if (known !== undefined) return known;
    const rests: Rest[] = [];
    for (const { node, next } of state.places) {
      if (node.kind === "bytes" && node.set[byte >>> 5]! >>> (byte & 31) & 1) rests.push(next);
    }
    const next = rests.length === 0 ? null : this.#state(rests);
    return state.next[byte] = next === null || isDead(next) ? null : next;
  }

  /** A state with these places. */
  withPlaces(places: readonly Place[], accepts: boolean): State {
    const key = `${accepts} ${places.map(({ id }) => id)}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      if (this.#states.size >= MAX_STATES) this.#forget();
      this.grammar.spend(STATE_WORK);
      state = { places, accepts, next: new Array(256) };
      this.#states.set(key, state);
    }
    return state;
  }

  /** Follows everything that takes no byte. */
  #state(rests: readonly Rest[]): State {
    const { grammar } = this, places: Place[] = [], seen = new Set<Place>(), open = [...rests];
    let accepts = false;
    while (open.length > 0) {
      const rest = open.pop()!;
      if (rest === null) {
        accepts = true;
        continue;
      }
      if (seen.has(rest)) continue;
      seen.add(rest);
      grammar.spend(1);
      if (seen.size > MAX_PLACES) throw tooAmbiguous();
      const { node, next } = rest;
      if (!node.isFinite) continue;
      switch (node.kind) {
        case "bytes":
          places.push(rest);
          break;
        case "empty":
        case "mark":
          open.push(next);
          break;
        case "seq":
          open.push(this.place(node.first, this.place(node.second, next)));
          break;
        case "alt":
          for (const option of node.options) open.push(this.place(option, next));
          break;
        case "repeat": {
          const { of, min, max } = node;
          if (min === 0) open.push(next);
          const more = grammar.repeat(of, Math.max(0, min - 1), max - 1);
          open.push(this.place(of, more === grammar.empty ? next : this.place(more, next)));
          break;
        }
        case "rule":
          open.push(this.place(node.body(), next));
      }
    }
    places.sort((a, b) => a.id - b.id);
    return this.withPlaces(places, accepts);
  }

  /** States that are in use stay valid; nothing leads to the others any more. */
  #forget(): void {
    for (const state of this.#states.values()) state.next = new Array(256);
    this.#states.clear();
  }
}

function isDead({ places, accepts }: State): boolean {
  return places.length === 0 && !accepts;
}

function tooAmbiguous(): RgxError {
  return new RgxError(
    `the pattern or schema may be read in more than ${MAX_PLACES} ways at one place of a text`,
    { advice: "Use fewer alternatives and counted repetitions that begin alike." },
  );
}
