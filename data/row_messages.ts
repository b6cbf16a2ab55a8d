/**
 * Chat messages in the columns of a row: as OpenAI and TRL write them (`role`, `content`), or as
 * ShareGPT does (`from`, `value`). A message keeps its other fields, since templates may read them.
 */
import type { ChatMessage } from "../core/chat_message.ts";
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { describe } from "./read_rows.ts";

type Fields = Readonly<Record<string, unknown>>;

const EXPECTED = 'a message is {"role": "user", "content": "…"}';
/** ShareGPT's names of roles. */
const SHARE_GPT: Readonly<Record<string, string>> = {
  human: "user",
  gpt: "assistant",
  chatgpt: "assistant",
  bing: "assistant",
  bard: "assistant",
};
/** Roles after which an answer is expected, or which can be continued. */
const LAST_ROLES = ["user", "tool", "assistant"];

/**
 * The messages in a cell.
 * @param place file, line and column, for messages
 * @throws UsageError when the list is empty, or for a message without role or text
 */
export function readMessages(cell: readonly unknown[], place: string): ChatMessage[] {
  if (cell.length === 0) {
    throw new UsageError(`${place}: an empty list, expected one message or more`, {
      advice: `${EXPECTED}.`,
    });
  }
  return cell.map((message, i) => messageOf(message, `${place}: message ${i + 1}`));
}

/**
 * Checks that a model can go on after these messages.
 * @throws UsageError when the last message is no user's, tool's or assistant's
 */
export function checkLastRole(messages: readonly ChatMessage[], place: string): void {
  const { role } = messages.at(-1)!;
  if (LAST_ROLES.includes(role)) return;
  const hint = role === "system" ? "" : didYouMean(role, LAST_ROLES);
  throw new UsageError(
    `${place}: the last message has the role ${JSON.stringify(role)}, expected user or tool, or ` +
      `assistant, whose message is continued${hint}`,
  );
}

/** The texts of all messages but the system's, one after the other: names a conversation. */
export function conversationText(messages: readonly ChatMessage[]): string {
  return messages.filter(({ role }) => role !== "system").map(({ content }) => content)
    .join("\n\n");
}

function messageOf(value: unknown, place: string): ChatMessage {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsageError(
      `${place}: expected an object with role and content, found ${describe(value)}`,
    );
  }
  // A table has null where another message has a field.
  const given = Object.entries(value as Fields).filter(([, field]) => field != null);
  const { from, value: text, ...fields } = Object.fromEntries(given);
  const isShareGpt = typeof from === "string" && fields["role"] === undefined;
  const role = isShareGpt ? SHARE_GPT[from] ?? from : fields["role"];
  const content = isShareGpt ? text : fields["content"];
  if (typeof role !== "string" || role === "") {
    const found = Object.keys(value).join(", ") || "none";
    throw new UsageError(`${place}: has no role (its fields: ${found})`, {
      advice: `${EXPECTED}.`,
    });
  }
  return { ...fields, role, content: contentOf(content, fields, `${place} (${role})`) };
}

/** A text; or the text of the only part, in the form that OpenAI's API also takes. */
function contentOf(content: unknown, fields: Fields, place: string): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content) && content.length === 1) {
    const { type, text } = (content[0] ?? {}) as { type?: unknown; text?: unknown };
    if (type === "text" && typeof text === "string") return text;
  }
  if (content === undefined && fields["tool_calls"] !== undefined) {
    throw new UsageError(`${place}: calls tools and has no text: tools are not supported`, {
      advice: "Leave such conversations out, or write what the call does as the content.",
    });
  }
  if (content === undefined) {
    const found = Object.keys(fields).join(", ");
    throw new UsageError(`${place}: has no content (its fields: ${found})`, {
      advice: `${EXPECTED}.`,
    });
  }
  throw new UsageError(`${place}: the content must be a text, found ${describe(content)}`, {
    advice: Array.isArray(content)
      ? "Join several parts of text into one; images and sound are not supported."
      : `${EXPECTED}.`,
  });
}
