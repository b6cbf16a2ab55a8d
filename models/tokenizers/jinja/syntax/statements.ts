/** Parses a template: its text, `{{ … }}`, and the statements of Jinja's parser. */
import { didYouMean } from "../../../../core/suggest.ts";
import { expression, expressions, filter } from "./expressions.ts";
import { position, shownTag, TemplateFault } from "./fault.ts";
import type { Block, Expression, NewName, Parameters, Statement, Target } from "./nodes.ts";
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

/** @throws TemplateFault where the template is wrong */
export function parseTemplate(source: string): Block {
  return new TemplateParser(source).template();
}

class TemplateParser {
  readonly #tokens: TokenStream;
  readonly #open: Open[] = [];
  readonly #statements: ReadonlyMap<string, (at: number) => Statement>;

  constructor(readonly source: string) {
    this.#tokens = new TokenStream(source);
    this.#statements = new Map(Object.entries(
      {
        for: (at) => this.#for(at),
        if: (at) => this.#if(at),
        set: (at) => this.#set(at),
        macro: (at) => this.#macro(at),
        call: (at) => this.#call(at),
        filter: (at) => this.#filter(at),
        generation: (at) => ({ type: "Generation", body: this.#body("generation", at, false), at }),
        break: (at) => ({ type: "Break", at }),
        continue: (at) => ({ type: "Continue", at }),
      } satisfies Record<string, (at: number) => Statement>,
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
        all.push(this.#statement(at));
        tokens.expect("%}");
      }
    }
  }

  #statement(at: number): Statement {
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
    const where = () =>
      block === undefined
        ? "no block"
        : `the block of ${this.#shown(block)} (${position(this.source, block.at)})`;
    if (name === "elif" || name === "else") return `${tag} stands in ${where()}`;
    const names = [...this.#statements.keys()], ends = BLOCKS.map((one) => `end${one}`);
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

  #target(): Target {
    const first = this.#tokens.current, found = target(this.#tokens);
    if (found.type !== "NewName" || found.name !== "loop") return found;
    throw this.#tokens.fault("loop is the loop's own variable and gets no value", first);
  }

  #for(at: number): Statement {
    const tokens = this.#tokens, to = this.#target();
    tokens.expectName("in");
    const iterable = expressions(tokens, false);
    const test = tokens.skipName("if") ? expression(tokens) : null;
    const { body, end } = this.#part("for", at, true, ["else"]);
    const otherwise = end === "else" ? this.#body("for", at) : [];
    return { type: "For", iterable, target: to, test, body, otherwise, at };
  }

  #if(at: number): Statement {
    const branches: [Expression, Block][] = [];
    for (;;) {
      const test = expressions(this.#tokens, false);
      const { body, end } = this.#part("if", at, null, ["elif", "else"]);
      branches.push([test, body]);
      if (end === "elif") continue;
      const otherwise = end === "else" ? this.#body("if", at) : [];
      return { type: "If", branches, otherwise, at };
    }
  }

  #set(at: number): Statement {
    const tokens = this.#tokens, to = this.#target();
    if (tokens.skipIf("=")) return { type: "Set", value: expressions(tokens), target: to, at };
    return { type: "SetBlock", body: this.#body("set", at), target: to, at };
  }

  #macro(at: number): Statement {
    const target = newName(this.#tokens), all = parameters(this.#tokens);
    const body = this.#body("macro", at, false);
    return { type: "Macro", target, name: target.name, parameters: all, body, at };
  }

  #call(at: number): Statement {
    const tokens = this.#tokens, all = tokens.is("(") ? parameters(tokens) : [];
    const first = tokens.current, call = expression(tokens);
    if (call.type !== "Call") throw tokens.fault("found no call, expected one: name(…)", first);
    return { type: "CallBlock", call, parameters: all, body: this.#body("call", at, false), at };
  }

  #filter(at: number): Statement {
    let last = filter(this.#tokens, null);
    while (this.#tokens.skipIf("|")) last = filter(this.#tokens, last);
    return { type: "FilterBlock", filter: last, body: this.#body("filter", at), at };
  }
}

/** Statements that have an end. */
const BLOCKS = ["for", "if", "set", "macro", "call", "filter", "generation"];

// Parses what gets a value (`a`, `a, b`, `(a, b)`, `namespace.field`) and a macro's parameters.

const RESERVED = ["true", "True", "false", "False", "none", "None"];

function target(tokens: TokenStream): Target {
  const items = [oneTarget(tokens)];
  let isTuple = false;
  while (tokens.skipIf(",")) {
    isTuple = true;
    if (tokens.is("=") || tokens.is(")") || tokens.isName("in")) break;
    items.push(oneTarget(tokens));
  }
  return isTuple ? { type: "Targets", items } : items[0]!;
}

function oneTarget(tokens: TokenStream): Target {
  if (tokens.skipIf("(")) {
    const inner = tokens.deeper(() => target(tokens));
    tokens.expect(")");
    return inner;
  }
  const to = newName(tokens);
  if (!tokens.skipIf(".")) return to;
  return { type: "Field", object: { type: "Name", name: to.name }, field: tokens.name() };
}

/** A name that gets a value. */
function newName(tokens: TokenStream): NewName {
  const first = tokens.current, name = tokens.name();
  if (!RESERVED.includes(name)) return { type: "NewName", name };
  throw tokens.fault(`found ${name}, which gets no value, expected a name`, first);
}

/** `(a, b, c=1)`. */
function parameters(tokens: TokenStream): Parameters {
  const all: [NewName, Expression | null][] = [], names = new Set<string>();
  let hasDefault = false;
  tokens.expect("(");
  while (!tokens.is(")")) {
    if (all.length > 0) tokens.expect(",", ", or )");
    const first = tokens.current, to = newName(tokens), { name } = to;
    if (names.has(name)) throw tokens.fault(`two parameters are named ${name}`, first);
    names.add(name);
    const value = tokens.skipIf("=") ? expression(tokens) : null;
    if (value !== null) hasDefault = true;
    else if (hasDefault) {
      throw tokens.fault(`the parameter ${name} needs a default, as those before it`, first);
    }
    all.push([to, value]);
  }
  tokens.next();
  return all;
}
