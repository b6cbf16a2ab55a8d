/**
 * Chat templates: the Jinja text that comes with a model, rendered as transformers 5 does it. After
 * a user's message the text ends where the assistant's answer begins
 * (`add_generation_prompt=True`); an assistant's last message is continued
 * (`continue_final_message=True`), as TRL does for prompts. `jinja/` parses and runs a template.
 */
import type { ChatMessage } from "../../core/chat_message.ts";
import { messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { strip, stripEnd } from "../../tasks/python/text.ts";
import { Endless } from "./jinja/budget.ts";
import { compile, type Program, renderProgram, TemplateError } from "./jinja/template.ts";
import { position, TemplateFault } from "./jinja/tokens.ts";

/**
 * Where a rendered chat ends: where an answer begins, behind the last message, or within it, as far
 * as it goes.
 */
export type ChatEnding = "answer" | "message" | "within";

export interface ChatRenderer {
  /** Names that the template reads and that it does not set itself. */
  readonly variables: ReadonlySet<string>;
  /**
   * Renders messages to text.
   * @param variables further values for the template: `tools`, `documents`, and those that only
   * some read, such as Qwen3's `enable_thinking`
   * @param ending default: within an assistant's last message, or else where the answer begins
   * @throws RgxError when the template refuses the messages
   */
  render(
    messages: readonly ChatMessage[],
    variables?: Readonly<Record<string, unknown>>,
    ending?: ChatEnding,
  ): string;
}

/** Names that a template always gets, so that a user cannot set them. */
const RESERVED_VARIABLES = [
  "messages",
  "add_generation_prompt",
  "continue_final_message",
  "chat_template",
  "tokenize",
  "tools",
  "documents",
] as const;

/**
 * The chat template that `tokenizer_config.json` holds: a text, or a list of {name, template}, of
 * which "default" is used.
 * @throws RgxError when the entry has another form
 */
export function selectChatTemplate(entry: unknown, where: string): string | null {
  if (entry === undefined || entry === null) return null;
  if (typeof entry === "string") return entry;
  if (Array.isArray(entry)) {
    for (const item of entry) {
      if (item?.name === "default" && typeof item.template === "string") return item.template;
    }
    throw new RgxError(
      `${where}: chat_template lists ${
        entry.map((item) => JSON.stringify(item?.name)).join(", ") || "nothing"
      }, expected one named "default"`,
    );
  }
  throw new RgxError(
    `${where}: chat_template is ${typeof entry}, expected a text or a list of {name, template}`,
  );
}

/**
 * @param specialTokens the values of bos_token, eos_token, … in the template
 * @throws RgxError when the template cannot be parsed
 */
export function compileChatTemplate(
  template: string,
  specialTokens: Readonly<Record<string, string>>,
  where: string,
): ChatRenderer {
  let program: Program;
  // Jinja reads every kind of line end as a line feed.
  const source = template.replaceAll(/\r\n?/g, "\n");
  try {
    program = compile(source);
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    const fault = `${position(source, error.at)}: ${error.message}`;
    throw new RgxError(`${where}: the chat template cannot be parsed: ${fault}`, {
      advice: "Correct the template, or delete it to prompt the model with plain text.",
      cause: error,
    });
  }
  const variables = program.reads;
  const render = (
    messages: readonly ChatMessage[],
    given: Readonly<Record<string, unknown>>,
    wanted: ChatEnding | undefined,
  ) => {
    const all = messages.map(withReasoning), last = all.at(-1);
    const ending = wanted ?? (last?.role === "assistant" ? "within" : "answer");
    const isContinued = ending === "within" && last !== undefined;
    const text = renderProgram(program, {
      ...specialTokens,
      tools: null,
      documents: null,
      ...given,
      messages: isContinued
        ? [...all.slice(0, -1), { ...last, content: last.content + CONTINUED }]
        : all,
      add_generation_prompt: ending === "answer",
    });
    return isContinued ? beforeMark(text, last.content) : text;
  };
  return {
    variables,
    render(messages, given = {}, ending) {
      try {
        return render(messages, given, ending);
      } catch (error) {
        if (error instanceof TemplateError && error.cause instanceof Endless) {
          throw new RgxError(`${where}: the chat template was stopped: ${error.message}`, {
            advice: "Correct the template, or name another one: model.chat_template=FILE.",
            cause: error,
          });
        }
        throw new RgxError(
          `${where}: the chat template does not accept these messages (${
            messages.map((m) => m.role).join(", ") || "none"
          }): ${reasonOf(error)}${
            error instanceof TemplateError ? ` (${position(source, error.at)})` : ""
          }`,
          {
            advice: messages.some((m) => m.role === "system")
              ? "Some models have no system role: try without a system prompt."
              : "",
            cause: error,
          },
        );
      }
    },
  };
}

/** What a template or a value of it has wrong. V8 alone would tell of a call stack. */
function reasonOf(error: unknown): string {
  const cause = error instanceof TemplateError ? error.cause : error;
  const isTooDeep = cause instanceof RangeError && cause.message.includes("call stack");
  return isTooDeep
    ? "a value has thousands of lists or dicts nested in each other"
    : messageOf(error);
}

/**
 * @param known the variables that a template reads; null where there is no template
 * @throws UsageError for a value that templates always get, or that this one does not read
 */
export function checkVariables(
  given: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string> | null,
  key: string,
): void {
  const isReserved = (name: string) => RESERVED_VARIABLES.some((reserved) => reserved === name);
  for (const name of Object.keys(given)) {
    if (known === null) {
      throw new UsageError(`${key}.${name}: the model has no chat template that could read it`, {
        advice: "Name a template with model.chat_template, or leave the key out.",
      });
    }
    if (!isReserved(name) && known.has(name)) continue;
    const others = [...known].filter((other) => !isReserved(other) && !other.endsWith("_token"));
    const why = isReserved(name)
      ? "rgx itself gives it to the template"
      : `the chat template does not read it${didYouMean(name, others)}`;
    throw new UsageError(`${key}.${name}: ${why}`, {
      advice: `The template reads: ${others.sort().join(", ") || "no values of a user"}.`,
    });
  }
}

/**
 * Put after the content of a message that is continued, to find its end in the rendered text. It
 * ends with a blank: a template that removes blanks from the content removes this one too.
 */
const CONTINUED = "\ufdd1 ";

/**
 * The text up to the mark, without the blanks before it where the template removes blanks.
 * @throws Error when the template changes the message or leaves it out
 */
function beforeMark(text: string, content: string): string {
  const at = text.lastIndexOf(CONTINUED.trimEnd());
  if (at < 0 || !text.includes(strip(content))) {
    throw new Error("the assistant's last message cannot be continued: the template changes it");
  }
  const before = text.slice(0, at);
  return text.startsWith(CONTINUED, at) ? before : stripEnd(before);
}

/** Names that models have for an assistant's thoughts. */
const REASONING = ["reasoning_content", "thinking", "reasoning"] as const;

/** A message with its thoughts under the names that templates read, as transformers gives them. */
function withReasoning(message: ChatMessage): ChatMessage {
  const fields: ChatMessage & Record<string, unknown> = { ...message };
  const reasoning = REASONING.map((name) => fields[name]).find((text) => text != null);
  if (reasoning === undefined) return message;
  return { thinking: reasoning, ...fields, reasoning_content: reasoning } as ChatMessage;
}
