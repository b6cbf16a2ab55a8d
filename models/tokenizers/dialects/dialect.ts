/**
 * How a model calls tools: reads the calls in its answers, and makes the ids that lead from a call
 * and its results, or from an answer and the next message, to the model's next turn.
 */
import type { ChatMessage, Tool } from "../../../core/chat_message.ts";
import { messageOf, RgxError, UsageError } from "../../../core/errors.ts";
import { isRecord, jsonObjectOrNull } from "../../../core/json_file.ts";
import { didYouMean } from "../../../core/suggest.ts";
import type { LocalTime } from "../../../core/local_time.ts";
import type { Tokenizer } from "../types.ts";
import { type CallPiece, type CallPieces, callPieces } from "./call_pieces.ts";
import { FAMILIES, type Family, JSON_LIST, JSON_LIST_TEMPLATE, type Written } from "./families.ts";
import { type AnswerEvent, begunAnswer, ResponseParser } from "./response_parser.ts";
import { compileResponseTemplate, type ResponseTemplate } from "./response_template.ts";

/** A call that a model has written. */
export interface ReadCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** Something in an answer that looks like a call and is none. */
export interface CallFault {
  /** `cut`: the answer ended within the call, so it must not be run. */
  kind: "malformed" | "cut";
  message: string;
}

export interface Answer {
  content: string;
  /** What the model thought before it. */
  reasoning?: string;
  toolCalls: ReadCall[];
  errors: CallFault[];
}

/** What is new in an answer while it comes. */
export type AnswerDelta = { content: string } | { reasoning: string } | { call: CallPiece };

export interface ReadOptions {
  /** The text before the answer, of which the end may belong to it: templates write `<think>`. */
  prompt?: string;
  tools?: readonly Tool[];
}

type Variables = Readonly<Record<string, unknown>>;

/** Tokens that end a message in chat templates; a model may have others for the end of a text. */
const ENDS = ["<|im_end|>", "<|eot_id|>", "<|end|>"];

export class Dialect {
  /** How calls are written that are held to a schema. */
  readonly heldForm: Written;
  /** Tokens that end a turn: sampling stops at each of them. */
  readonly stopIds: readonly number[];
  readonly #cuts: ReadonlySet<number>;
  readonly #stopTexts: readonly string[];
  #whyNotShown: string | null | undefined;
  readonly #cutCounts = new Map<string, number | null>();

  constructor(
    readonly name: string,
    private readonly tokenizer: Tokenizer,
    private readonly template: ResponseTemplate,
    { stops = [], written = JSON_LIST }: Pick<Family, "stops" | "written">,
  ) {
    this.heldForm = written;
    const idsOf = (tokens: readonly string[]) =>
      tokens.map((token) => tokenizer.tokenId(token)).filter((id) => id !== null);
    this.stopIds = [...new Set([...idsOf(stops), tokenizer.eosId])].filter((id) => id !== null);
    this.#cuts = new Set([...this.stopIds, ...idsOf(ENDS)]);
    this.#stopTexts = this.stopIds.map((id) => tokenizer.decode([id]));
  }

  /** Reads an answer. @param text with its special tokens, also the one that ends it */
  parse(text: string, options: ReadOptions = {}): Answer {
    const reader = this.read(options);
    reader.push(text);
    reader.end();
    return reader.answer;
  }

  read({ prompt = "", tools = [] }: ReadOptions = {}): AnswerReader {
    const begun = begunAnswer(this.template, prompt);
    return new AnswerReader(this.template, tools, begun, this.#stopTexts);
  }

  /** Reads an answer that is held to calls, which may be a list in JSON. */
  readHeld({ prompt = "", tools = [] }: ReadOptions = {}): AnswerReader {
    if (this.heldForm !== JSON_LIST) return this.read({ prompt, tools });
    return new AnswerReader(jsonList(), tools, "", this.#stopTexts, true);
  }

  /** Whether a prompt ends within the thoughts of an answer. */
  thinks(prompt: string): boolean {
    const parser = new ResponseParser(this.template);
    parser.push(begunAnswer(this.template, prompt));
    return ![null, "content", "tool_calls"].includes(parser.field);
  }

  /** Whether its chat template shows tools, calls and results, and rgx reads its calls. */
  get canShowTools(): boolean {
    return this.whyNoTools === null;
  }

  /** Why tools cannot be used; null = they can. */
  get whyNoTools(): string | null {
    if (this.whyNotShown !== null) return this.whyNotShown;
    if (this.template.fields.some(({ name }) => name === "tool_calls")) return null;
    const names = [...new Set(FAMILIES.map(({ name }) => name))].slice(0, -1).join(", ");
    return `rgx does not know how its chat template writes calls (known: ${names})`;
  }

  /** Why its chat template does not show tools, calls and results; null = it does. */
  get whyNotShown(): string | null {
    if (this.#whyNotShown === undefined) this.#whyNotShown = this.#findWhyNotShown();
    return this.#whyNotShown;
  }

  #findWhyNotShown(): string | null {
    if (this.tokenizer.chatVariables === null) return "the model has no chat template";
    let text: string;
    const tool = { name: "shown_tool", description: "shown_text", parameters: {} };
    try {
      const variables = { tools: [{ type: "function", function: tool }] };
      text = this.#render([resultOf("called_tool", "shown_result")], variables);
    } catch (error) {
      return `the chat template refuses calls and results: ${messageOf(error)}`;
    }
    const needed = { shown_tool: "tools", called_tool: "calls", shown_result: "results of tools" };
    for (const [mark, what] of Object.entries({ ...needed, [ARGUMENT]: "arguments of calls" })) {
      if (!text.includes(mark)) return `the chat template leaves out ${what}`;
    }
    return null;
  }

  /**
   * The ids to append to an answer, of which the last is the token that ended it, so that the
   * model's next turn follows. What was sampled is never encoded again.
   * @param messages the results of all calls (`role: tool`, with `name`), or a message of the user
   * @throws RgxError when the template refuses them or does not say where an answer ends
   */
  bridge(messages: readonly ChatMessage[], variables: Variables = {}): number[] {
    const first = messages[0];
    if (first === undefined) throw new RgxError("there is no message to go on with");
    const given = { ...variables, tools: null };
    const key = JSON.stringify([first.role, given]);
    let cuts = this.#cutCounts.get(key);
    if (cuts === undefined) {
      this.#cutCounts.set(key, cuts = this.#countCuts({ ...first, content: CONTENT }, given));
    }
    const text = this.#render(messages, given);
    if (cuts === null) {
      // The template has no token between two messages.
      return this.#encode(text.slice(text.indexOf(ANSWER) + ANSWER.length));
    }
    const ids = this.#encode(text);
    let seen = 0;
    return ids.slice(ids.findIndex((id) => this.#cuts.has(id) && ++seen === cuts) + 1);
  }

  /**
   * How many ends of messages stand before what follows an answer.
   * @param message with CONTENT
   * @returns null when none stands between the two
   */
  #countCuts(message: ChatMessage, variables: Variables): number | null {
    const { before, between } = this.#ends(message, variables);
    if (between.length > 0) return before + between.length;
    if (message.role !== "tool") return null;
    throw new RgxError("the chat template does not end a call with a token", {
      advice: "It needs the end token of the tokenizer (or of a turn) behind a call.",
    });
  }

  /**
   * The ends of messages that the template writes: how many before the end of an answer (or call),
   * and those from there to the content of the next message.
   * @param message with CONTENT
   */
  #ends(message: ChatMessage, variables: Variables): { before: number; between: number[] } {
    const text = this.#render([message], variables);
    const endsTo = (mark: string) => {
      const at = text.lastIndexOf(mark);
      if (at < 0) throw new RgxError(`the chat template leaves out messages of ${message.role}`);
      return this.#encode(text.slice(0, at)).filter((id) => this.#cuts.has(id));
    };
    const before = endsTo(message.role === "tool" ? ARGUMENT : ANSWER).length;
    return { before, between: endsTo(CONTENT).slice(before) };
  }

  /** A user's message, an answer or call, and what follows it. */
  #render(messages: readonly ChatMessage[], variables: Variables): string {
    const first = messages[0]!, calls = first.role === "tool";
    const id = first.tool_call_id ?? callId(0);
    const call = {
      id,
      type: "function",
      function: { name: first.name ?? "", arguments: { [ARGUMENT]: ARGUMENT } },
    } as const;
    const answer = calls
      ? { role: "assistant", content: "", tool_calls: [call] }
      : { role: "assistant", content: ANSWER };
    const all = [
      { role: "user", content: "dummy" },
      answer,
      ...messages.map((one, i) => calls ? { ...one, tool_call_id: i === 0 ? id : callId(i) } : one),
    ];
    const text = this.tokenizer.applyChatTemplate(all, variables, undefined, "answer");
    if (text !== null) return text;
    throw new UsageError("the model has no chat template, so turns cannot follow one another", {
      advice: "Name a template with model.chat_template.",
    });
  }

  /**
   * The ids of a worked answer to messages, to the token that ends it.
   * @throws UsageError when the template does not write it where an answer begins
   */
  answerIds(
    messages: readonly ChatMessage[],
    answer: ChatMessage,
    variables: Variables = {},
    time: LocalTime | undefined = undefined,
  ): number[] {
    const before = this.tokenizer.applyChatTemplate(messages, variables, time, "answer")!;
    const all = [...messages, answer];
    const text = this.tokenizer.applyChatTemplate(all, variables, time, "message")!;
    if (!text.startsWith(before)) {
      throw new UsageError("the chat template does not write an answer where one begins", {
        advice: "Correct the template, or name another one: model.chat_template=FILE.",
      });
    }
    const ids = this.#encode(text.slice(before.length));
    const end = ids.findLastIndex((id) => this.#cuts.has(id));
    if (end >= 0) return ids.slice(0, end + 1);
    // The token that ends it belongs to the next message.
    const next = answer.tool_calls ? resultOf("", CONTENT) : { role: "user", content: CONTENT };
    const closing = this.#ends(next, { ...variables, tools: null }).between[0] ??
      this.tokenizer.eosId;
    return closing === null ? ids : [...ids, closing];
  }

  #encode(text: string): number[] {
    return this.tokenizer.encode(text, { addSpecialTokens: false });
  }

  /**
   * Whether the chat template shows the thoughts of the last answer, and leaves them out when a
   * message follows it. Appended ids keep them.
   */
  dropsReasoning(variables: Variables = {}): boolean {
    const user = { role: "user", content: "dummy" };
    const messages = [user, { role: "assistant", content: ANSWER, reasoning_content: CONTENT }];
    const shows = (more: ChatMessage[]) =>
      this.tokenizer.applyChatTemplate([...messages, ...more], variables, undefined, "message")
        ?.includes(CONTENT) ?? false;
    return shows([]) && !shows([user]);
  }
}

// Texts that no template writes by itself.
const ANSWER = "an_answer_c1f7", ARGUMENT = "an_argument_c1f7", CONTENT = "a_content_c1f7";

function resultOf(name: string, content: string): ChatMessage {
  return { role: "tool", name, content };
}

/** Mistral's templates want nine letters and digits. */
export function callId(number: number): string {
  return `call${String(number).padStart(5, "0")}`;
}

export class AnswerReader {
  readonly #content = new Trimmed();
  readonly #reasoning = new Trimmed();
  readonly #calls: ReadCall[] = [];
  readonly #errors: CallFault[] = [];
  readonly #parser: ResponseParser;
  /** The calls of the part that is open, as they come. */
  #pieces: CallPieces | null = null;
  /** The whole answer, if its template has no field for text outside of the other fields. */
  #loose = "";
  readonly #hasSink: boolean;
  /** What is new in the beginning. */
  #early: AnswerDelta[];

  constructor(
    template: ResponseTemplate,
    private readonly tools: readonly Tool[],
    begun: string,
    private readonly stopTexts: readonly string[],
    /** Whether the token that ends the answer is not read: nothing else would end a call. */
    private readonly dropsStops = false,
  ) {
    this.#parser = new ResponseParser(template, tools);
    this.#hasSink = template.sink !== null;
    this.#early = this.#read(begun);
  }

  get answer(): Answer {
    const reasoning = this.#reasoning.text;
    return {
      content: this.#content.text,
      ...(reasoning === "" ? {} : { reasoning }),
      toolCalls: [...this.#calls],
      errors: [...this.#errors],
    };
  }

  /** @param text with special tokens */
  push(text: string): AnswerDelta[] {
    const early = this.#early;
    this.#early = [];
    return [...early, ...this.#read(this.dropsStops ? this.#withoutStops(text) : text)];
  }

  #read(text: string): AnswerDelta[] {
    if (!this.#hasSink) this.#loose += text;
    return this.#parser.push(text).flatMap((event) => this.#deltas(event));
  }

  #withoutStops(text: string): string {
    return this.stopTexts.reduce((left, stop) => left.replaceAll(stop, ""), text);
  }

  /** @param isWhole whether it ended by itself: its last token may be missing in the text */
  end(isWhole = false): AnswerDelta[] {
    const rest = isWhole ? this.push(this.stopTexts[0] ?? "") : [];
    const last = this.#parser.end().flatMap((event) => this.#deltas(event));
    return [...rest, ...last, ...this.#unread()];
  }

  /** A text that has none of the fields of its template is shown as it is. */
  #unread(): AnswerDelta[] {
    const { content, reasoning, toolCalls, errors } = this.answer;
    const isRead = content !== "" || reasoning !== undefined ||
      toolCalls.length + errors.length > 0;
    const raw = this.#withoutEnd(this.#loose);
    if (isRead || raw === "") return [];
    this.#errors.push({ kind: "malformed", message: `nothing in it could be read: ${short(raw)}` });
    return [{ content: this.#content.add(raw) }];
  }

  #deltas(event: AnswerEvent): AnswerDelta[] {
    const { field, kind } = event;
    if (field === "tool_calls") return this.#callDeltas(event);
    const isContent = field === "content", out = isContent ? this.#content : this.#reasoning;
    if (kind === "begin" || kind === "body") return [];
    if (kind !== "text") return out.endPart();
    const added = out.add(this.#withoutStops(event.text));
    return added === "" ? [] : [isContent ? { content: added } : { reasoning: added }];
  }

  #callDeltas(event: AnswerEvent): AnswerDelta[] {
    if (event.kind === "begin") {
      const parameters = (name: string) =>
        this.tools.find(({ function: one }) => one.name === name)?.function.parameters;
      this.#pieces = callPieces(event.spec, event.groups, parameters);
      return this.#shown(this.#pieces?.push("") ?? []);
    }
    if (event.kind === "body") return this.#shown(this.#pieces?.push(event.text) ?? []);
    if (event.kind === "text") return [];
    const pieces = this.#pieces, rest = pieces?.rest() ?? null;
    this.#pieces = null;
    const { isCut, kind } = event;
    const calls = kind === "part" && !isCut ? [event.value].flat().map(callOf) : [];
    const isRead = calls.length > 0 && calls.every((call) => call !== null);
    const isKnown = pieces?.isOpen !== true || rest !== null;
    if (isRead && isKnown) {
      this.#calls.push(...calls);
      const left = calls.slice(pieces?.ended ?? 0).map((call, i): CallPiece =>
        i === 0 && rest !== null
          ? { arguments: rest, isWhole: true }
          : { name: call.name, arguments: JSON.stringify(call.arguments), isWhole: true }
      );
      return this.#shown(left);
    }
    const raw = this.#withoutEnd(event.raw), shown = short(raw);
    const why = isCut
      ? "the answer ends within a call"
      : kind === "fault"
      ? event.message
      : isRead
      ? pieces!.fault
      : "a call has no name, or its arguments are no object";
    this.#errors.push({ kind: isCut ? "cut" : "malformed", message: `${why}: ${shown}` });
    const added = this.#content.add(raw);
    this.#content.endPart();
    return added === "" ? [] : [{ content: added }];
  }

  /** A text without the token that ends the answer. */
  #withoutEnd(text: string): string {
    const raw = text.trim(), end = this.stopTexts.find((stop) => raw.endsWith(stop)) ?? "";
    return raw.slice(0, raw.length - end.length).trim();
  }

  #shown(pieces: readonly CallPiece[]): AnswerDelta[] {
    return pieces.map((call) => ({ call }));
  }
}

function short(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** The call in a value of a response template; null when it has another form. */
function callOf(value: unknown): ReadCall | null {
  const called = isRecord(value) ? value["function"] : undefined;
  if (!isRecord(called)) return null;
  const { name, arguments: given } = called;
  const args = typeof given === "string" ? jsonObjectOrNull(given) : given ?? {};
  return typeof name === "string" && name !== "" && isRecord(args)
    ? { name, arguments: args }
    : null;
}

/** Parts of a text, each without the blanks around it, as they come. */
class Trimmed {
  text = "";
  #blanks = "";
  #isNew = true;

  /** @returns what can be shown of it */
  add(text: string): string {
    let more = this.#blanks + text;
    if (this.#isNew) more = more.trimStart();
    this.#blanks = "";
    if (more === "") return "";
    if (this.#isNew && this.text !== "") more = `\n${more}`;
    this.#isNew = false;
    const shown = more.trimEnd();
    this.#blanks = more.slice(shown.length);
    this.text += shown;
    return shown;
  }

  endPart(): [] {
    this.#blanks = "";
    this.#isNew = true;
    return [];
  }
}

let compiledList: ResponseTemplate | null = null;

function jsonList(): ResponseTemplate {
  return compiledList ??= compileResponseTemplate(JSON_LIST_TEMPLATE, "calls in JSON", true);
}

const known = new WeakMap<Tokenizer, Map<string, Dialect>>();

/**
 * The dialect of a model: that of the `response_template` in its files, or else the one that its
 * chat template tells.
 * @param format the name of another one; default: auto
 * @throws UsageError for a name that there is not, or a response template that is wrong
 */
export function dialectOf(tokenizer: Tokenizer, format = "auto"): Dialect {
  let dialects = known.get(tokenizer);
  if (dialects === undefined) known.set(tokenizer, dialects = new Map());
  let dialect = dialects.get(format);
  if (dialect === undefined) dialects.set(format, dialect = makeDialect(tokenizer, format));
  return dialect;
}

function makeDialect(tokenizer: Tokenizer, format: string): Dialect {
  const config = jsonObjectOrNull(tokenizer.files().get("tokenizer_config.json") ?? "{}") ?? {};
  const chat = tokenizer.files().get("chat_template.jinja") ??
    JSON.stringify(config["chat_template"] ?? "").replaceAll('\\"', '"');
  const fits = ({ marks }: Family) => marks.every((mark) => chat.includes(mark));
  const own = config["response_template"];
  const named = FAMILIES.filter(({ name }) => name === format);
  if (format !== "auto" && named.length === 0) {
    const names = ["auto", ...new Set(FAMILIES.map(({ name }) => name))];
    throw new UsageError(`format ${format}: no such dialect${didYouMean(format, names)}`, {
      advice: `The dialects are ${names.join(", ")}.`,
    });
  }
  const family = named.find(fits) ?? named[0] ?? FAMILIES.find(fits)!;
  if (format === "auto" && own !== undefined) {
    try {
      const template = compileResponseTemplate(own, "tokenizer_config.json: response_template");
      return new Dialect("response_template", tokenizer, template, family);
    } catch (error) {
      if (!(error instanceof UsageError) || family.marks.length === 0) throw error;
    }
  }
  const template = compileResponseTemplate(family.template, family.name, true);
  return new Dialect(family.name, tokenizer, template, family);
}
