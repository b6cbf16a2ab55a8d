/** Parses a template: its text, `{{ … }}`, and the statements of Jinja's parser. */
import { didYouMean } from "../../../../core/suggest.ts";
import { expression, expressions, filters, firstFilter, isTupleEnd } from "./expressions.ts";
import { position, shownTag, TemplateFault } from "./fault.ts";
import type { Block, Expression, Parameters, Statement, Target } from "./nodes.ts";
import { unsetNames } from "./names.ts";
import { TokenStream } from "./token_stream.ts";

/** A statement that has not met its end. */
interface Open {
  readonly name: string;
  /** Offset of its tag. */
  readonly at: number;
  /** Whether `break` and `continue` may stand in it: null = where it stands decides. */
  readonly isLoop: boolean | null;
}

/** Blocks in each other. Jinja makes Python of a template, which has a limit of the same size. */
const MAX_BLOCKS = 100;

/** Statements that would need another file, and others that Jinja has and chat templates lack. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...["import", "from", "include", "extends", "block"].map((name) =>
    [name, "a chat template is one file, it cannot use another"] as const
  ),
  ["autoescape", "a chat template writes no HTML, use the filter escape"],
]);

/** @throws TemplateFault where the template is wrong */
export function parseTemplate(source: string): Block {
  return new TemplateParser(source).template();
}

class TemplateParser {
  readonly #tokens: TokenStream;
  readonly #open: Open[] = [];
  readonly #statements: ReadonlyMap<string, (at: number) => Statement[]>;

  constructor(readonly source: string) {
    this.#tokens = new TokenStream(source);
    this.#statements = new Map(Object.entries(
      {
        for: (at) => [this.#for(at)],
        if: (at) => [this.#if(at)],
        set: (at) => [this.#set(at)],
        with: (at) => [this.#with(at)],
        macro: (at) => [this.#macro(at)],
        call: (at) => [this.#call(at)],
        filter: (at) => [this.#filter(at)],
        generation: (at) => [{ type: "Generation", body: this.#body("generation", at, false), at }],
        print: (at) => this.#print(at),
        break: (at) => [{ type: "Break", at }],
        continue: (at) => [{ type: "Continue", at }],
      } satisfies Record<string, (at: number) => Statement[]>,
    ));
  }

  template(): Block {
    return this.#until([]);
  }

  /** The statements up to a tag whose name is one of `ends`, which is the next token then. */
  #until(ends: readonly string[]): Block {
    const tokens = this.#tokens, all: Statement[] = [];
    for (;;) {
      const { type, value, at } = tokens.current;
      if (type === "end") {
        const last = this.#open.at(-1);
        if (last === undefined) return all;
        throw new TemplateFault(last.at, `${this.#shown(last)} has no {% end${last.name} %}`);
      }
      tokens.next();
      if (type === "data") all.push({ type: "Data", text: String(value), at });
      else if (type === "{{") {
        all.push({ type: "Output", value: expressions(tokens), at });
        tokens.expect("}}");
      } else {
        if (ends.some((end) => tokens.isName(end))) return all;
        all.push(...this.#statement(at));
        tokens.expect("%}");
      }
    }
  }

  #statement(at: number): Statement[] {
    const tokens = this.#tokens;
    if (!tokens.is("name")) throw tokens.unexpected("the name of a statement");
    const name = String(tokens.current.value), known = this.#statements.get(name);
    if (known === undefined) throw new TemplateFault(at, this.#whyUnknown(name, at));
    if ((name === "break" || name === "continue") && !this.#isInLoop()) {
      throw new TemplateFault(at, `${shownTag(this.source, at)} stands in no loop`);
    }
    tokens.next();
    return known(at);
  }

  #whyUnknown(name: string, at: number): string {
    const tag = shownTag(this.source, at), block = this.#open.at(-1);
    const refused = REFUSED.get(name);
    if (refused !== undefined) return `${tag} is not supported: ${refused}`;
    const where = () =>
      block === undefined
        ? "no block"
        : `the block of ${this.#shown(block)} (${position(this.source, block.at)})`;
    if (name === "elif" || name === "else") return `${tag} stands in ${where()}`;
    const names = [...this.#statements.keys()];
    const ends = [...new Set(BLOCKS)].map((one) => `end${one}`);
    if (ends.includes(name)) return `${tag} ends ${where()}`;
    return `${tag} is no statement${didYouMean(name, [...names, ...ends, "elif", "else"])}`;
  }

  #isInLoop(): boolean {
    return this.#open.findLast(({ isLoop }) => isLoop !== null)?.isLoop ?? false;
  }

  #shown({ at }: Open): string {
    return shownTag(this.source, at);
  }

  /** The body of a statement up to the tag that ends it, or to one of `others`. */
  #part(
    name: string,
    at: number,
    isLoop: boolean | null,
    others: readonly string[] = [],
  ): { body: Block; end: string } {
    const tokens = this.#tokens;
    // As in Python, a colon may stand before the body.
    tokens.skipIf(":");
    tokens.expect("%}");
    this.#open.push({ name, at, isLoop });
    if (this.#open.length > MAX_BLOCKS) {
      throw new TemplateFault(
        at,
        `its blocks are nested too deeply: more than ${MAX_BLOCKS} stand in each other`,
      );
    }
    const body = this.#until([...others, `end${name}`]);
    this.#open.pop();
    return { body, end: tokens.name() };
  }

  #body(name: string, at: number, isLoop: boolean | null = null): Block {
    return this.#part(name, at, isLoop).body;
  }

  #target(options: { end?: string; withField?: boolean } = {}): Target {
    const first = this.#tokens.current, found = target(this.#tokens, options);
    const isSpecial = found.type === "Name" && found.name === "loop";
    if (isSpecial && (options.end === "in" || this.#open.some(({ name }) => name === "for"))) {
      throw this.#tokens.fault("loop is the loop's own variable and gets no value", first);
    }
    return found;
  }

  #for(at: number): Statement {
    const tokens = this.#tokens, to = this.#target({ end: "in" });
    tokens.expectName("in");
    const iterable = expressions(tokens, { withCondition: false, end: "recursive" });
    const test = tokens.skipName("if") ? expression(tokens) : null;
    const isRecursive = tokens.skipName("recursive");
    const { body, end } = this.#part("for", at, true, ["else"]);
    const otherwise = end === "else" ? this.#body("for", at) : [];
    return { type: "For", target: to, iterable, test, isRecursive, body, otherwise, at };
  }

  #if(at: number): Statement {
    const branches: [Expression, Block][] = [];
    for (;;) {
      const test = expressions(this.#tokens, { withCondition: false });
      const { body, end } = this.#part("if", at, null, ["elif", "else"]);
      branches.push([test, body]);
      if (end === "elif") continue;
      const otherwise = end === "else" ? this.#body("if", at) : [];
      return { type: "If", branches, otherwise, at };
    }
  }

  #set(at: number): Statement {
    const tokens = this.#tokens, to = this.#target({ withField: true });
    if (tokens.skipIf("=")) return { type: "Set", target: to, value: expressions(tokens), at };
    const filter = filters(tokens);
    return { type: "SetBlock", target: to, filter, body: this.#body("set", at), at };
  }

  #with(at: number): Statement {
    const tokens = this.#tokens, values: [Target, Expression][] = [];
    while (!tokens.is("%}") && !tokens.is(":")) {
      if (values.length > 0) tokens.expect(",");
      const to = this.#target();
      tokens.expect("=");
      values.push([to, expression(tokens)]);
    }
    return { type: "With", values, body: this.#body("with", at), at };
  }

  #macro(at: number): Statement {
    const name = newName(this.#tokens), all = parameters(this.#tokens);
    const body = this.#body("macro", at, false);
    return {
      type: "Macro",
      name,
      parameters: all,
      body,
      special: this.#special(all, body, at),
      at,
    };
  }

  /** The arguments besides its parameters that a body reads. */
  #special(all: Parameters, body: Block, at: number): ReadonlySet<string> {
    const read = unsetNames(body, ["caller", "varargs", "kwargs"]);
    if (!read.has("caller") || !all.some(([name, value]) => name === "caller" && value === null)) {
      for (const [name] of all) read.delete(name);
      return read;
    }
    throw new TemplateFault(
      at,
      `${shownTag(this.source, at)}: the parameter caller needs a default`,
    );
  }

  #call(at: number): Statement {
    const tokens = this.#tokens;
    const all = tokens.is("(") ? parameters(tokens) : [];
    const first = tokens.current, call = expression(tokens);
    if (call.type !== "Call") throw tokens.fault("found no call, expected one: name(…)", first);
    const body = this.#body("call", at, false);
    const special = this.#special(all, body, at);
    return { type: "CallBlock", call, parameters: all, body, special, at };
  }

  #filter(at: number): Statement {
    const filter = firstFilter(this.#tokens);
    return { type: "FilterBlock", filter, body: this.#body("filter", at), at };
  }

  #print(at: number): Statement[] {
    const tokens = this.#tokens, all: Statement[] = [];
    while (!tokens.is("%}")) {
      if (all.length > 0) tokens.expect(",");
      all.push({ type: "Output", value: expression(tokens), at });
    }
    return all;
  }
}

/** Statements that have an end. */
const BLOCKS = ["for", "if", "set", "with", "macro", "call", "filter", "generation"];

// Parses what gets a value (`a`, `a, b`, `(a, b)`, `namespace.field`) and a macro's parameters.

const RESERVED = ["true", "True", "false", "False", "none", "None"];

/**
 * @param end a word that ends the names: `in`
 * @param withField whether a field of a namespace may stand here
 */
function target(
  tokens: TokenStream,
  { end = null, withField = false }: { end?: string | null; withField?: boolean } = {},
): Target {
  const items: Target[] = [];
  let isTuple = false;
  while (!isTupleEnd(tokens, end)) {
    items.push(oneTarget(tokens, withField));
    if (!tokens.skipIf(",")) break;
    isTuple = true;
  }
  if (items.length === 0) throw tokens.unexpected("a name");
  return isTuple ? { type: "Tuple", items } : items[0]!;
}

function oneTarget(tokens: TokenStream, withField: boolean): Target {
  const first = tokens.current;
  if (tokens.skipIf("(")) {
    const inner = expressions(tokens);
    tokens.expect(")");
    if (isTarget(inner)) return inner;
    throw tokens.fault("a value is given to what is no name", first);
  }
  const name = newName(tokens);
  if (!withField || !tokens.skipIf(".")) return { type: "Name", name };
  return { type: "Field", object: { type: "Name", name }, field: tokens.name() };
}

function isTarget(node: Expression): node is Target & Expression {
  return node.type === "Name" || (node.type === "Tuple" && node.items.every(isTarget));
}

/** A name that gets a value. */
function newName(tokens: TokenStream): string {
  const first = tokens.current, name = tokens.name();
  if (!RESERVED.includes(name)) return name;
  throw tokens.fault(`found ${name}, which gets no value, expected a name`, first);
}

/** `(a, b, c=1)`. */
function parameters(tokens: TokenStream): Parameters {
  const all: [string, Expression | null][] = [], names = new Set<string>();
  let hasDefault = false;
  tokens.expect("(");
  while (!tokens.is(")")) {
    if (all.length > 0) tokens.expect(",", ", or )");
    const first = tokens.current, name = newName(tokens);
    if (names.has(name)) throw tokens.fault(`two parameters are named ${name}`, first);
    names.add(name);
    const value = tokens.skipIf("=") ? expression(tokens) : null;
    if (value !== null) hasDefault = true;
    else if (hasDefault) {
      throw tokens.fault(`the parameter ${name} needs a default, as those before it`, first);
    }
    all.push([name, value]);
  }
  tokens.next();
  return all;
}
