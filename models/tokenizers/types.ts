/** What training, generation and benchmarks see of a tokenizer. */

/** Text to ids and back; the same object for training, generation and benchmarks. */
export interface Tokenizer {
  readonly vocabSize: number;
  readonly eosId: number | null;
  readonly padId: number | null;
  /**
   * Ids of a text. Special tokens written in it are recognised, unless it is `literal` or
   * `applyChatTemplate` has marked them as a message's content.
   */
  encode(text: string, options?: { addSpecialTokens?: boolean; literal?: boolean }): number[];
  decode(ids: readonly number[], options?: { skipSpecialTokens?: boolean }): string;
  /** Id of one token, or null. */
  tokenId(token: string): number | null;
  /**
   * Chat template rendered to text, or null when the model has none. Special tokens in a content carry an
   * invisible mark, by which `encode` knows them to be text.
   */
  applyChatTemplate(messages: readonly { role: string; content: string }[]): string | null;
  /** Files to store beside weights: name → content ("tokenizer.json", "tokenizer_config.json", …). */
  files(): ReadonlyMap<string, string>;
}
