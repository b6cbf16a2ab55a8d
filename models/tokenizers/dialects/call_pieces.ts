/**
 * Calls while they come: their names, and the JSON text of their arguments piece by piece. The
 * pieces of a whole call are together the JSON of its arguments, as `JSON.stringify` writes it. A
 * call that breaks off has no whole text, so that nobody can run it.
 */
import { isRecord } from "../../../core/json_file.ts";
import { castArguments, parseContent, typesOfArgument } from "./content.ts";
import { type JsonToken, JsonTokens } from "./json_tokens.ts";
import type { Field } from "./response_template.ts";

export interface CallPiece {
  /** The tool, where a call begins. */
  name?: string;
  /** More of the JSON text of the arguments. */
  arguments: string;
  /** Whether the call has ended and may be run. */
  isWhole?: boolean;
}

/** The calls in one part of an answer. */
export interface CallPieces {
  push(text: string): CallPiece[];
  /** How many calls have been given to their end. */
  readonly ended: number;
  /** What is left of a call that has begun; null = none has, or it is broken. */
  rest(): string | null;
  /** What is wrong with a call that has begun and has no `rest`, for messages. */
  readonly fault: string;
  /** Whether a call has begun that has not ended. */
  readonly isOpen: boolean;
}

type Parameters = (tool: string) => unknown;

/** Where the parts of a call stand: in a key of an object, or null = it is all of the content. */
interface Form {
  /** Undefined = it was found where the call begins. */
  name: string | undefined;
  args: string | null;
  isList: boolean;
}

/**
 * Reads the calls of a field as they come.
 * @param groups what was found where it begins
 * @returns null where the form of calls is known only at their end
 */
export function callPieces(
  field: Field,
  groups: Readonly<Record<string, string>>,
  parameters: Parameters,
): CallPieces | null {
  const form = formOf(field), name = form?.name === undefined ? groups["name"] : undefined;
  if (form === null || (form.name === undefined && name === undefined)) return null;
  const { content, args } = field;
  if (content === "json" && args["allow_non_json"] !== true) {
    return new JsonCalls(form, name, new JsonTokens(args), parameters);
  }
  const isTags = content === "xml-inline" && args["merge_duplicates"] !== true;
  return isTags && name !== undefined && form.args === null
    ? new TagCall(name, args, parameters(name))
    : null;
}

/** The form of a field's calls, as its `transform` says; null = it is known only at their end. */
function formOf({ transform, transformsEach: isList }: Field): Form | null {
  const called = isRecord(transform) ? transform["function"] : undefined;
  if (called === "{content}" && !isList) return { name: "name", args: "arguments", isList };
  if (!isRecord(called)) return null;
  const pattern = isList ? /^\{(\w+)\}$/ : /^\{content(?:\.(\w+))?\}$/;
  const args = pattern.exec(String(called["arguments"])),
    name = pattern.exec(String(called["name"]));
  if (args === null || (name === null && called["name"] !== "{name}")) return null;
  return name?.[0] === "{content}" ? null : { name: name?.[1], args: args[1] ?? null, isList };
}

class JsonCalls implements CallPieces {
  readonly fault = "a call has its name or its arguments twice";
  ended = 0;
  isOpen = false;
  /** The tool; undefined = it is not known yet. */
  #name: string | undefined;
  /** The key of a call that was read last. */
  #key = "";
  /** How many lists and objects are open around the arguments, and within them. */
  #depth = 0;
  readonly #inner: { isList: boolean; count: number }[] = [];
  /** Whether the arguments have ended, but for their last bracket. */
  #isWhole = false;
  /** Whether the rest is known only at the end. */
  #waits = false;
  #text = "";
  /** The argument that was begun last. */
  #argument = "";
  /** The JSON of a value that waits for its end; null = there is none. */
  #held: string | null = null;
  /** How deep the arguments stand. */
  readonly #at: number;

  constructor(
    private readonly form: Form,
    private readonly given: string | undefined,
    private readonly tokens: JsonTokens,
    private readonly parameters: Parameters,
  ) {
    this.#name = given;
    this.#at = (form.isList ? 1 : 0) + (form.args === null ? 0 : 1);
  }

  push(text: string): CallPiece[] {
    const pieces: CallPiece[] = [];
    for (const token of this.tokens.push(text)) {
      if (this.#waits) break;
      const wasOpen = this.isOpen, isEnd = this.#take(token);
      const begins = !wasOpen && this.isOpen, last = pieces.at(-1);
      const isNew = begins || last === undefined || last.isWhole === true;
      if (isNew && (begins || isEnd || this.#text !== "")) {
        pieces.push({ ...begins ? { name: this.#name! } : {}, arguments: this.#text });
      } else if (!isNew) last.arguments += this.#text;
      if (isEnd) pieces.at(-1)!.isWhole = true;
      this.#text = "";
    }
    return pieces;
  }

  rest(): string | null {
    return this.isOpen && this.#isWhole && !this.form.isList && !this.#waits ? "}" : null;
  }

  /** @returns whether a call of a list has ended */
  #take(token: JsonToken): boolean {
    const { isList, name, args } = this.form, { kind, text } = token;
    if (this.#inner.length > 0) {
      this.#write(token);
      return false;
    }
    if (kind === "close") this.#depth--;
    const depth = this.#depth;
    if (kind === "key") this.#key = text;
    else if (kind === "close") return isList && depth === 1 && this.#endOfItem();
    else if (depth === this.#at && kind === "text" && this.#key === name) {
      // A second name would come too late.
      this.#waits ||= this.isOpen;
      this.#name = token.isFirst ? text : this.#name + text;
    } else if (depth === this.#at && (args === null || this.#key === args)) {
      // Arguments before the name, twice or of another type are known at the end.
      this.#waits = kind !== "open" || text !== "{" || !this.#name || this.isOpen;
      if (this.#waits) return false;
      this.isOpen = true;
      this.#isWhole = false;
      this.#write(token);
    } else if (kind === "open") this.#depth++;
    return false;
  }

  #endOfItem(): boolean {
    const isEnd = this.isOpen;
    if (isEnd) this.ended++;
    else this.#waits = true;
    this.#text = isEnd ? "}" : "";
    this.isOpen = false;
    this.#name = this.given;
    return isEnd;
  }

  #write(token: JsonToken): void {
    const { kind, text } = token, inner = this.#inner, around = inner.at(-1);
    const isFirst = kind !== "close" && (kind !== "text" || token.isFirst);
    if (isFirst && around !== undefined && (around.isList || kind === "key")) {
      if (around.count++ > 0) this.#put(",");
    }
    if (isFirst && kind !== "key" && inner.length === 1) this.#holdIfCast(token);
    switch (kind) {
      case "key":
        this.#put(`${JSON.stringify(text)}:`);
        if (inner.length === 1) this.#argument = text;
        return;
      case "open":
        inner.push({ isList: text === "[", count: 0 });
        this.#put(text);
        return;
      case "close":
        inner.pop();
        this.#isWhole = inner.length === 0;
        // Only the end of the call says that it is whole.
        if (!this.#isWhole) this.#put(text);
        break;
      case "text": {
        const written = JSON.stringify(text).slice(1, -1);
        this.#put(`${token.isFirst ? '"' : ""}${written}${token.isLast ? '"' : ""}`);
        if (!token.isLast) return;
        break;
      }
      case "value":
        this.#put(JSON.stringify(JSON.parse(text)));
    }
    if (inner.length === 1) this.#release();
  }

  #put(text: string): void {
    if (this.#held === null) this.#text += text;
    else this.#held += text;
  }

  /** A value that may be cast to another type waits for its end. */
  #holdIfCast({ kind, text }: JsonToken): void {
    const types = typesOfArgument(this.parameters(this.#name!), this.#argument);
    const isText = kind === "text" && types.some((type) => type !== "string");
    const isList = text === "[" && types.length > 0 && !types.includes("array");
    if (isText || isList) this.#held = "";
  }

  #release(): void {
    if (this.#held === null) return;
    const key = this.#argument, args = { [key]: JSON.parse(this.#held) };
    this.#held = null;
    this.#put(JSON.stringify(castArguments(args, this.parameters(this.#name!))[key]));
  }
}

class TagCall implements CallPieces {
  readonly fault = "a tag has no end";
  readonly ended = 0;
  isOpen = false;
  #text = "";
  #at = 0;
  #count = 0;
  readonly #tag: RegExp;

  constructor(
    private readonly name: string,
    private readonly args: Field["args"],
    private readonly parameters: unknown,
  ) {
    this.#tag = new RegExp(args["tag"] as RegExp);
  }

  push(text: string): CallPiece[] {
    this.#text += text;
    const begins = !this.isOpen;
    this.isOpen = true;
    // A tag at the end of the text might go on.
    const more = text.includes(">") ? this.#read(this.#text.length - 1) : "";
    if (begins) return [{ name: this.name, arguments: more }];
    return more === "" ? [] : [{ arguments: more }];
  }

  rest(): string | null {
    const more = this.#read(this.#text.length);
    // A value that is cut off must not be left out as if it were not there.
    if (/<\w/.test(this.#text.slice(this.#at))) return null;
    return `${more}${this.#count === 0 ? "{" : ""}}`;
  }

  #read(end: number): string {
    const tag = this.#tag;
    let read = "";
    for (;;) {
      tag.lastIndex = this.#at;
      const [found] = tag.exec(this.#text) ?? [];
      if (found === undefined || tag.lastIndex > end) return read;
      this.#at = tag.lastIndex;
      const args = parseContent(found, "xml-inline", this.args) as Record<string, unknown>;
      for (const [key, value] of Object.entries(castArguments(args, this.parameters))) {
        read += `${this.#count++ === 0 ? "{" : ","}${JSON.stringify(key)}:${JSON.stringify(value)}`;
      }
    }
  }
}
