/**
 * Parses chat templates and runs them as Jinja 3.1 does in its immutable sandbox, with Python's
 * values. A statement that is parsed is a function that writes its text. What is not supported is
 * an error, never another text. Left out, since no model uses them: `call` blocks.
 */
import { didYouMean } from "../../../core/suggest.ts";
import { Budget, stepsOf } from "./budget.ts";
import {
  type Expression,
  expression,
  expressions,
  type Filter,
  filter,
  Scope,
} from "./expressions.ts";
import { GLOBALS } from "./globals.ts";
import { position, shownTag, TemplateFault, TokenStream } from "./tokens.ts";
import {
  type Call,
  Callable,
  described,
  fromJson,
  isTrue,
  itemsOf,
  Markup,
  Namespace,
  orUndefined,
  str,
  type Value,
} from "./values.ts";

export interface Program {
  readonly body: Statement;
  /** Names that it reads and neither sets before nor gets from Jinja. A user may set them. */
  readonly reads: ReadonlySet<string>;
}

/** Characters of a template. Those of models have less than a tenth of it. */
const MAX_LENGTH = 1 << 18;
/** Blocks in each other. Jinja makes Python of a template, which has a limit of the same size. */
const MAX_BLOCKS = 100;

/** @throws TemplateFault where the template is wrong */
export function compile(source: string): Program {
  if (source.length > MAX_LENGTH) {
    throw new TemplateFault(
      0,
      `it has ${source.length} characters, at most ${MAX_LENGTH} are read`,
    );
  }
  return new TemplateParser(source).program();
}

/** An error of a template, with the offset of the statement where it happened. */
export class TemplateError extends Error {
  constructor(readonly at: number, override readonly cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause));
  }
}

/**
 * The text that a template gives.
 * @throws TemplateError when the template raises one, or does not end
 */
export function renderProgram(
  { body }: Program,
  variables: Readonly<Record<string, unknown>>,
): string {
  const given = new Scope(new Budget());
  for (const [name, value] of GLOBALS) given.set(name, value);
  for (const [name, value] of Object.entries(variables)) given.set(name, fromJson(value));
  return textOf(body, given.inner());
}

type End = "break" | "continue" | null;

/** Writes the text of a statement, or of several. */
type Statement = (scope: Scope, out: string[]) => End;

function textOf(body: Statement, scope: Scope): string {
  const out: string[] = [];
  body(scope, out);
  return out.join("");
}

function inTurn(statements: readonly Statement[]): Statement {
  return (scope, out) => {
    for (const run of statements) {
      const end = run(scope, out);
      if (end !== null) return end;
    }
    return null;
  };
}

/** A statement that counts as a step, and whose errors have its place. */
function placed(at: number, work: Statement): Statement {
  return (scope, out) => {
    let end: End;
    try {
      scope.budget.enter();
      end = work(scope, out);
    } catch (error) {
      throw error instanceof TemplateError ? error : new TemplateError(at, error);
    }
    scope.budget.leave();
    return end;
  };
}

function writing(textIn: (scope: Scope) => string): Statement {
  return (scope, out) => {
    const text = textIn(scope);
    scope.budget.count(text.length >> 4);
    out.push(text);
    return null;
  };
}

/** Jinja joins what blocks give to its text as it is: it must be one. */
function shownText(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Markup) return value.text;
  throw new Error(`a block gives ${described(value)}, expected a text`);
}

/** What `set` and `for` give a value to: a name, a field of a namespace, or several of these. */
interface Target {
  readonly names: readonly string[];
  readonly assign: (value: Value, scope: Scope) => void;
}

/** A parameter of a macro; null = it has no default. */
type Parameter = readonly [name: string, value: Expression | null];

interface Open {
  readonly name: string;
  readonly at: number;
  /** Whether `break` and `continue` may stand in it: null = where it stands decides. */
  readonly isLoop: boolean | null;
}

const BLOCKS = ["for", "if", "set", "macro", "filter", "generation"];
const RESERVED = ["true", "True", "false", "False", "none", "None"];

class TemplateParser {
  readonly #tokens: TokenStream;
  readonly #open: Open[] = [];
  readonly #statements: ReadonlyMap<string, (at: number) => Statement>;

  constructor(readonly source: string) {
    this.#tokens = new TokenStream(source, ["loop", ...GLOBALS.keys()]);
    this.#statements = new Map<string, (at: number) => Statement>(Object.entries(
      {
        for: (at) => this.#for(at),
        if: (at) => this.#if(at),
        set: (at) => this.#set(at),
        macro: (at) => this.#macro(at),
        filter: (at) => this.#filter(at),
        // transformers' mark of what the assistant wrote.
        generation: (at) => {
          const body = this.#body("generation", at, false);
          return (scope, out) => body(scope.inner(), out);
        },
        break: () => () => "break",
        continue: () => () => "continue",
      } satisfies Record<string, (at: number) => Statement>,
    ));
  }

  program(): Program {
    const body = this.#until([]);
    return { body, reads: this.#tokens.free };
  }

  /** The statements up to a tag whose name is one of `ends`, which is the next token then. */
  #until(ends: readonly string[]): Statement {
    const tokens = this.#tokens, all: Statement[] = [];
    for (;;) {
      const { type, value, at } = tokens.current;
      if (type === "end") {
        const last = this.#open.at(-1);
        if (last === undefined) return inTurn(all);
        throw new TemplateFault(last.at, `${this.#shown(last)} has no {% end${last.name} %}`);
      }
      tokens.next();
      if (type === "data") all.push(placed(at, writing(() => String(value))));
      else if (type === "{{") {
        const shown = expressions(tokens);
        all.push(placed(at, writing((scope) => str(shown(scope)))));
        tokens.expect("}}");
      } else {
        if (ends.some((end) => tokens.isName(end))) return inTurn(all);
        all.push(placed(at, this.#statement(at)));
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
  ): { body: Statement; end: string } {
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

  #body(name: string, at: number, isLoop: boolean | null = null): Statement {
    return this.#part(name, at, isLoop).body;
  }

  #for(at: number): Statement {
    const tokens = this.#tokens, to = this.#target();
    tokens.expectName("in");
    const iterable = expressions(tokens, false);
    tokens.sets(to.names);
    const test = tokens.skipName("if") ? expression(tokens) : null;
    const { body, end } = this.#part("for", at, true, ["else"]);
    const otherwise = end === "else" ? this.#body("for", at) : inTurn([]);
    const isChosen = (one: Value, inner: Scope) => {
      if (test === null) return true;
      to.assign(one, inner);
      return isTrue(test(inner));
    };
    return (scope, out) => {
      const all = iterable(scope);
      scope.budget.count(stepsOf(all));
      const items = itemsOf(all).filter((one) => isChosen(one, scope.inner()));
      for (const [i, one] of items.entries()) {
        const inner = scope.inner();
        inner.set("loop", new Loop(items, i));
        to.assign(one, inner);
        if (body(inner, out) === "break") break;
      }
      return items.length > 0 ? null : otherwise(scope.inner(), out);
    };
  }

  #if(at: number): Statement {
    const branches: [test: Expression, body: Statement][] = [];
    let end: string;
    do {
      const test = expressions(this.#tokens, false);
      const part = this.#part("if", at, null, ["elif", "else"]);
      branches.push([test, part.body]);
      end = part.end;
    } while (end === "elif");
    const otherwise = end === "else" ? this.#body("if", at) : inTurn([]);
    return (scope, out) => {
      const branch = branches.find(([test]) => isTrue(test(scope)));
      return (branch?.[1] ?? otherwise)(scope, out);
    };
  }

  #set(at: number): Statement {
    const tokens = this.#tokens, to = this.#target();
    if (tokens.skipIf("=")) {
      const value = expressions(tokens);
      tokens.sets(to.names);
      return (scope) => {
        to.assign(value(scope), scope);
        return null;
      };
    }
    const body = this.#body("set", at);
    tokens.sets(to.names);
    return (scope) => {
      const parts: string[] = [], end = body(scope.inner(), parts);
      if (end === null) to.assign(parts.join(""), scope);
      return end;
    };
  }

  #macro(at: number): Statement {
    const name = this.#newName();
    this.#tokens.sets([name]);
    const all = this.#parameters(), body = this.#body("macro", at, false);
    return (scope) => {
      scope.set(name, macro(name, all, body, scope));
      return null;
    };
  }

  #filter(at: number): Statement {
    const filters: Filter[] = [];
    do filters.push(filter(this.#tokens)); while (this.#tokens.skipIf("|"));
    const body = this.#body("filter", at);
    return (scope, out) => {
      const inner = scope.inner(), parts: string[] = [], end = body(inner, parts);
      if (end !== null) return end;
      const text = filters.reduce<Value>((value, apply) => apply(value, inner), parts.join(""));
      out.push(shownText(text));
      return null;
    };
  }

  /** What gets a value: `a`, `a, b`, `(a, b)` or `namespace.field`. */
  #target(): Target {
    const tokens = this.#tokens, first = tokens.current, items = [this.#oneTarget()];
    let isTuple = false;
    while (tokens.skipIf(",")) {
      isTuple = true;
      if (tokens.is("=") || tokens.is(")") || tokens.isName("in")) break;
      items.push(this.#oneTarget());
    }
    if (isTuple) return inOrder(items);
    const [only] = items as [Target];
    if (only.names[0] !== "loop") return only;
    throw tokens.fault("loop is the loop's own variable and gets no value", first);
  }

  #oneTarget(): Target {
    const tokens = this.#tokens;
    if (tokens.skipIf("(")) {
      const inner = tokens.deeper(() => this.#target());
      tokens.expect(")");
      return inner;
    }
    const name = this.#newName();
    if (!tokens.skipIf(".")) {
      return { names: [name], assign: (value, scope) => scope.set(name, value) };
    }
    const field = tokens.name();
    tokens.reads(name);
    return {
      names: [],
      assign(value, scope) {
        const object = scope.get(name);
        if (object instanceof Namespace) return object.set(field, value);
        throw new Error(`a field of ${described(object)} cannot be set, only one of a namespace`);
      },
    };
  }

  #newName(): string {
    const tokens = this.#tokens, first = tokens.current, name = tokens.name();
    if (!RESERVED.includes(name)) return name;
    throw tokens.fault(`found ${name}, which gets no value, expected a name`, first);
  }

  /** `(a, b, c=1)`. */
  #parameters(): readonly Parameter[] {
    const tokens = this.#tokens, all: Parameter[] = [], names = new Set<string>();
    let hasDefault = false;
    tokens.expect("(");
    while (!tokens.is(")")) {
      if (all.length > 0) tokens.expect(",", ", or )");
      const first = tokens.current, name = this.#newName();
      if (names.has(name)) throw tokens.fault(`two parameters are named ${name}`, first);
      names.add(name);
      tokens.sets([name]);
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
}

function inOrder(targets: readonly Target[]): Target {
  return {
    names: targets.flatMap(({ names }) => names),
    assign(value, scope) {
      const items = itemsOf(value);
      if (items.length !== targets.length) {
        throw new Error(`${items.length} values are given to ${targets.length} names`);
      }
      targets.forEach(({ assign }, i) => assign(items[i]!, scope));
    },
  };
}

function macro(
  name: string,
  parameters: readonly Parameter[],
  body: Statement,
  scope: Scope,
): Value {
  return new Callable(name, ({ positional, named }: Call) => {
    const inner = scope.inner(), rest = new Map(named);
    const given = parameters.map(([name], i) => {
      if (i < positional.length) return positional[i];
      const value = rest.get(name);
      rest.delete(name);
      return value;
    });
    if (rest.size > 0) throw new Error(`${name} has no argument ${[...rest.keys()][0]}`);
    if (positional.length > parameters.length) {
      throw new Error(`${name} takes ${parameters.length} arguments, not ${positional.length}`);
    }
    for (const [i, [to, value]] of parameters.entries()) {
      const one = given[i] === undefined && value !== null ? value(inner) : given[i];
      inner.set(to, orUndefined(one, to));
    }
    return textOf(body, inner);
  });
}

/** The variable `loop` of a template at one of the values. */
class Loop extends Namespace {
  constructor(readonly items: readonly Value[], readonly at: number) {
    super([]);
  }

  override get(name: string): Value {
    const { items, at } = this, left = items.length - at;
    switch (name) {
      case "index":
        return BigInt(at + 1);
      case "index0":
        return BigInt(at);
      case "revindex":
        return BigInt(left);
      case "revindex0":
        return BigInt(left - 1);
      case "length":
        return BigInt(items.length);
      case "first":
        return at === 0;
      case "last":
        return left === 1;
      case "previtem":
        return orUndefined(items[at - 1], "the previous item");
      case "nextitem":
        return orUndefined(items[at + 1], "the next item");
    }
    throw new Error(`loop.${name} is not supported`);
  }

  override set(): void {
    throw new Error("a field of loop cannot be set");
  }
}
