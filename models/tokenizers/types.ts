/** The interface of tokenizers. */
import type { ChatMessage } from "../../core/chat_message.ts";
import type { LocalTime } from "../../core/local_time.ts";
import type { ChatEnding } from "./chat_template.ts";

/** Turns texts into ids and back, for training, generation and benchmarks. */
export interface Tokenizer {
  /** Number of token ids. */
  readonly vocabSize: number;
  /** The token that ends a text; null: there is none. */
  readonly eosId: number | null;
  /** The token that fills rows; null: there is none. */
  readonly padId: number | null;
  /**
   * The ids of a text. Special tokens in it are recognised, unless the text is `literal`, or
   * `applyChatTemplate` has marked them as the content of a message.
   */
  encode(text: string, options?: { addSpecialTokens?: boolean; literal?: boolean }): number[];
  /** The text of ids, by default with the texts of special tokens. */
  decode(ids: readonly number[], options?: { skipSpecialTokens?: boolean }): string;
  /**
   * The bytes of a token within a text, which may be a part of a character; null for special tokens
   * and ids without a token.
   */
  tokenBytes(id: number): Uint8Array | null;
  /** The id of a token, or null when there is no such token. */
  tokenId(token: string): number | null;
  /**
   * The chat template, rendered with these messages, or null when the model has none. After a
   * user's message it ends where the answer begins; an assistant's last message is continued.
   * Special tokens in the contents carry an invisible mark, so that `encode` treats them as text.
   * @param variables further values for the template: `tools`, `documents`, and those that only
   * some read, such as Qwen3's `enable_thinking`
   * @param time the local time that the template may write; default: now
   * @param ending where the text ends, instead
   * @throws RgxError with the template's own message when it refuses the messages
   */
  applyChatTemplate(
    messages: readonly ChatMessage[],
    variables?: Readonly<Record<string, unknown>>,
    time?: LocalTime,
    ending?: ChatEnding,
  ): string | null;
  /** Names of the values that the chat template reads; null when there is no template. */
  readonly chatVariables: ReadonlySet<string> | null;
  /** Whether the chat template may write the time, as those of Llama 3 write the date. */
  readonly chatReadsClock: boolean;
  /** The files to store beside the weights, name → content ("tokenizer.json", …). */
  files(): ReadonlyMap<string, string>;
}
