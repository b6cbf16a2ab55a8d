/**
 * Where a chat template is wrong. The library says neither line nor tag, and of a block without an
 * end it says only that something is undefined. So the tags are read here, one by one: the first
 * that cannot be read alone, or that opens or ends a block wrongly, is the fault.
 */
import { Template } from "@huggingface/jinja";
import { didYouMean } from "../../core/suggest.ts";

/** One `{{ … }}`, `{% … %}` or `{# … #}` of a template. */
interface Tag {
  text: string;
  /** First word of a statement: "if", "endfor"; "" of the others. */
  name: string;
  /** Offset in the template. */
  at: number;
}

/** What a tag begins with → what it ends with. */
const ENDS: Readonly<Record<string, string>> = { "{{": "}}", "{%": "%}", "{#": "#}" };
/** Statements that open a block → tags that may divide it. */
const BLOCKS: Readonly<Record<string, readonly string[]>> = {
  if: ["elif", "else"],
  for: ["else"],
  macro: [],
  call: [],
  filter: [],
  set: [],
  generation: [],
};
const STATEMENTS = [
  ...Object.keys(BLOCKS),
  ...Object.keys(BLOCKS).map((name) => `end${name}`),
  "elif",
  "else",
  "break",
  "continue",
];

/** A text such as `line 3, column 5: {% if %} cannot be read`; null where no tag is wrong. */
export function templateFault(template: string): string | null {
  const open: Tag[] = [];
  for (const tag of tagsOf(template)) {
    const fault = tag.name === "" ? aloneFault(tag.text) : statementFault(tag, open, template);
    if (fault !== null) return `${position(template, tag.at)}: ${shown(tag)} ${fault}`;
  }
  const last = open.at(-1);
  if (last === undefined) return null;
  return `${position(template, last.at)}: ${shown(last)} has no {% end${last.name} %}`;
}

/** The tags in their order; one without an end is the last, and reaches to the end of the text. */
function* tagsOf(template: string): Generator<Tag> {
  const begins = /\{[{%#]/g;
  for (let begin; (begin = begins.exec(template)) !== null;) {
    const at = begin.index, end = tagEnd(template, at);
    const text = template.slice(at, end), name = /^\{%[-+]?\s*(\w+)/.exec(text)?.[1] ?? "";
    yield { text, name, at };
    begins.lastIndex = end;
  }
}

/** The offset after a tag. What stands in quotes does not end it, except in a comment. */
function tagEnd(template: string, at: number): number {
  const end = ENDS[template.slice(at, at + 2)]!;
  if (end === "#}") {
    const found = template.indexOf(end, at + 2);
    return found < 0 ? template.length : found + 2;
  }
  let quote = "", depth = 0;
  for (let i = at + 2; i < template.length; i++) {
    const one = template[i]!;
    if (quote !== "") {
      if (one === "\\") i++;
      else if (one === quote) quote = "";
    } else if (one === "'" || one === '"') quote = one;
    else if (depth === 0 && template.startsWith(end, i)) return i + 2;
    else if (one === "{") depth++;
    else if (one === "}" && depth > 0) depth--;
  }
  return template.length;
}

/** What is wrong with a statement after those that are open; it opens or closes a block there. */
function statementFault({ text, name, at }: Tag, open: Tag[], template: string): string | null {
  if (!STATEMENTS.includes(name)) return `is no statement${didYouMean(name, STATEMENTS)}`;
  const block = open.at(-1);
  if (name.startsWith("end")) {
    if (name !== `end${block?.name}`) return `ends ${endsWhat(block, template)}`;
    open.pop();
    return closingFault(text);
  }
  if (name === "elif" || name === "else") {
    if (!BLOCKS[block?.name ?? ""]?.includes(name)) return `stands in ${endsWhat(block, template)}`;
    return name === "else" ? closingFault(text) : aloneFault(text.replace("elif", "if"), "if");
  }
  const opens = Object.hasOwn(BLOCKS, name) && !(name === "set" && isAssignment(text));
  if (opens) open.push({ text, name, at });
  return name === "generation" ? closingFault(text) : aloneFault(text, opens ? name : null);
}

function endsWhat(block: Tag | undefined, template: string): string {
  if (block === undefined) return "no block";
  return `the block of ${shown(block)} (${position(template, block.at)})`;
}

/** Whether `{% set a = b %}` and not `{% set a %}`, which opens a block. */
function isAssignment(text: string): boolean {
  return /^\{%[-+]?\s*set\s[^=]*=/.test(text);
}

/** Why a tag cannot be read alone; `block`: with the end of its block. */
function aloneFault(text: string, block: string | null = null): string | null {
  const unclosed = closingFault(text);
  if (unclosed !== null) return unclosed;
  try {
    new Template(block === null ? text : `${text}{% end${block} %}`);
    return null;
  } catch {
    return "cannot be read";
  }
}

function closingFault(text: string): string | null {
  const end = ENDS[text.slice(0, 2)]!;
  return text.length >= 4 && text.endsWith(end) ? null : `has no ${end}`;
}

function position(template: string, at: number): string {
  const before = template.slice(0, at).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** A tag in one line, the long ones cut. */
function shown({ text }: Tag): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
