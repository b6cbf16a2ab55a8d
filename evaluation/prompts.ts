/** Problems → token ids, for rollouts, evaluation and the warm start alike. */
import type { RunConfig } from "../configs/schema/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { renderPrompt } from "../data/prompt.ts";
import { workedAnswer } from "../data/worked_answer.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import type { Entry } from "../tasks/types.ts";

export interface EncodedPrompt {
  text: string;
  ids: number[];
}

/** Training problems that are looked at to find the longest prompt. */
export const LOOKED_AT = 256;

/** Tokens that prompts are cut to, or null where none is cut. */
export function promptTokensKept(training: RunConfig["training"]): number | null {
  return training.truncate_prompts === "left" ? training.max_prompt_length : null;
}

export class PromptEncoder {
  readonly #hasChatTemplate: boolean;

  constructor(
    readonly tokenizer: Tokenizer,
    readonly data: RunConfig["data"],
    /** Ids that end a completion. */
    readonly eosIds: readonly number[],
    /** Prompts keep their last so many tokens (`truncate_prompts: left`); null = all of them. */
    readonly keepTokens: number | null = null,
  ) {
    this.#hasChatTemplate = tokenizer.applyChatTemplate([{ role: "user", content: "?" }]) !== null;
  }

  prompt(entry: Entry): EncodedPrompt {
    const text = renderPrompt({
      question: entry.question,
      systemPrompt: this.data.system_prompt,
      addInstructions: this.data.add_instructions,
      chatTemplate: this.#hasChatTemplate
        ? (messages) => this.tokenizer.applyChatTemplate(messages)!
        : null,
    });
    // A chat template writes its own special tokens.
    const ids = this.tokenizer.encode(text, { addSpecialTokens: !this.#hasChatTemplate });
    return { text, ids: this.keepTokens === null ? ids : ids.slice(-this.keepTokens) };
  }

  /** What a user should know of how prompts are written. */
  notes(): string[] {
    if (this.#hasChatTemplate || this.data.system_prompt === null) return [];
    return [
      "the tokenizer has no chat template: prompts are plain text, the system prompt comes before the question",
    ];
  }

  /** The worked answer as a completion: its tokens and the end token. */
  workedAnswer(entry: Entry): number[] {
    const ids = this.tokenizer.encode(workedAnswer(entry, this.data.system_prompt), {
      addSpecialTokens: false,
    });
    const eos = this.tokenizer.eosId ?? this.eosIds[0];
    return eos === undefined ? ids : [...ids, eos];
  }

  /** True when the completion did not end by itself: with an end token or, where `stopped`, with a stop string. */
  truncated(ids: readonly number[], stopped: boolean = false): boolean {
    if (stopped) return false;
    const last = ids.at(-1);
    return last === undefined || !(this.eosIds.includes(last) || last === this.tokenizer.padId);
  }

  text(ids: readonly number[]): string {
    return this.tokenizer.decode(ids, { skipSpecialTokens: true });
  }

  /**
   * Tokens of the longest prompt.
   * @throws UsageError with a count when prompts are longer than `limit` tokens
   */
  checkLengths(entries: Iterable<Entry>, limit: number): number {
    let total = 0, tooLong = 0, longest = 0;
    for (const entry of entries) {
      const { length } = this.prompt(entry).ids;
      total++;
      if (length > limit) tooLong++;
      longest = Math.max(longest, length);
    }
    if (tooLong > 0) {
      throw new UsageError(
        `training.max_prompt_length: ${tooLong} of ${total} prompts have more than ${limit} tokens ` +
          `(the longest has ${longest})`,
        { advice: "Raise max_prompt_length, or make the task's problems shorter." },
      );
    }
    return longest;
  }
}
