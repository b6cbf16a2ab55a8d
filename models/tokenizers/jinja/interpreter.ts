/**
 * Runs parsed chat templates as Jinja 3.1 does in its immutable sandbox, with Python's values. What
 * is not supported is an error, never another text.
 */
import { Budget, stepsOf } from "./budget.ts";
import { Evaluator, Scope } from "./evaluator.ts";
import { globals } from "./globals.ts";
import { shownTag, TemplateFault } from "./syntax/fault.ts";
import type { Block, Filter, Statement, StatementOf, Target, Test } from "./syntax/nodes.ts";
import { parseTemplate } from "./syntax/statements.ts";
import {
  type Call,
  Callable,
  described,
  dict,
  equal,
  fromJson,
  Instance,
  itemsOf,
  iterate,
  Markup,
  Namespace,
  orUndefined,
  str,
  tuple,
  Undefined,
  type Value,
} from "./values.ts";
import { isFilterName, isTestName, noFilter } from "./filters/filters.ts";
import {
  bodiesOf,
  boundNames,
  expressionsOf,
  innerExpressionsOf,
  namesBefore,
  namesOfDefaults,
  setNames,
} from "./syntax/names.ts";
import { bind } from "./call.ts";

/** A template that can be rendered often. */
export interface Program {
  readonly body: Block;
  readonly unset: UnsetNames;
}

/** Characters of a template. Those of models have less than a tenth of it. */
const MAX_LENGTH = 1 << 18;

/** @throws TemplateFault where the template is wrong */
export function compile(source: string): Program {
  if (source.length > MAX_LENGTH) {
    throw new TemplateFault(
      0,
      `it has ${source.length} characters, at most ${MAX_LENGTH} are read`,
    );
  }
  try {
    const body = parseTemplate(source);
    checkNames(body, source);
    return { body, unset: unsetAtBegin(body) };
  } catch (error) {
    // The parser counts brackets and blocks in each other. What is left are thousands of operators
    // in a row, each of which holds what stands before it: the stack is limited.
    if (!(error instanceof RangeError)) throw error;
    throw new TemplateFault(
      0,
      "an expression of it has too many operators, filters or attributes in a row",
    );
  }
}

/** An error of a template, with the offset of the statement where it happened. */
export class TemplateError extends Error {
  constructor(readonly at: number, override readonly cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause));
  }
}

/**
 * The text that a template gives.
 * @param variables what the template may read
 * @throws TemplateError when the template raises one, or does not end
 */
export function renderProgram(
  program: Program,
  variables: Readonly<Record<string, unknown>>,
): string {
  const budget = new Budget(), given = new Scope();
  for (const [name, value] of globals((steps) => budget.count(steps))) given.set(name, value);
  for (const [name, value] of Object.entries(variables)) given.set(name, fromJson(value));
  return new Interpreter(program.unset, budget).block(program.body, given);
}

/** How a block ended. */
type End = "break" | "continue" | null;

class Interpreter {
  readonly #evaluator: Evaluator;

  constructor(readonly unset: UnsetNames, readonly budget: Budget) {
    this.#evaluator = new Evaluator(budget);
  }

  /** The text of statements, which see the names of `outer`. */
  block(block: Block, outer: Scope): string {
    const out: string[] = [];
    this.#run(block, this.#scope(block, outer), out);
    return out.join("");
  }

  #scope(block: Block, outer: Scope): Scope {
    return new Scope(outer, this.unset.get(block));
  }

  #run(block: Block, scope: Scope, out: string[]): End {
    for (const statement of block) {
      this.budget.enter();
      let end: End;
      try {
        end = this.#statement(statement, scope, out);
      } catch (error) {
        throw error instanceof TemplateError ? error : new TemplateError(statement.at, error);
      }
      this.budget.leave();
      if (end !== null) return end;
    }
    return null;
  }

  #write(text: string, out: string[]): void {
    this.budget.count(text.length >> 4);
    out.push(text);
  }

  #statement(node: Statement, scope: Scope, out: string[]): End {
    switch (node.type) {
      case "Data":
        this.#write(node.text, out);
        return null;
      case "Output":
        this.#write(str(this.#evaluator.value(node.value, scope)), out);
        return null;
      case "If": {
        const branch = node.branches.find(([test]) => this.#evaluator.isTrue(test, scope));
        return this.#run(branch?.[1] ?? node.otherwise, scope, out);
      }
      case "For":
        return this.#loop(node, this.#evaluator.value(node.iterable, scope), scope, out);
      case "Set":
        this.#assign(node.target, this.#evaluator.value(node.value, scope), scope);
        return null;
      case "SetBlock":
        return this.#setBlock(node, scope);
      case "With": {
        const values = node.values.map(([, value]) => this.#evaluator.value(value, scope));
        const inner = this.#scope(node.body, scope);
        node.values.forEach(([target], i) => this.#assign(target, values[i]!, inner));
        return this.#run(node.body, inner, out);
      }
      case "Macro":
        scope.set(node.name, this.#macro(node.name, node, scope));
        return null;
      case "CallBlock": {
        const caller = this.#macro("caller", node, scope), { callee, given } = node.call;
        const { positional, named } = this.#evaluator.arguments(given, scope);
        const all = { positional, named: new Map([...named, ["caller", caller]]) };
        out.push(shownText(this.#evaluator.call(this.#evaluator.value(callee, scope), all)));
        return null;
      }
      case "FilterBlock": {
        const inner = this.#scope(node.body, scope), parts: string[] = [];
        const end = this.#run(node.body, inner, parts);
        if (end !== null) return end;
        out.push(shownText(this.#evaluator.filter(node.filter, parts.join(""), inner)));
        return null;
      }
      case "Generation":
        out.push(this.block(node.body, scope));
        return null;
      case "Break":
        return "break";
      case "Continue":
        return "continue";
    }
  }

  /** @param depth how many loops of the same `recursive` statement it stands in */
  #loop(node: StatementOf<"For">, iterable: Value, scope: Scope, out: string[], depth = 0): End {
    const again = (given: Value) => {
      const inner: string[] = [];
      this.#loop(node, given, scope, inner, depth + 1);
      return inner.join("");
    };
    const loop = new LoopContext(
      this.#chosen(node, iterable, scope),
      depth,
      node.isRecursive ? again : null,
    );
    this.budget.count(stepsOf(iterable));
    let isEmpty = true;
    for (const one of loop) {
      isEmpty = false;
      const inner = this.#scope(node.body, scope);
      inner.set("loop", loop);
      this.#assign(node.target, one, inner);
      if (this.#run(node.body, inner, out) === "break") break;
    }
    if (!isEmpty) return null;
    return this.#run(node.otherwise, this.#scope(node.otherwise, scope), out);
  }

  /** What a loop goes through: with a condition, the values for which it holds. */
  #chosen(node: StatementOf<"For">, iterable: Value, scope: Scope): Iterable<Value> {
    const { target, test } = node, values = iterate(iterable);
    if (test === null) return values;
    const holds = (one: Value) => {
      const inner = new Scope(scope);
      this.#assign(target, one, inner);
      return this.#evaluator.isTrue(test, inner);
    };
    return filtered(values, holds);
  }

  #setBlock({ target, filter, body }: StatementOf<"SetBlock">, scope: Scope): End {
    const inner = this.#scope(body, scope), out: string[] = [];
    const end = this.#run(body, inner, out);
    if (end !== null) return end;
    const text = out.join("");
    this.#assign(
      target,
      filter === null ? text : this.#evaluator.filter(filter, text, inner),
      scope,
    );
    return null;
  }

  /** Gives a value to a name, to names in a tuple, or to a field of a namespace. */
  #assign(target: Target, value: Value, scope: Scope): void {
    if (target.type === "Name") return scope.set(target.name, value);
    if (target.type === "Tuple") {
      const items = itemsOf(value);
      if (items.length !== target.items.length) {
        throw new Error(`${items.length} values are given to ${target.items.length} names`);
      }
      return target.items.forEach((name, i) => this.#assign(name, items[i]!, scope));
    }
    const object = scope.get(target.object.name);
    if (!(object instanceof Namespace)) {
      throw new Error(`a field of ${described(object)} cannot be set, only one of a namespace`);
    }
    object.set(target.field, value);
  }

  /** The function of a macro, or of what a call block gives to its macro. */
  #macro(name: string, node: StatementOf<"Macro" | "CallBlock">, scope: Scope): Value {
    const { parameters, body, special } = node;
    return new Callable(name, ({ positional, named }: Call) => {
      const inner = this.#scope(body, scope), rest = new Map(named);
      const given = parameters.map(([key], i) => {
        if (i < positional.length) return positional[i];
        const value = rest.get(key);
        rest.delete(key);
        return value;
      });
      if (special.has("caller")) {
        inner.set("caller", rest.get("caller") ?? new Undefined("caller"));
        rest.delete("caller");
      }
      if (special.has("kwargs")) inner.set("kwargs", dict(rest));
      else if (rest.size > 0) throw new Error(`${name} has no argument ${[...rest.keys()][0]}`);
      const more = positional.slice(parameters.length);
      if (special.has("varargs")) inner.set("varargs", tuple(more));
      else if (more.length > 0) {
        throw new Error(`${name} takes ${parameters.length} arguments, not ${positional.length}`);
      }
      for (const [key] of parameters) inner.set(key, new Undefined(key));
      for (const [i, [key, value]] of parameters.entries()) {
        const one = given[i];
        if (one !== undefined) inner.set(key, one);
        else if (value !== null) inner.set(key, this.#evaluator.value(value, inner));
      }
      const out: string[] = [];
      this.#run(body, inner, out);
      return out.join("");
    });
  }
}

function* filtered(values: Iterable<Value>, holds: (one: Value) => boolean): Generator<Value> {
  for (const one of values) if (holds(one)) yield one;
}

/** Jinja joins what blocks give to its text as it is: it must be one. */
function shownText(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Markup) return value.text;
  throw new Error(`a block gives ${described(value)}, expected a text`);
}

// Filters and tests that there are not. Jinja refuses a template with one, unless it stands in an
// `if`, where the template may have asked for it before.

/** @throws TemplateFault at the first name that is not known */
function checkNames(block: Block, source: string, isSoft = false): void {
  for (const statement of block) {
    const isIf = statement.type === "If", isOwn = statement.type === "FilterBlock";
    const outer = isIf || (isSoft && !isOwn) ? [] : expressionsOf(statement);
    for (const value of [...outer, ...innerExpressionsOf(statement)]) {
      checkExpression(value, source, statement.at);
    }
    for (const body of bodiesOf(statement)) checkNames(body, source, isIf);
  }
}

function checkExpression(node: unknown, source: string, at: number): void {
  if (Array.isArray(node)) {
    for (const part of node) checkExpression(part, source, at);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const { type } = node as { type?: string };
  if (type === "Constant" || type === "Conditional") return;
  if (type === "Filter") checkFilter(node as Filter, source, at);
  if (type === "Test") checkTest(node as Test, source, at);
  for (const part of Object.values(node)) checkExpression(part, source, at);
}

function checkFilter({ name, at }: Filter, source: string, tag: number): void {
  if (isFilterName(name)) return;
  throw new TemplateFault(at, `${shownTag(source, tag, at)}: ${noFilter(name)}`);
}

function checkTest({ name, at }: Test, source: string, tag: number): void {
  if (isTestName(name)) return;
  throw new TemplateFault(at, `${shownTag(source, tag, at)}: there is no test ${name}`);
}

// The variable `loop` of a template, which looks one value ahead where it is asked to.

class LoopContext extends Instance {
  override readonly kind = "LoopContext";
  #index0 = -1;
  #values: Iterator<Value>;
  #length: number | null = null;
  #next: Value | undefined;
  #current: Value | undefined;
  #before: Value | undefined;
  #changed: Value | null = null;

  /** @param again renders the loop for other values: null where it is not `recursive` */
  constructor(
    readonly source: Iterable<Value>,
    readonly depth0: number,
    readonly again: ((values: Value) => string) | null,
  ) {
    super();
    this.#values = source[Symbol.iterator]();
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let one; (one = this.#take()) !== undefined;) {
      this.#index0++;
      this.#before = this.#current;
      this.#current = one;
      yield one;
    }
  }

  override readonly call = (given: Call): Value => {
    const [values] = bind("loop", given, ["iterable"], 1);
    if (this.again === null) throw new Error("loop(…) needs a loop with the word recursive");
    return this.again(values!);
  };

  override field(name: string): Value | undefined {
    const index = this.#index0;
    switch (name) {
      case "index":
        return BigInt(index + 1);
      case "index0":
        return BigInt(index);
      case "revindex":
        return BigInt(this.#count() - index);
      case "revindex0":
        return BigInt(this.#count() - index - 1);
      case "length":
        return BigInt(this.#count());
      case "first":
        return index === 0;
      case "last":
        return this.#peek() === undefined;
      case "depth":
        return BigInt(this.depth0 + 1);
      case "depth0":
        return BigInt(this.depth0);
      case "previtem":
        return index === 0 ? new Undefined("the previous item") : this.#before!;
      case "nextitem":
        return orUndefined(this.#peek(), "the next item");
      case "cycle":
        return new Callable("loop.cycle", (given) => this.#cycle(given));
      case "changed":
        return new Callable("loop.changed", (given) => this.#hasChanged(given));
    }
    return undefined;
  }

  override shown(): string {
    return `<LoopContext ${this.#index0 + 1}/${this.#count()}>`;
  }

  #take(): Value | undefined {
    const ahead = this.#next;
    this.#next = undefined;
    if (ahead !== undefined) return ahead;
    const { value, done } = this.#values.next();
    return done === true ? undefined : value;
  }

  #peek(): Value | undefined {
    this.#next ??= this.#take();
    return this.#next;
  }

  #count(): number {
    if (this.#length === null) {
      const rest: Value[] = [];
      for (let one; (one = this.#take()) !== undefined;) rest.push(one);
      this.#length = this.#index0 + 1 + rest.length;
      this.#values = rest[Symbol.iterator]();
    }
    return this.#length;
  }

  #cycle({ positional, named }: Call): Value {
    bind("loop.cycle", { positional: [], named }, []);
    if (positional.length === 0) throw new Error("loop.cycle needs arguments");
    return positional[this.#index0 % positional.length]!;
  }

  #hasChanged({ positional, named }: Call): boolean {
    bind("loop.changed", { positional: [], named }, []);
    const values = tuple(positional);
    const isSame = this.#changed !== null && equal(this.#changed, values);
    this.#changed = values;
    return !isSame;
  }
}

// Names that are undefined at the beginning of a block, whatever has that name outside of the
// template: those that the block sets before it reads them. So they are in Jinja, which decides
// where a name lives before the template runs: in `{% for m in l %}{{ x }}{% endfor %}{% set x = 1
// %}` the loop sees no `x`, even when the template is given one.

/** Block → its names that are undefined when it begins. */
type UnsetNames = ReadonlyMap<Block, readonly string[]>;

function unsetAtBegin(template: Block): UnsetNames {
  return new Frames().of(template);
}

class Frames {
  readonly #found = new Map<Block, readonly string[]>();
  /** The names of the blocks around, and those of the block that is looked at, up to here. */
  readonly #known = new Set<string>();

  of(template: Block): UnsetNames {
    this.#add(template, []);
    return this.#found;
  }

  /** @param bound the names that the statement of the block binds for it */
  #add(block: Block, bound: readonly string[]): void {
    // One set for all blocks, which each leaves as it was: a copy for each would be slow.
    const own: string[] = [], unset: string[] = [], inner: [Statement, Block][] = [];
    const learn = (name: string): boolean => {
      const isNew = !this.#known.has(name);
      if (isNew) {
        this.#known.add(name);
        own.push(name);
      }
      return isNew;
    };
    const visit = (statements: Block, isCertain: boolean) => {
      for (const statement of statements) {
        for (const { name } of namesBefore(statement)) learn(name);
        for (const name of setNames(statement)) if (learn(name) && isCertain) unset.push(name);
        for (const body of bodiesOf(statement)) {
          if (statement.type === "If") visit(body, false);
          else inner.push([statement, body]);
        }
      }
    };
    bound.forEach(learn);
    visit(block, true);
    if (unset.length > 0) this.#found.set(block, unset);
    for (const [statement, body] of inner) {
      const isElse = statement.type === "For" && body === statement.otherwise;
      const names = isElse ? [] : [...boundNames(statement), ...namesOfDefaults(statement)];
      this.#add(body, names);
    }
    for (const name of own) this.#known.delete(name);
  }
}
