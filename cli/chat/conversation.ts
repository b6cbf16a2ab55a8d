/** The messages of a chat, and the prompt that they make. */
import type { ChatMessage } from "../../core/chat_message.ts";
import { UsageError } from "../../core/errors.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";

export class Conversation {
  #system: string | null;
  #turns: ChatMessage[] = [];
  /** Answers that were asked for so far: each one draws from random numbers of its own. */
  #answers = 0;

  /**
   * @param variables values for the chat template
   * @throws UsageError for values that the template does not read, or a system message without one
   */
  constructor(
    private readonly tokenizer: Tokenizer,
    system: string | null,
    private readonly variables: Readonly<Record<string, unknown>> = {},
  ) {
    checkVariables(variables, tokenizer.chatVariables, "--chat-template-kwargs");
    this.#system = null;
    this.system = system;
  }

  /** Whether messages are rendered; else each one is continued as plain text, without history. */
  get hasTemplate(): boolean {
    return this.tokenizer.chatVariables !== null;
  }

  get system(): string | null {
    return this.#system;
  }

  /** A new system message begins a new conversation. null or "" = none. */
  set system(text: string | null) {
    const system = text === "" ? null : text;
    if (system !== null && !this.hasTemplate) {
      throw new UsageError("a system message needs a chat template, and the model has none");
    }
    this.#system = system;
    this.clear();
  }

  /** All messages, the system message first. */
  get messages(): readonly ChatMessage[] {
    const system = this.#system === null ? [] : [{ role: "system", content: this.#system }];
    return [...system, ...this.#turns];
  }

  clear(): void {
    this.#turns = [];
  }

  /** Takes away the last answer. @returns false when there is none */
  again(): boolean {
    if (this.#turns.at(-1)?.role !== "assistant") return false;
    this.#turns.pop();
    return true;
  }

  /**
   * Adds a message of the user, unless it is null, and asks for an answer to the last one.
   * @returns the prompt, and the number of the answer, which keys its random draws
   * @throws RgxError when the template refuses the messages; they are as before then
   */
  ask(message: string | null): { promptIds: number[]; answer: number } {
    const before = this.#turns;
    if (message !== null) this.#turns = [...before, { role: "user", content: message }];
    try {
      return { promptIds: this.#prompt(), answer: this.#answers++ };
    } catch (error) {
      this.#turns = before;
      throw error;
    }
  }

  #prompt(): number[] {
    const rendered = this.tokenizer.applyChatTemplate(this.messages, this.variables);
    return rendered === null
      ? this.tokenizer.encode(this.#turns.at(-1)!.content)
      : this.tokenizer.encode(rendered, { addSpecialTokens: false });
  }

  /** Adds the answer to the last message, also one that was cut off. */
  answered(text: string): void {
    this.#turns = [...this.#turns, { role: "assistant", content: text }];
  }

  /** Takes away a message of the user that got no answer. */
  unanswered(): void {
    if (this.#turns.at(-1)?.role === "user") this.#turns = this.#turns.slice(0, -1);
  }
}
