/**
 * Holds completions to a grammar: says after each token which tokens may come next. Parts of a
 * character are tokens like all others, because the grammar is one of bytes.
 */
import { RgxError } from "../../core/errors.ts";
import type { Written } from "../tokenizers/dialects/families.ts";
import type { Tokenizer } from "../tokenizers/types.ts";
import { Grammar, type Node } from "./grammar.ts";
import { JsonText } from "./json_text.ts";
import { schemaNode } from "./json_schema.ts";
import { Machine, type State } from "./machine.ts";
import { patternNode } from "./regex.ts";
import { TokenMasks } from "./token_masks.ts";
import { vocabularyOf } from "./vocabulary.ts";

/** What completions are held to. */
export type Form =
  /** JSON that a schema accepts. */
  | { kind: "schema"; schema: unknown }
  /** Any JSON object. */
  | { kind: "object" }
  /** A regular expression that matches the whole text. */
  | { kind: "regex"; pattern: string }
  /** One of some texts. */
  | { kind: "choice"; choices: readonly string[] }
  /** Calls of tools, whose arguments fit their schemas. */
  | { kind: "calls"; calls: readonly CallForm[]; written: Written; isMany: boolean };

/** A call of a tool that a form allows. */
export interface CallForm {
  /** The name of the tool. */
  name: string;
  /** JSON schema of the arguments. */
  schema: unknown;
  /** The place of the schema in a request, for messages. */
  path: string;
}

/** More calls than an answer needs. */
const MAX_CALLS = 16;

/** Says which tokens may come next, for completions of one model that are held to a form. */
export class TokenConstraint {
  readonly #machine: Machine;
  readonly #masks: TokenMasks;
  readonly #start: State;
  readonly #words: number;

  /**
   * Compiles a form for the tokens of a tokenizer.
   * @throws UsageError for a form that is wrong or not supported
   */
  constructor(form: Form, readonly tokenizer: Tokenizer, vocabSize: number) {
    const grammar = new Grammar(), root = rootOf(grammar, form);
    grammar.findInfinite(root);
    const vocabulary = vocabularyOf(tokenizer, vocabSize);
    this.#words = vocabulary.words;
    this.#machine = new Machine(grammar);
    this.#masks = new TokenMasks(this.#machine, vocabulary);
    this.#start = this.#machine.stateOf(this.#machine.place(root, null));
  }

  /**
   * A completion before its first token. @param ends tokens that end it
   * @internal
   */
  begin(ends: readonly number[]): ConstrainedText {
    return new ConstrainedText(this, ends, this.#start);
  }

  /**
   * The state after a token, or null when it is not possible.
   * @internal
   */
  after(state: State, token: number): State | null {
    this.#machine.grammar.renew();
    const bytes = this.tokenizer.tokenBytes(token);
    if (bytes === null) return null;
    let next: State | null = state;
    for (const byte of bytes) next = next && this.#machine.step(next, byte);
    return next;
  }

  /**
   * The tokens that may come in a state: bit t mod 32 of word ⌊t/32⌋. Not to be changed.
   * @internal
   */
  allowed(state: State, ends: readonly number[]): Uint32Array {
    this.#machine.grammar.renew();
    const mask = this.#masks.of(state);
    if (!state.accepts) return mask;
    const withEnds = mask.slice();
    for (const id of ends) {
      if (id >>> 5 < this.#words) withEnds[id >>> 5]! |= 1 << (id & 31);
    }
    return withEnds;
  }
}

/** A completion that is held to a form, while its tokens arrive. */
export class ConstrainedText {
  /** Null after a token that ends it. */
  #state: State | null;
  #allowed: Uint32Array | null = null;

  constructor(
    private readonly constraint: TokenConstraint,
    private readonly ends: readonly number[],
    start: State,
  ) {
    this.#state = start;
  }

  /** Whether nothing may follow. */
  get isOver(): boolean {
    return this.#state === null || this.#state.places.length === 0;
  }

  /**
   * The tokens that may come next, as a bit set that is not to be changed.
   * @throws RgxError when there are none, or too many ways to read the text
   */
  get allowed(): Uint32Array {
    if (this.#allowed === null) {
      if (this.#state === null) throw new RgxError("a completion goes on after its end");
      const allowed = this.constraint.allowed(this.#state, this.ends);
      if (allowed.every((word) => word === 0)) {
        throw new RgxError(
          "the form that was asked for needs a character of which the model's vocabulary has no " +
            `token: ${wantedBytes(this.#state)}`,
        );
      }
      this.#allowed = allowed;
    }
    return this.#allowed;
  }

  /** Takes the next token. @throws RgxError unless it is an allowed one */
  push(token: number): void {
    const state = this.#state, next = state && this.constraint.after(state, token);
    if (next === null && !(state?.accepts && this.ends.includes(token))) {
      throw new RgxError(`token ${token} does not follow in the form; this is a bug in rgx`);
    }
    this.#state = next;
    this.#allowed = null;
  }
}

/** Some of the bytes that may follow, for a message. */
function wantedBytes({ places }: State): string {
  const found: string[] = [];
  for (let byte = 0; byte < 256; byte++) {
    const isWanted = places.some(({ node }) =>
      node.kind === "bytes" && node.set[byte >>> 5]! >>> (byte & 31) & 1
    );
    if (!isWanted) continue;
    const isPrintable = byte > 0x20 && byte < 0x7f;
    found.push(isPrintable ? String.fromCharCode(byte) : `byte ${byte}`);
  }
  return found.slice(0, 5).join(" or ") + (found.length > 5 ? " or others" : "");
}

function rootOf(grammar: Grammar, form: Form): Node {
  switch (form.kind) {
    case "schema":
      return schemaNode(grammar, form.schema);
    case "object":
      return new JsonText(grammar).anyObject;
    case "regex":
      return patternNode(grammar, form.pattern, {
        character: (ranges) => grammar.character(ranges),
        isWhole: true,
      });
    case "choice":
      return grammar.alt(...form.choices.map((choice) => grammar.text(choice)));
    case "calls": {
      const { calls, written: { first, call: [before, middle, after], between, end }, isMany } =
        form;
      const call = grammar.alt(...calls.map(({ name, schema, path }) =>
        grammar.seq(
          grammar.text(before + name + middle),
          schemaNode(grammar, schema, path),
          grammar.text(after),
        )
      ));
      const more = isMany && between !== null
        ? grammar.repeat(grammar.seq(grammar.text(between), call), 0, MAX_CALLS - 1)
        : grammar.empty;
      return grammar.seq(grammar.text(first), call, more, grammar.text(end));
    }
  }
}

// The tables of the forms that were used last are kept: they take longer to make than a text.

/** Number of forms of each tokenizer. */
const MAX_KEPT = 8;

const kept = new WeakMap<Tokenizer, Map<string, TokenConstraint>>();

/**
 * The constraint of a form, which may have been made before.
 * @throws UsageError for a form that is wrong or not supported
 */
export function keptConstraint(
  form: Form,
  tokenizer: Tokenizer,
  vocabSize: number,
): TokenConstraint {
  const key = `${vocabSize} ${JSON.stringify(form)}`, known = kept.get(tokenizer) ?? new Map();
  kept.set(tokenizer, known);
  const constraint = known.get(key) ?? new TokenConstraint(form, tokenizer, vocabSize);
  known.delete(key);
  known.set(key, constraint);
  if (known.size > MAX_KEPT) known.delete(known.keys().next().value!);
  return constraint;
}
