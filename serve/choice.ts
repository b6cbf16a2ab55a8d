/**
 * One completion while its tokens arrive: its text, its end, and the log-probabilities of its
 * tokens. Streamed and whole answers are made from the same parts.
 */
import type { ConstrainedText } from "../models/grammar/token_constraint.ts";
import type { Answer, AnswerDelta, AnswerReader } from "../models/tokenizers/dialects/dialect.ts";
import { followingText } from "../models/tokenizers/following_text.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import type { SamplingFields } from "./sampling_fields.ts";
import { StopText } from "../models/generation/sampling/stop_strings.ts";
import { engineHas, type TokenLogprob, tokenLogprob } from "./logprobs_json.ts";

/** What a new token adds to a completion. */
export interface ChoicePart {
  text: string;
  /** The new token; null at the end, when only held-back text was left. */
  token: TokenLogprob | null;
  /** What the text means: it may be thoughts or calls of tools. */
  deltas: AnswerDelta[];
}

/** What a choice needs to know of its request. */
export interface ChoiceContext {
  tokenizer: Tokenizer;
  promptIds: readonly number[];
  sampling: SamplingFields;
  /** Ids that end the completion and have no text. */
  endIds: ReadonlySet<number>;
  /** Number of likeliest tokens of each place; null = no log-probabilities are asked for. */
  top: number | null;
  /** Whether the text is wanted token by token, not only at the end. */
  streams: boolean;
  /** Whether the text follows that of the prompt, and may begin with a blank. */
  follows: boolean;
  /** Reads calls in the text, for which it has special tokens; null = it is what it is. */
  reader: AnswerReader | null;
}

export class Choice {
  readonly ids: number[] = [];
  readonly tokens: TokenLogprob[] = [];
  #logprobs = 0;
  readonly #text: StopText;
  readonly #form: ConstrainedText | null;
  #finish: "stop" | "length" | null = null;
  /** Characters of the first `min_tokens` tokens. */
  #least: number | null = null;

  constructor(private readonly context: ChoiceContext) {
    const { sampling: { stops, constraint }, endIds } = context;
    this.#text = new StopText(stops);
    this.#form = constraint?.begin([...endIds]) ?? null;
  }

  /** Whether the logits of its tokens are needed on the host. */
  static needsLogits({ top, sampling }: Pick<ChoiceContext, "top" | "sampling">): boolean {
    return top !== null && (top > 0 || !engineHas(sampling.logprobsMode, sampling));
  }

  /** The whole text that can no longer change. */
  get text(): string {
    return this.#text.sent;
  }

  /** What the text says, once it has ended. */
  get answer(): Answer {
    return this.context.reader?.answer ?? { content: this.text, toolCalls: [], errors: [] };
  }

  get finishReason(): "stop" | "length" {
    return this.#finish ?? "length";
  }

  /** Mean log-probability of its tokens, as they were sampled. */
  get meanLogprob(): number {
    return this.#logprobs / Math.max(1, this.ids.length);
  }

  /** The stop string or stop token that ended it; null for the model's own end, or another one. */
  get stopReason(): string | number | null {
    if (this.#text.stop !== null) return this.#text.stop;
    const last = this.ids.at(-1);
    return last !== undefined && this.#finish === "stop" &&
        this.context.sampling.stopTokenIds.includes(last)
      ? last
      : null;
  }

  /** @param logprob the engine's @param logits the model's, if they are needed */
  push(token: number, logprob: number, logits: Float32Array | Float64Array | null): ChoicePart {
    const { promptIds, sampling, endIds, top, streams, reader } = this.context;
    const entry = logits === null ? { id: token, logprob, top: [] } : tokenLogprob(
      token,
      logits,
      sampling.logprobsMode,
      sampling,
      [...promptIds, ...this.ids],
      this.ids,
      top ?? 0,
      this.#form,
      engineHas(sampling.logprobsMode, sampling) ? logprob : null,
    );
    this.ids.push(token);
    this.#logprobs += logprob;
    if (logits !== null) this.#form?.push(token);
    if (top !== null) this.tokens.push(entry);
    if (!streams || endIds.has(token)) {
      return { text: "", token: entry, deltas: [] };
    }
    const text = this.#text.push(this.#decoded(), this.#unstopped());
    return { text, token: entry, deltas: reader?.push(text) ?? plain(text) };
  }

  /** Ends it. @returns the text that was held back */
  end(reason: "stop" | "length"): ChoicePart {
    const rest = this.#text.end(this.#decoded(), this.#unstopped());
    this.#finish = this.#text.stop !== null ? "stop" : reason;
    const { reader } = this.context;
    const isWhole = this.#text.stop === null && reason === "stop";
    const deltas = reader === null ? plain(rest) : [...reader.push(rest), ...reader.end(isWhole)];
    return { text: rest, token: null, deltas };
  }

  /** Characters in which the engine does not look for stop strings: those of the least tokens. */
  #unstopped(): number {
    const { minTokens } = this.context.sampling;
    if (minTokens === 0) return 0;
    if (this.ids.length <= minTokens) return Infinity;
    return this.#least ??=
      this.#textOf(this.ids.slice(0, minTokens)).replace(/\uFFFD+$/, "").length;
  }

  #decoded(): string {
    const { endIds, reader } = this.context, last = this.ids.at(-1);
    const isWhole = last === undefined || !endIds.has(last) || reader !== null;
    return this.#textOf(isWhole ? this.ids : this.ids.slice(0, -1));
  }

  #textOf(ids: readonly number[]): string {
    const { tokenizer, reader, sampling, follows } = this.context;
    const skipSpecialTokens = sampling.skipSpecialTokens && reader === null;
    return follows
      ? followingText(tokenizer, ids, { skipSpecialTokens })
      : tokenizer.decode(ids, { skipSpecialTokens });
  }
}

/** The meaning of a text that calls nothing. */
function plain(text: string): AnswerDelta[] {
  return text === "" ? [] : [{ content: text }];
}
