/**
 * Problems from the rows of a file (JSON Lines or parquet). The columns of a row:
 * - `prompt`, `question` or `problem`, the first of these that is there;
 * - `answer`, `final_answer`, `solution` or `completion`; none of them is needed;
 * - `metadata`: an object, or its JSON text, as in tables;
 * - `chosen` and `rejected`: two answers, which `rgx dpo` compares;
 * - `teacher_prompt`: the prompt that a teacher sees in place of this one;
 * - `tools`: the tools that the chat template shows, as OpenAI's API has them, or their JSON text;
 * - `chat_template_kwargs`: values for the chat template with this prompt.
 *
 * Rules about the form of the columns:
 * - `prompt` may be a list of chat messages, or its JSON text, as in tables: a conversation, which
 *   becomes the prompt as it is. A `completion` may be a list with an assistant's message, or with
 *   calls of tools, their results and further answers.
 * - `messages` (or ShareGPT's `conversations`) hold a prompt and, where the last message is an
 *   assistant's, a completion: all that follows the last message of a user.
 * - `chosen` and `rejected` may be lists of messages. What both begin with belongs to the prompt;
 *   of texts only where there is no prompt.
 * - In verl's rows `reward_model.ground_truth` is the answer. `rgx tasks export` puts the whole
 *   entry into `extra_info.entry`.
 * - All other columns go to the metadata, which rewards see.
 *
 * A completion is a whole text. The answer is what stands in its answer tags, or all of it where
 * there are no tags; the text itself becomes the metadata's `completion`. So does a worked answer:
 * one that ends with "#### 72", as in GSM8K, or that has its result in a \boxed{…}. A bad row is
 * an error that names its place.
 */
import type { ChatMessage, Tool, ToolCall } from "../core/chat_message.ts";
import { UsageError } from "../core/errors.ts";
import { isRecord } from "../core/json_file.ts";
import { didYouMean } from "../core/suggest.ts";
import { listText } from "../hub/data_files.ts";
import { isTable } from "../hub/choose_files.ts";
import { isBlank } from "../tasks/python/text.ts";
import { hasTask } from "../tasks/registry.ts";
import type { Entry, Preference } from "../tasks/types.ts";
import { type DataRow, describe } from "./read_rows.ts";
import { extractAnswer } from "./extract.ts";
import { readGold, sourceOf } from "./row_answers.ts";
import { withoutInstruction } from "./prompt.ts";
import { FILE_SOURCE } from "./score_completion.ts";

const QUESTION_COLUMNS = ["prompt", "question", "problem"];
const ANSWER_COLUMNS = ["answer", "final_answer", "solution", "completion"];
/** Columns of whole conversations. */
const CHAT_COLUMNS = ["messages", "conversations"];

/**
 * Entries of rows, in order; `metadata.source_index` counts them from 0.
 * @param from the file, for messages
 */
export function entriesOf(rows: readonly DataRow[], from: string): Entry[] {
  if (rows.length === 0) {
    throw new UsageError(`the data file ${from} has no entries`, {
      advice: isTable(from)
        ? "It should have a line of names, such as question,answer, and then a row a line."
        : 'it should have one JSON object a line, such as {"question": "…", "answer": "…"}',
    });
  }
  checkKinds(rows);
  return rows.map(entryOf);
}

/**
 * The rows with the prompts of another column: it takes the place of a column `prompt`.
 * @param column null: the rows as they are
 * @throws UsageError for a row without that column
 */
export function withPrompts(rows: readonly DataRow[], column: string | null): readonly DataRow[] {
  if (column === null) return rows;
  return rows.map((row) => {
    const { [column]: prompt, ...others } = row.columns;
    if (prompt == null) {
      const names = Object.keys(row.columns);
      const found = prompt === null
        ? "it is null here"
        : `its columns: ${listText(names) || "none"}${didYouMean(column, names)}`;
      throw new UsageError(
        `${row.place}: has no prompt in the column ${column}, which data.dataset_prompt_column ` +
          `names (${found})`,
      );
    }
    // This column would be taken anyway, and identifies the format of a data set.
    if (QUESTION_COLUMNS.find((name) => row.columns[name] != null) === column) return row;
    return { ...row, columns: { ...others, prompt } };
  });
}

/** A note that no completion can be right, of all problems or of some; null: all have answers. */
export function withoutAnswers(entries: readonly Entry[]): string | null {
  const isOpen = ({ answer, metadata }: Entry) =>
    answer === null && metadata["source_dataset"] === FILE_SOURCE;
  const open = entries.filter(isOpen).length, all = entries.length;
  if (open === 0) return null;
  const column = `(a column ${ANSWER_COLUMNS.join(", ")}, or reward_model.ground_truth)`;
  if (open === all) {
    return `none of the ${all} problems has an answer ${column}, so no completion is right`;
  }
  return `${open} of the ${all} problems ${open === 1 ? "has" : "have"} no answer ${column}, ` +
    `so no completion of ${open === 1 ? "it" : "them"} is right`;
}

/** @throws UsageError where a column has texts in some rows and conversations in others */
function checkKinds(rows: readonly DataRow[]): void {
  const seen = new Map<string, { isList: boolean; place: string }>();
  for (const { columns, place } of rows) {
    for (const name of ["prompt", "completion"]) {
      const cell = columns[name];
      if (cell == null) continue;
      const isList = Array.isArray(cell), first = seen.get(name);
      if (first === undefined) seen.set(name, { isList, place });
      else if (first.isList !== isList) {
        const kind = (list: boolean) => list ? "a list of messages" : "a text";
        throw new UsageError(
          `${place}: ${name} is ${kind(isList)}, and ${kind(first.isList)} in ${first.place}`,
          { advice: "All rows of a file need the same kind: write all of them as messages." },
        );
      }
    }
  }
}

/** The prompt of a row: a question, and the conversation where the row has one. */
interface RowPrompt {
  question: string;
  messages: ChatMessage[] | null;
}

function entryOf({ columns: row, place }: DataRow, index: number): Entry {
  const columns = withProblemColumns(row, place);
  const { metadata: own, chat_template_kwargs: variables, ...rest } = columns;
  const metadata = objectOf(own);
  const questionColumn = QUESTION_COLUMNS.find((name) => rest[name] != null);
  if (questionColumn === undefined) {
    const empty = [...QUESTION_COLUMNS, ...CHAT_COLUMNS].find((name) => rest[name] === null);
    if (empty !== undefined) throw new UsageError(`${place}: ${empty} is null, expected a prompt`);
    throw new UsageError(
      `${place}: has no column ${QUESTION_COLUMNS.join(", ")} or messages (its columns: ` +
        `${listText(Object.keys(row)) || "none"})`,
    );
  }
  const prompt = promptOf(rest[questionColumn], `${place}: ${questionColumn}`);
  const answerColumn = ANSWER_COLUMNS.find((name) => rest[name] != null);
  const text = (column: string) => textOf(rest[column], `${place}: ${column}`);
  const answered = chatOf(rest["completion"]);
  const answerMessages = answerMessagesOf(answered, `${place}: completion`);
  const completion = answerMessages !== null
    ? answerMessages.at(-1)!.content || null
    : answered == null
    ? null
    : textOf(answered, `${place}: completion`);
  if (Array.isArray(answered) && prompt.messages?.at(-1)?.role === "assistant") {
    throw new UsageError(
      `${place}: the prompt ends with an assistant's message, and the completion is another one`,
      { advice: "Put both into one message of the completion, or a user's message between them." },
    );
  }
  if (metadata != null && !isRecord(metadata)) {
    throw new UsageError(`${place}: metadata must be an object, found ${describe(metadata)}`);
  }
  const task = metadata?.["source_dataset"];
  const isTask = typeof task === "string" && hasTask(task);
  const gold = answerColumn === undefined || answerColumn === "completion" && completion === null
    ? null
    : answerColumn === "completion"
    ? { answer: extractAnswer(completion!) ?? completion!, worked: null }
    : isTask
    ? { answer: text(answerColumn), worked: null }
    : readGold(text(answerColumn));
  const isKept = (name: string) =>
    name !== questionColumn && (name !== answerColumn || gold?.worked != null);
  const others = Object.fromEntries(Object.entries(rest).filter(([name]) => isKept(name)));
  const shown = completion ?? gold?.worked ?? null;
  if (shown !== null) others["completion"] = shown;
  // Entries of a task keep its name, so that its scorer is used.
  const answer = gold?.answer ?? null;
  const source = isTask ? task : sourceOf(answer, gold?.worked ?? null, rest);
  const tools = toolsOf(rest["tools"], `${place}: tools`);
  const given = variablesOf(objectOf(variables), place);
  const templateVariables = tools === null ? given : { tools, ...given };
  const isOneColumn = CHAT_COLUMNS.some((name) => row[name] != null && !(name in columns));
  const kept: Record<string, unknown> = {
    source_index: index,
    difficulty: {},
    ...others,
    ...(variables != null && { chat_template_kwargs: variables }),
    ...metadata,
    source_dataset: source,
  };
  const lost = Object.entries(row).filter(([name, value]) =>
    !["prompt", "completion"].includes(name) && kept[name] !== value
  );
  return {
    question: prompt.question,
    answer,
    metadata: kept,
    ...(lost.length > 0 && { columns: Object.fromEntries(lost) }),
    ...(prompt.messages !== null && { messages: prompt.messages }),
    ...(answerMessages !== null && { answerMessages }),
    ...(isOneColumn && { isOneColumn }),
    ...preferenceOf(rest, place),
    ...teacherPromptOf(rest["teacher_prompt"], `${place}: teacher_prompt`),
    ...(templateVariables !== null && { templateVariables }),
  };
}

function teacherPromptOf(given: unknown, place: string): Pick<Entry, "teacherPrompt"> {
  if (given == null) return {};
  const { question, messages } = promptOf(given, place);
  return { teacherPrompt: { question, ...(messages !== null && { messages }) } };
}

/** @throws UsageError for an empty prompt, or messages after which no answer comes */
function promptOf(given: unknown, place: string): RowPrompt {
  const cell = chatOf(given);
  if (!Array.isArray(cell)) {
    const question = textOf(cell, place);
    if (isBlank(question)) throw new UsageError(`${place} is empty`);
    return { question, messages: null };
  }
  const messages = readMessages(cell, place);
  checkLastRole(messages, place);
  const question = withoutInstruction(conversationText(messages));
  if (isBlank(question)) throw new UsageError(`${place} is empty`);
  return { question, messages };
}

/** A row of a chat or of verl with the columns of a problem. */
function withProblemColumns(
  row: Readonly<Record<string, unknown>>,
  place: string,
): Record<string, unknown> {
  const shared = sharedMessages(row);
  if (shared.length > 0 && !Array.isArray(chatOf(row["prompt"]))) {
    return { ...row, prompt: shared };
  }
  const begun = sharedText(row);
  if (begun !== null) {
    const after = (name: string) => (row[name] as string).slice(begun.length);
    return { ...row, prompt: begun, chosen: after("chosen"), rejected: after("rejected") };
  }
  const chat = CHAT_COLUMNS.find((name) => Array.isArray(chatOf(row[name])));
  if (QUESTION_COLUMNS.every((name) => row[name] == null) && chat !== undefined) {
    const { [chat]: cell, ...rest } = row;
    const messages = readMessages(chatOf(cell) as unknown[], `${place}: ${chat}`);
    if (messages.at(-1)!.role !== "assistant") return { ...rest, prompt: messages };
    const begin = messages.findLastIndex(({ role }) => !["assistant", "tool"].includes(role)) + 1;
    if (begin === 0) {
      throw new UsageError(`${place}: ${chat}: an assistant's message alone, without a prompt`);
    }
    return { ...rest, prompt: messages.slice(0, begin), completion: messages.slice(begin) };
  }
  const verl = objectOf(row["reward_model"]) as { ground_truth?: unknown } | undefined;
  if (typeof verl !== "object" || verl?.ground_truth == null) return { ...row };
  const entry = objectOf((row["extra_info"] as { entry?: unknown } | undefined)?.entry);
  if (typeof (entry as { question?: unknown } | null)?.question === "string") {
    const { question: _, ...others } = entry as Record<string, unknown>;
    return { ...others, prompt: row["prompt"] };
  }
  const truth = onlyOne(verl.ground_truth);
  // Any other kind of answer, such as an object, stays in its column, where rewards find it.
  const isAnswer = (typeof truth === "string" && truth !== "") || typeof truth === "number";
  const hasAnswer = !isAnswer || ANSWER_COLUMNS.some((name) => row[name] != null);
  return hasAnswer ? { ...row } : { ...row, answer: truth };
}

/** The answer in a cell: a text, or messages; null for anything else. */
function answerIn(value: unknown): string | ChatMessage[] | null {
  const cell = chatOf(value);
  if (typeof cell === "string") return cell;
  const isMessage = (one: unknown) =>
    isRecord(one) && typeof (one["role"] ?? one["from"]) === "string" &&
    (typeof (one["content"] ?? one["value"]) === "string" || one["tool_calls"] != null);
  return Array.isArray(cell) && cell.every(isMessage)
    ? cell.map((one) => messageOf(one, ""))
    : null;
}

/** The text with which both answers begin, of rows without a prompt, cut where TRL cuts it. */
function sharedText(row: Readonly<Record<string, unknown>>): string | null {
  const { chosen, rejected } = row;
  const isAsked = [...QUESTION_COLUMNS, ...CHAT_COLUMNS].some((name) => row[name] != null);
  if (isAsked || typeof chosen !== "string" || typeof rejected !== "string") return null;
  if (chatOf(chosen) !== chosen) return null;
  let length = 0;
  while (length < chosen.length && chosen[length] === rejected[length]) length++;
  // A space before an answer belongs to it.
  if (chosen[length - 1] === " ") length--;
  return length > 0 ? chosen.slice(0, length) : null;
}

/** The messages with which both answers begin, if both are lists: all but the last ones at most. */
function sharedMessages(row: Readonly<Record<string, unknown>>): ChatMessage[] {
  const chosen = answerIn(row["chosen"]), rejected = answerIn(row["rejected"]);
  if (!Array.isArray(chosen) || !Array.isArray(rejected)) return [];
  const most = Math.min(chosen.length, rejected.length) - 1;
  const textOf = ({ role, content, tool_calls: calls }: ChatMessage) =>
    JSON.stringify([role, content, calls]);
  const other = chosen.findIndex((message, i) =>
    i >= most || textOf(message) !== textOf(rejected[i]!)
  );
  return chosen.slice(0, Math.max(0, other));
}

function preferenceOf(
  row: Readonly<Record<string, unknown>>,
  place: string,
): { preference?: Preference } {
  const chosen = answerIn(row["chosen"]), rejected = answerIn(row["rejected"]);
  if (chosen === null || rejected === null) return {};
  const after = (answer: typeof chosen) =>
    typeof answer === "string" ? answer : answer.slice(sharedMessages(row).length);
  return { preference: { chosen: after(chosen), rejected: after(rejected), place } };
}

/** The value of a list with one value; other values stay as they are. */
function onlyOne(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/** Parses the JSON text of an object; other values stay as they are. */
function objectOf(value: unknown): unknown {
  return typeof value === "string" && value.startsWith("{") ? jsonOf(value) : value;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Parses the JSON text of a list of messages, as tables have it; other values stay as they are. */
function chatOf(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*\[\s*\{\s*"/.test(value)) return value;
  try {
    const list = JSON.parse(value), first = list[0] as Record<string, unknown>;
    const isChat = Object.hasOwn(first, "role") &&
      (Object.hasOwn(first, "content") || Object.hasOwn(first, "tool_calls"));
    return isChat ? list : value;
  } catch {
    return value;
  }
}

function variablesOf(value: unknown, place: string): Record<string, unknown> | null {
  if (value == null) return null;
  if (isRecord(value)) {
    const given = withoutNulls(value);
    return Object.keys(given).length === 0 ? null : given;
  }
  throw new UsageError(
    `${place}: chat_template_kwargs must be an object, such as {"enable_thinking": false}, found ${
      describe(value)
    }`,
  );
}

/** A text, a number as text, or the content of the only message, which is an assistant's. */
function textOf(value: unknown, place: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one !== "object")) {
    const only = onlyOne(value);
    if (typeof only === "string" || typeof only === "number") return String(only);
    throw new UsageError(`${place}: is a list of ${value.length} values, expected one text`, {
      advice: "An answer is one text. Rewards see all other columns, so lists can stand there.",
    });
  }
  if (Array.isArray(value)) {
    const messages = readMessages(value, place), [message] = messages;
    if (isText(messages)) return message!.content;
    throw new UsageError(
      `${place}: a list must hold exactly one message {"role": "assistant", "content": "…"}, ` +
        `found ${value.length} with the roles ${rolesOf(messages)}`,
    );
  }
  throw new UsageError(
    `${place}: must be a text, a number or a list of messages, found ` +
      describe(value),
  );
}

/** Whether messages are one text of the assistant. */
function isText([message, ...others]: readonly ChatMessage[]): boolean {
  return others.length === 0 && message?.role === "assistant" && message.tool_calls === undefined;
}

function rolesOf(messages: readonly ChatMessage[]): string {
  return messages.map(({ role }) => role).join(", ");
}

/** The messages of an answer that is more than one text; null: it is none of these. */
function answerMessagesOf(cell: unknown, place: string): ChatMessage[] | null {
  if (!Array.isArray(cell) || !isRecord(cell[0])) return null;
  const messages = readMessages(cell, place);
  if (isText(messages)) return null;
  const isAnswer = (i: number) => messages[i]?.role === "assistant";
  if (isAnswer(0) && messages.every((_, i) => !isAnswer(i) || !isAnswer(i + 1))) {
    if (isAnswer(messages.length - 1)) return messages;
  }
  throw new UsageError(
    `${place}: expected messages that begin and end with an assistant's, with others between two ` +
      `of these, found the roles ${rolesOf(messages)}`,
  );
}

/** The tools that a row shows; null: none, or a column of something else. */
function toolsOf(value: unknown, place: string): Tool[] | null {
  const list = typeof value === "string" && value.startsWith("[") ? jsonOf(value) : value;
  if (!Array.isArray(list) || list.length === 0 || !list.every(isRecord)) return null;
  return list.map((item, i) => {
    const tool = withoutNulls(item), called = tool["function"] ?? tool;
    if (isRecord(called) && typeof called["name"] === "string") {
      return { type: "function", function: called } as unknown as Tool;
    }
    throw new UsageError(`${place}: tool ${i + 1} has no name (its fields: ${Object.keys(tool)})`, {
      advice: 'A tool is {"type": "function", "function": {"name": "…", "parameters": {…}}}.',
    });
  });
}

/** A value without the nulls that a table has where another row has a field. */
function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isRecord(value)) return value;
  const given = Object.entries(value).filter(([, inner]) => inner != null);
  return Object.fromEntries(given.map(([name, inner]) => [name, withoutNulls(inner)])) as T;
}

// Chat messages in the columns of a row: as OpenAI and TRL write them (`role`, `content`), or as
// ShareGPT does (`from`, `value`). A message keeps its other fields, since templates may read them.

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
function readMessages(cell: readonly unknown[], place: string): ChatMessage[] {
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
function checkLastRole(messages: readonly ChatMessage[], place: string): void {
  const { role } = messages.at(-1)!;
  if (LAST_ROLES.includes(role)) return;
  const hint = role === "system" ? "" : didYouMean(role, LAST_ROLES);
  throw new UsageError(
    `${place}: the last message has the role ${JSON.stringify(role)}, expected user or tool, or ` +
      `assistant, whose message is continued${hint}`,
  );
}

/**
 * The texts of all messages except the system's, one after the other; they identify a conversation.
 */
function conversationText(messages: readonly ChatMessage[]): string {
  return messages.filter(({ role }) => role !== "system").map(({ content }) => content)
    .join("\n\n");
}

function messageOf(value: unknown, place: string): ChatMessage {
  if (!isRecord(value)) {
    throw new UsageError(
      `${place}: expected an object with role and content, found ${describe(value)}`,
    );
  }
  const { from, value: text, ...fields } = withoutNulls(value);
  const isShareGpt = typeof from === "string" && fields["role"] === undefined;
  const role = isShareGpt ? SHARE_GPT[from] ?? from : fields["role"];
  const content = isShareGpt ? text : fields["content"];
  if (typeof role !== "string" || role === "") {
    const found = Object.keys(value).join(", ") || "none";
    throw new UsageError(`${place}: has no role (its fields: ${found})`, {
      advice: `${EXPECTED}.`,
    });
  }
  const message = { ...fields, role, content: contentOf(content, fields, `${place} (${role})`) };
  const calls = fields["tool_calls"];
  return calls === undefined ? message : { ...message, tool_calls: callsOf(calls, place) };
}

/** Calls of tools. Their arguments are an object, as templates want it, or OpenAI's JSON text. */
function callsOf(given: unknown, place: string): ToolCall[] {
  const calls = typeof given === "string" && given.startsWith("[") ? jsonOf(given) : given;
  if (!Array.isArray(calls)) {
    throw new UsageError(`${place}: tool_calls must be a list, found ${describe(calls)}`);
  }
  return calls.map((call, i) => {
    const called = isRecord(call) ? call["function"] ?? call : null;
    const args = isRecord(called) ? objectOf(called["arguments"] ?? {}) : null;
    if (!isRecord(called) || typeof called["name"] !== "string" || !isRecord(args)) {
      throw new UsageError(`${place}: call ${i + 1} has no name, or no arguments by name`, {
        advice: 'A call is {"type": "function", "function": {"name": "…", "arguments": {}}}.',
      });
    }
    const id = (call as Fields)["id"];
    return {
      ...(typeof id === "string" && { id }),
      type: "function",
      function: { name: called["name"], arguments: args },
    };
  });
}

/** A text; or the text of the only part, in the form that OpenAI's API also takes. */
function contentOf(content: unknown, fields: Fields, place: string): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content) && content.length === 1) {
    const { type, text } = (content[0] ?? {}) as { type?: unknown; text?: unknown };
    if (type === "text" && typeof text === "string") return text;
  }
  if (content === undefined && fields["tool_calls"] !== undefined) return "";
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
