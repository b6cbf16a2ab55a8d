/** The tools of a chat: files whose functions the model may call (`--tools`). */
import type { ChatMessage, Tool, ToolCall } from "../../core/chat_message.ts";
import { UsageError } from "../../core/errors.ts";
import type { Environment, State } from "../../rewards/environments/environment.ts";
import {
  findTool,
  type OpenEnvironments,
  openEnvironments,
  shownTools,
} from "../../rewards/environments/open_environments.ts";
import {
  type AnswerReader,
  callId,
  type Dialect,
  dialectOf,
} from "../../models/tokenizers/dialects/dialect.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";

/** Seconds that a call may take. */
const SECONDS = 30;

export class ChatTools {
  /** As the chat template shows them. */
  readonly shown: readonly Tool[];
  /** What the tools of a file keep. */
  readonly #states = new Map<Environment, State>();
  #calls = 0;

  private constructor(private readonly files: OpenEnvironments, readonly dialect: Dialect) {
    this.shown = shownTools(files.tools);
  }

  /**
   * @returns null without files
   * @throws UsageError for a file that cannot be used, or a model that cannot be shown tools
   */
  static async open(paths: readonly string[], tokenizer: Tokenizer): Promise<ChatTools | null> {
    const tools = paths.map((path) => ({ path }));
    const files = await openEnvironments({ environment: null, environments: null, tools });
    if (files === null) return null;
    const dialect = dialectOf(tokenizer);
    if (dialect.canShowTools) return new ChatTools(files, dialect);
    await files.close();
    throw new UsageError(`--tools: ${dialect.whyNoTools}`, {
      advice: "Name a model that has learnt to call tools.",
    });
  }

  /** Reads an answer. @param prompt what it follows */
  read(prompt: string): AnswerReader {
    return this.dialect.read({ prompt, tools: this.shown });
  }

  /** The calls of an answer as a message has them. */
  callsOf({ answer }: AnswerReader): ToolCall[] {
    return answer.toolCalls.map((call) => ({
      id: callId(this.#calls++),
      type: "function",
      function: call,
    }));
  }

  /** Makes a call. @returns its result; what went wrong is a text for the model */
  async run({ id, function: { name, arguments: args } }: ToolCall): Promise<ChatMessage> {
    const parts = this.files.partsOf({ question: "", answer: null, metadata: {} });
    const owner = findTool(parts, name);
    const content = owner === null
      ? JSON.stringify({ error: `Tool ${name} not found.` })
      : await this.#ask(owner.environment, name, args);
    return { role: "tool", name, content, ...(id === undefined ? {} : { tool_call_id: id }) };
  }

  async #ask(
    environment: Environment,
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const state = this.#states.get(environment) ?? {};
    const [outcome] = await environment.answer([{ call: "run", tool, args, state }], SECONDS);
    if ("error" in outcome!) return JSON.stringify({ error: outcome.error });
    this.#states.set(environment, outcome!.state);
    return outcome!.content;
  }

  async close(): Promise<void> {
    await this.files.close();
  }
}
