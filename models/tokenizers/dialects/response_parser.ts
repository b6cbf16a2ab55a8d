/**
 * Reads a model's answer with a response template, whole or while it comes. Parts that are not what
 * their field holds are reported, and the others are still read.
 */
import { messageOf } from "../../../core/errors.ts";
import type { Tool } from "../../../core/chat_message.ts";
import { isRecord } from "../../../core/json_file.ts";
import { castArguments, parseContent, transformed } from "./content.ts";
import type { Edge, Field, ResponseTemplate } from "./response_template.ts";

/** What is known of an answer so far: text of a field as it comes, or a part that has ended. */
export type AnswerEvent =
  | { kind: "begin"; field: string; spec: Field; groups: Readonly<Record<string, string>> }
  /** More of a part; `body`: of one that holds no text. */
  | { kind: "text"; field: string; text: string }
  | { kind: "body"; field: string; text: string }
  | Part & { kind: "part"; value: unknown }
  /** A part that its field cannot hold. */
  | Part & { kind: "fault"; message: string };

interface Part {
  field: string;
  /** All of its text, with what begins and ends it. */
  raw: string;
  /** Whether the answer ended within it. */
  isCut: boolean;
}

interface Found {
  field: Field;
  opens: boolean;
  start: number;
  end: number;
  groups: Record<string, string>;
}

/**
 * When more than KEPT characters have been read, all but the last BEFORE are dropped. Patterns can
 * look back on these.
 */
const KEPT = 4096, BEFORE = 256;

export class ResponseParser {
  /** The end of the answer, of which all before `#at` has been read. */
  #text = "";
  #at = 0;
  /** Null = in the sink, or nowhere. */
  #field: Field | null = null;
  #groups: Record<string, string> = {};
  /** What began the field that is open, and its text so far. */
  #opening = "";
  #body = "";
  #isOpen = false;
  readonly #parameters: ReadonlyMap<string, unknown>;

  /** @param tools arguments that are texts get the types of their schemas */
  constructor(private readonly template: ResponseTemplate, tools: readonly Tool[] = []) {
    this.#parameters = new Map(tools.map(({ function: one }) => [one.name, one.parameters]));
  }

  push(text: string): AnswerEvent[] {
    if (this.#at > KEPT) {
      // A long answer would be searched as a whole, again and again.
      this.#text = this.#text.slice(this.#at - BEFORE);
      this.#at = BEFORE;
    }
    this.#text += text;
    return this.#read(false);
  }

  end(): AnswerEvent[] {
    return this.#read(true);
  }

  /** The field that the next text belongs to; null = none. */
  get field(): string | null {
    return (this.#field ?? this.template.sink)?.name ?? null;
  }

  #read(isWhole: boolean): AnswerEvent[] {
    const events: AnswerEvent[] = [];
    for (;;) {
      const { found, hold } = this.#next(isWhole);
      if (found === null) {
        this.#take(hold, events);
        if (isWhole) this.#close(events, "", (this.#field?.close ?? null) !== null);
        return events;
      }
      this.#take(found.start, events);
      const hadText = this.#isOpen;
      const edge = this.#text.slice(found.start, found.end);
      this.#at = found.end;
      this.#close(events, found.opens ? "" : edge, false);
      if (found.opens) {
        this.#field = found.field;
        this.#groups = found.groups;
        this.#opening = edge;
        this.#isOpen = true;
        const { field, groups } = found;
        events.push({ kind: "begin", field: field.name, spec: field, groups });
      } else if (!hadText && found.start === found.end) {
        // An end without a width, where nothing stands, would be found for ever.
        return events;
      }
    }
  }

  /** The first edge that is sure, and up to where nothing can become an edge. */
  #next(isWhole: boolean): { found: Found | null; hold: number } {
    const { fields, sink } = this.template, length = this.#text.length;
    const edges: [Field, boolean, Edge | null][] = this.#field !== null
      ? [[this.#field, false, this.#field.close]]
      : [
        ...fields.map((field): [Field, boolean, Edge | null] => [field, true, field.open]),
        ...sink === null ? [] : [[sink, false, sink.close] as [Field, boolean, Edge | null]],
      ];
    let found: Found | null = null, hold = length;
    for (const [field, opens, edge] of edges) {
      if (edge === null) continue;
      edge.pattern.lastIndex = this.#at;
      const match = edge.pattern.exec(this.#text);
      const start = match?.index ?? length, end = start + (match?.[0].length ?? 0);
      if (!isWhole) {
        hold = Math.min(hold, this.#pending(edge, start));
        if (match !== null && end === length && (!edge.isFinal || start === end)) {
          hold = Math.min(hold, start);
          continue;
        }
      }
      if (match === null) continue;
      const isBetter = found === null || start < found.start ||
        (start === found.start &&
          (end > found.end || (end === found.end && opens && !found.opens)));
      if (isBetter) found = { field, opens, start, end, groups: { ...match.groups } };
    }
    // An edge that is not sure yet may begin before this one, and be the right one.
    return { found: found !== null && (isWhole || found.start < hold) ? found : null, hold };
  }

  /** Where a match may begin of which the text has only a part. @param before a whole match */
  #pending({ leads }: Edge, before: number): number {
    if (leads === null) return before === this.#at ? this.#text.length : this.#at;
    let first = this.#text.length;
    for (const lead of leads) {
      const whole = this.#text.indexOf(lead, this.#at);
      if (whole >= 0 && whole < before) first = Math.min(first, whole);
      const longest = Math.min(lead.length - 1, this.#text.length - this.#at);
      for (let n = longest; n > 0; n--) {
        if (!this.#text.endsWith(lead.slice(0, n))) continue;
        first = Math.min(first, this.#text.length - n);
        break;
      }
    }
    return first < before ? first : this.#text.length;
  }

  /** Adds the text up to `end` to the open field. */
  #take(end: number, events: AnswerEvent[]): void {
    const text = this.#text.slice(this.#at, end), field = this.#field ?? this.template.sink;
    this.#at = Math.max(this.#at, end);
    if (text === "" || field === null) return;
    this.#isOpen = true;
    this.#body += text;
    const kind = field.content === "text" ? "text" as const : "body" as const;
    events.push({ kind, field: field.name, text });
  }

  /** @param edge the text that ends the open field */
  #close(events: AnswerEvent[], edge: string, isCut: boolean): void {
    const field = this.#field ?? this.template.sink;
    if (this.#isOpen && field !== null) {
      const part = { field: field.name, raw: this.#opening + this.#body + edge, isCut };
      try {
        events.push({ kind: "part", ...part, value: this.#valueOf(field) });
      } catch (error) {
        const isDeep = error instanceof RangeError;
        const message = isDeep ? "its lists are too deep" : messageOf(error);
        events.push({ kind: "fault", ...part, message });
      }
    }
    this.#field = null;
    this.#groups = {};
    this.#opening = this.#body = "";
    this.#isOpen = false;
  }

  #valueOf({ content, args, transform, transformsEach }: Field): unknown {
    const value = parseContent(this.#body, content, args);
    if (transform === undefined) return value;
    if (!transformsEach) {
      return this.#cast(transformed(transform, { ...this.#groups, content: value }));
    }
    if (!Array.isArray(value) || !value.every(isRecord)) throw new Error("not a list of objects");
    return value.map((one) => this.#cast(transformed(transform, { ...this.#groups, ...one })));
  }

  /** A call with its arguments in the types of the schema. */
  #cast(value: unknown): unknown {
    const called = isRecord(value) ? value["function"] : undefined;
    if (!isRecord(called)) return value;
    const { name, arguments: args } = called;
    if (typeof name !== "string" || !isRecord(args)) return value;
    const parameters = this.#parameters.get(name);
    if (parameters === undefined) return value;
    return {
      ...value as object,
      function: { ...called, arguments: castArguments(args, parameters) },
    };
  }
}

/** The end of a prompt that belongs to the answer already, such as `<think>`. */
export function begunAnswer({ anchor }: ResponseTemplate, prompt: string): string {
  let end: number | null = null;
  for (const match of prompt.matchAll(anchor)) end = match.index + match[0].length;
  if (end !== null) return prompt.slice(end);
  return /<think>\s*$/.exec(prompt)?.[0] ?? "";
}
