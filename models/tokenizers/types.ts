/** The interface of tokenizers. */

/** Turns texts into ids and back, for training, generation and benchmarks. */
export interface Tokenizer {
  readonly vocabSize: number;
  readonly eosId: number | null;
  readonly padId: number | null;
  /**
   * The ids of a text. Special tokens in it are recognised, unless the text is `literal`, or
   * `applyChatTemplate` has marked them as the content of a message.
   */
  encode(text: string, options?: { addSpecialTokens?: boolean; literal?: boolean }): number[];
  decode(ids: readonly number[], options?: { skipSpecialTokens?: boolean }): string;
  /** The id of a token, or null when there is no such token. */
  tokenId(token: string): number | null;
  /**
   * The chat template, rendered with these messages, or null when the model has none. Special
   * tokens in the contents carry an invisible mark, so that `encode` treats them as text.
   */
  applyChatTemplate(messages: readonly { role: string; content: string }[]): string | null;
  /** The files to store beside the weights, name → content ("tokenizer.json", …). */
  files(): ReadonlyMap<string, string>;
}
