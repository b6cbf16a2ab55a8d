/**
 * The tools of a chat: the fields that name them, how the prompt shows them, the form of calls that
 * must be made, and calls as OpenAI's API has them.
 */
import type { ChatMessage, Tool, ToolCall } from "../core/chat_message.ts";
import { isRecord, jsonObjectOrNull } from "../core/json_file.ts";
import { didYouMean } from "../core/suggest.ts";
import type { Form } from "../models/grammar/token_constraint.ts";
import type { CallPiece } from "../models/tokenizers/dialects/call_pieces.ts";
import {
  type AnswerReader,
  type Dialect,
  dialectOf,
  type ReadCall,
} from "../models/tokenizers/dialects/dialect.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { badRequest } from "./api_error.ts";
import { Fields } from "./fields.ts";

/** The tools that the answers to a request may call. */
export interface ToolUse {
  tools: readonly Tool[];
  dialect: Dialect;
  /** Calls that must be made, and the field that wants them; null = there may be none. */
  held: { form: Form; param: string } | null;
  /** Whether an answer may have several calls. */
  isParallel: boolean;
  /** Whether one tool is named that must be called: OpenAI's API calls such an end "stop". */
  isNamed: boolean;
}

const MAX_TOOLS = 128, NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CHOICES = ["none", "auto", "required"];

/** @returns null where no tool can be called @throws ApiError */
export function toolUse(fields: Fields, tokenizer: Tokenizer): ToolUse | null {
  for (const name of ["functions", "function_call"]) {
    if (fields.raw(name) !== "none") fields.refuse(name, "use tools and tool_choice");
  }
  const tools = toolsOf(fields), choice = choiceOf(fields, tools);
  const isParallel = fields.boolean("parallel_tool_calls", true);
  if (tools.length === 0 || choice === "none") return null;
  const dialect = dialectOf(tokenizer);
  if (choice === "auto") {
    if (dialect.canShowTools) return { tools, dialect, held: null, isParallel, isNamed: false };
    throw badRequest(
      `tools: ${dialect.whyNoTools}; tool_choice: "required", or the name of a tool, works ` +
        "nevertheless",
      "tools",
    );
  }
  const isNamed = choice !== "required";
  const called = isNamed ? tools.filter((tool) => tool.function.name === choice) : tools;
  const form: Form = {
    kind: "calls",
    calls: called.map(({ function: { name, parameters } }) => ({
      name,
      schema: parameters ?? { type: "object", properties: {} },
      path: `tools[${tools.findIndex((tool) => tool.function.name === name)}].function.parameters`,
    })),
    written: dialect.heldForm,
    isMany: isParallel && !isNamed,
  };
  return { tools, dialect, held: { form, param: "tool_choice" }, isParallel, isNamed };
}

function toolsOf(fields: Fields): Tool[] {
  const list = fields.raw("tools") ?? [];
  if (!Array.isArray(list) || list.length > MAX_TOOLS) {
    throw fields.wrong("tools", `a list of at most ${MAX_TOOLS} tools`);
  }
  const names = new Set<string>();
  return list.map((item, i) => {
    const tool = Fields.of(item, `tools[${i}].`);
    if (tool.raw("type") !== "function") throw tool.wrong("type", '"function"');
    const given = tool.object("function"), path = `tools[${i}].function`;
    if (given === undefined) throw tool.wrong("function", "an object with a name");
    const name = given.string("name");
    if (name === undefined || !NAME.test(name)) {
      throw given.wrong("name", "1 to 64 letters, digits, underscores and hyphens");
    }
    if (names.has(name)) {
      throw badRequest(`${path}.name: two tools are named ${name}`, `${path}.name`);
    }
    names.add(name);
    const description = given.string("description"), parameters = given.raw("parameters");
    given.boolean("strict", false);
    if (parameters !== undefined && !(isRecord(parameters) && isOfObjects(parameters))) {
      throw given.wrong("parameters", 'a JSON schema of the type "object"');
    }
    return {
      type: "function",
      function: {
        name,
        ...(description === undefined ? {} : { description }),
        ...(parameters === undefined ? {} : { parameters }),
      },
    };
  });
}

/** Arguments have names, so their schema is one of objects; a tool without any may leave it out. */
function isOfObjects({ type, properties, ...others }: Record<string, unknown>): boolean {
  if (properties !== undefined && !isRecord(properties)) return false;
  return type === "object" || (type === undefined && Object.keys(others).length === 0) ||
    (type === undefined && (properties !== undefined || "$ref" in others || "anyOf" in others));
}

/** "none", "auto", "required" or the name of a tool. */
function choiceOf(fields: Fields, tools: readonly Tool[]): string {
  const given = fields.raw("tool_choice"), names = tools.map((tool) => tool.function.name);
  if (given === undefined) return "auto";
  if (typeof given === "string") {
    if (!CHOICES.includes(given)) {
      throw fields.wrong("tool_choice", `${CHOICES.join(", ")} or a tool`);
    }
    if (given === "required" && tools.length === 0) {
      throw badRequest("tool_choice is required, and there are no tools", "tool_choice");
    }
    return given;
  }
  const chosen = fields.object("tool_choice")!, name = chosen.object("function")?.string("name");
  if (chosen.raw("type") !== "function" || name === undefined) {
    throw fields.wrong("tool_choice", '{"type": "function", "function": {"name": …}}');
  }
  if (names.includes(name)) return name;
  throw badRequest(
    `tool_choice.function.name: there is no tool ${JSON.stringify(name)}${didYouMean(name, names)}`,
    "tool_choice",
  );
}

export interface ShownTools {
  messages: readonly ChatMessage[];
  /** For the chat template; null = they stand in a message, or there are none. */
  tools: readonly Tool[] | null;
}

/** The messages with the tools, in a system message where the chat template cannot show them. */
export function withTools(messages: readonly ChatMessage[], use: ToolUse | null): ShownTools {
  if (use === null) return { messages, tools: null };
  if (use.dialect.canShowTools) return { messages, tools: use.tools };
  const text = "You can call these tools:\n" +
    use.tools.map((tool) => JSON.stringify(tool.function)).join("\n") +
    '\nAnswer with a list of calls: [{"name": …, "arguments": {…}}]';
  const [first, ...rest] = messages;
  const shown = first?.role === "system"
    ? [{ ...first, content: `${first.content}\n\n${text}` }, ...rest]
    : [{ role: "system", content: text }, ...messages];
  return { messages: shown, tools: null };
}

/**
 * The prompt of an answer whose calls must be made: its thoughts are over, and the first call has
 * begun where special tokens begin it.
 */
export function begunCall(prompt: string, { dialect, held }: ToolUse): string {
  if (held === null) return prompt;
  const closed = dialect.thinks(prompt) ? "\n</think>\n\n" : "";
  return prompt + closed + dialect.heldForm.begin;
}

/** @param prompt what the answer follows; "" where the answer goes on in a message */
export function readerOf({ tools, dialect, held }: ToolUse, prompt: string): AnswerReader {
  return held === null ? dialect.read({ prompt, tools }) : dialect.readHeld({ prompt, tools });
}

/** The calls of an assistant's message of the request. @param path of the message */
export function callsOf(message: Fields, path: string): ToolCall[] {
  const list = message.raw("tool_calls") ?? [];
  if (!Array.isArray(list)) throw message.wrong("tool_calls", "a list of calls");
  return list.map((item, i) => {
    const call = Fields.of(item, `${path}.tool_calls[${i}].`), called = call.object("function");
    const name = called?.string("name"), id = call.string("id");
    if (called === undefined || name === undefined) {
      throw call.wrong("function", "an object with name and arguments");
    }
    const given = called.raw("arguments") ?? {};
    const args = typeof given === "string" ? jsonObjectOrNull(given || "{}") : given;
    if (!isRecord(args)) throw called.wrong("arguments", "a text with a JSON object");
    return {
      ...(id === undefined ? {} : { id }),
      type: "function",
      function: { name, arguments: args },
    };
  });
}

/** A call as OpenAI's API has it. */
interface ApiCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** The calls that a client gets, each with an id. */
export class ApiCalls {
  readonly list: ApiCall[] = [];
  #ended = 0;
  #isLeftOut = false;

  constructor(private readonly use: ToolUse) {}

  /** @returns the call that it belongs to; null where only one call is wanted, and there was one */
  add({ name, arguments: more, isWhole = false }: CallPiece): (ApiCall & { index: number }) | null {
    if (name !== undefined) {
      this.#isLeftOut = !this.use.isParallel && this.#ended > 0;
      const call = { name, arguments: "" };
      if (!this.#isLeftOut) this.list.push({ id: newCallId(), type: "function", function: call });
    }
    if (this.#isLeftOut) return null;
    if (isWhole) this.#ended++;
    const index = this.list.length - 1, call = this.list[index]!;
    call.function.arguments += more;
    return { index, ...call };
  }
}

export function wholeCall({ name, arguments: args }: ReadCall): CallPiece {
  return { name, arguments: JSON.stringify(args), isWhole: true };
}

/** Mistral's templates take only ids of nine letters and digits. */
function newCallId(): string {
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const random = crypto.getRandomValues(new Uint8Array(9));
  return [...random].map((byte) => letters[byte % letters.length]).join("");
}
