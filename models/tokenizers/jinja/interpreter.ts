/**
 * Runs parsed chat templates as Jinja 3.1 does in its immutable sandbox, with Python's values. What
 * is not supported is an error, never another text.
 */
import { Budget, stepsOf } from "./budget.ts";
import { Evaluator, Scope } from "./evaluator.ts";
import { GLOBALS } from "./globals.ts";
import { TemplateFault } from "./syntax/fault.ts";
import type { Block, Statement, StatementOf, Target } from "./syntax/nodes.ts";
import { freeNames } from "./syntax/names.ts";
import { parseTemplate } from "./syntax/statements.ts";
import {
  type Call,
  Callable,
  described,
  fromJson,
  itemsOf,
  Markup,
  Namespace,
  orUndefined,
  str,
  type Value,
} from "./values.ts";

/** A template that can be rendered often. */
export interface Program {
  readonly body: Block;
  /** Names that it reads and neither sets before nor gets from Jinja. A user may set them. */
  readonly reads: ReadonlySet<string>;
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
    return { body, reads: freeNames(body, ["loop", "caller", ...GLOBALS.keys()]) };
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
  for (const [name, value] of GLOBALS) given.set(name, value);
  for (const [name, value] of Object.entries(variables)) given.set(name, fromJson(value));
  return new Interpreter(budget).block(program.body, given);
}

/** How a block ended. */
type End = "break" | "continue" | null;

class Interpreter {
  readonly #evaluator: Evaluator;

  constructor(readonly budget: Budget) {
    this.#evaluator = new Evaluator(budget);
  }

  /** The text of statements, which see the names of `outer`. */
  block(block: Block, outer: Scope): string {
    const out: string[] = [];
    this.#run(block, new Scope(outer), out);
    return out.join("");
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
      case "Macro":
        this.#assign(node.target, this.#macro(node.name, node, scope), scope);
        return null;
      case "CallBlock": {
        const caller = this.#macro("caller", node, scope), { callee, given } = node.call;
        const of = this.#evaluator.arguments(given, scope);
        const all = { ...of, named: new Map([...of.named, ["caller", caller]]) };
        out.push(shownText(this.#evaluator.call(this.#evaluator.value(callee, scope), all)));
        return null;
      }
      case "FilterBlock": {
        const inner = new Scope(scope), parts: string[] = [];
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

  #loop(node: StatementOf<"For">, iterable: Value, scope: Scope, out: string[]): End {
    this.budget.count(stepsOf(iterable));
    const items = itemsOf(iterable).filter((one) => this.#isChosen(node, one, scope));
    for (const [i, one] of items.entries()) {
      const inner = new Scope(scope);
      inner.set("loop", new Loop(items, i));
      this.#assign(node.target, one, inner);
      if (this.#run(node.body, inner, out) === "break") break;
    }
    if (items.length > 0) return null;
    return this.#run(node.otherwise, new Scope(scope), out);
  }

  /** Whether the condition of a loop holds for a value. */
  #isChosen({ target, test }: StatementOf<"For">, one: Value, scope: Scope): boolean {
    if (test === null) return true;
    const inner = new Scope(scope);
    this.#assign(target, one, inner);
    return this.#evaluator.isTrue(test, inner);
  }

  #setBlock({ target, body }: StatementOf<"SetBlock">, scope: Scope): End {
    const out: string[] = [], end = this.#run(body, new Scope(scope), out);
    if (end === null) this.#assign(target, out.join(""), scope);
    return end;
  }

  /** Gives a value to a name, to names in a tuple, or to a field of a namespace. */
  #assign(target: Target, value: Value, scope: Scope): void {
    if (target.type === "NewName") return scope.set(target.name, value);
    if (target.type === "Targets") {
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
    const { parameters, body } = node;
    return new Callable(name, ({ positional, named }: Call) => {
      const inner = new Scope(scope), rest = new Map(named);
      inner.set("caller", orUndefined(rest.get("caller"), "caller"));
      rest.delete("caller");
      const given = parameters.map(([{ name }], i) => {
        if (i < positional.length) return positional[i];
        const value = rest.get(name);
        rest.delete(name);
        return value;
      });
      if (rest.size > 0) throw new Error(`${name} has no argument ${[...rest.keys()][0]}`);
      if (positional.length > parameters.length) {
        throw new Error(`${name} takes ${parameters.length} arguments, not ${positional.length}`);
      }
      for (const [i, [{ name: to }, value]] of parameters.entries()) {
        const one = given[i] === undefined && value !== null
          ? this.#evaluator.value(value, inner)
          : given[i];
        inner.set(to, orUndefined(one, to));
      }
      const out: string[] = [];
      this.#run(body, inner, out);
      return out.join("");
    });
  }
}

/** Jinja joins what blocks give to its text as it is: it must be one. */
function shownText(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Markup) return value.text;
  throw new Error(`a block gives ${described(value)}, expected a text`);
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
