/** The values of expressions, and of the names in them. */
import { type Budget, Endless, MAX_SIZE, stepsOf, weightOf } from "./budget.ts";
import { runFilter } from "./filters.ts";
import { attribute, item } from "./methods.ts";
import { binary, compares, joined, slice, unary } from "./operators.ts";
import type { Arguments, Expression, Filter } from "./syntax/nodes.ts";
import { runTest } from "./tests.ts";
import {
  type Call,
  Callable,
  described,
  dict,
  isTrue,
  itemsOf,
  str,
  tuple,
  Undefined,
  type Value,
} from "./values.ts";

/** What a block sets is not seen outside of it; a block sees what is set around it. */
export class Scope {
  readonly #values = new Map<string, Value>();

  constructor(readonly outer: Scope | null = null) {}

  get(name: string): Value {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    return this.outer === null ? new Undefined(name) : this.outer.get(name);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }
}

export class Evaluator {
  constructor(readonly budget: Budget) {}

  value(node: Expression, scope: Scope): Value {
    this.budget.enter();
    const value = this.#value(node, scope);
    this.budget.leave();
    return value;
  }

  isTrue(node: Expression, scope: Scope): boolean {
    return isTrue(this.value(node, scope));
  }

  #value(node: Expression, scope: Scope): Value {
    switch (node.type) {
      case "Constant":
        return node.value;
      case "Name":
        return scope.get(node.name);
      case "List":
        return this.#made(node.items.map((one) => this.value(one, scope)));
      case "Tuple":
        return this.#made(tuple(node.items.map((one) => this.value(one, scope))));
      case "Dict":
        return this.#made(dict(
          node.pairs.map(([key, one]) => [this.value(key, scope), this.value(one, scope)] as const),
        ));
      case "And": {
        const left = this.value(node.left, scope);
        return isTrue(left) ? this.value(node.right, scope) : left;
      }
      case "Or": {
        const left = this.value(node.left, scope);
        return isTrue(left) ? left : this.value(node.right, scope);
      }
      case "Not":
        return !this.isTrue(node.operand, scope);
      case "Sign":
        return unary(node.operator, this.value(node.operand, scope));
      case "Arithmetic":
        return this.#made(binary(
          node.operator,
          this.value(node.left, scope),
          this.value(node.right, scope),
        ));
      case "Concat":
        return this.#made(
          node.parts.map((part) => str(this.value(part, scope))).reduce(joined),
        );
      case "Compare":
        return this.#compare(node, scope);
      case "Conditional":
        if (this.isTrue(node.test, scope)) return this.value(node.then, scope);
        return node.otherwise === null
          ? new Undefined("the value of an if without else")
          : this.value(node.otherwise, scope);
      case "Filter":
        return this.filter(node, null, scope);
      case "Test":
        return runTest(
          node.name,
          this.#read(node.operand, scope),
          this.arguments(node.given, scope),
        );
      case "Call":
        return this.call(this.value(node.callee, scope), this.arguments(node.given, scope));
      case "Attribute":
        return attribute(this.#read(node.object, scope), node.name);
      case "Item":
        return item(this.#read(node.object, scope), this.value(node.key, scope));
      case "Slice":
        return this.#made(slice(
          this.#read(node.object, scope),
          node.bounds.map((one) => one === null ? null : this.value(one, scope)),
        ));
    }
  }

  /** Comparisons in a row: the first that does not hold ends them. */
  #compare({ first, rest }: Extract<Expression, { type: "Compare" }>, scope: Scope): boolean {
    let left = this.value(first, scope);
    for (const [operator, operand] of rest) {
      const right = this.value(operand, scope);
      this.budget.count((weightOf(left) >> 12) + (weightOf(right) >> 12) + stepsOf(right));
      if (!compares(operator, left, right)) return false;
      left = right;
    }
    return true;
  }

  /** @param inner the text of the block that the first filter in a row gets */
  filter(node: Filter, inner: string | null, scope: Scope): Value {
    const { operand } = node;
    const value = operand === null
      ? inner!
      : operand.type === "Filter"
      ? this.filter(operand, inner, scope)
      : this.value(operand, scope);
    this.budget.count(1 + stepsOf(value));
    return this.#made(runFilter(node.name, value, this.arguments(node.given, scope)));
  }

  /** A value that is gone through. */
  #read(node: Expression, scope: Scope): Value {
    const value = this.value(node, scope);
    this.budget.count(stepsOf(value));
    return value;
  }

  /**
   * A new value, with its size among the steps.
   * @throws Endless for one that is too large
   */
  #made(value: Value): Value {
    this.budget.count(1 + stepsOf(value));
    if (weightOf(value) > MAX_SIZE) throw new Endless("a value of it is too large");
    return value;
  }

  /** @throws Error for a value that cannot be called */
  call(callee: Value, given: Call): Value {
    if (callee instanceof Callable) return this.#made(callee.call(given));
    throw new Error(`${described(callee)} cannot be called`);
  }

  arguments({ positional, named, list }: Arguments, scope: Scope): Call {
    const all = positional.map((one) => this.value(one, scope));
    const names = new Map(named.map(([name, one]) => [name, this.value(one, scope)]));
    if (list !== null) all.push(...itemsOf(this.value(list, scope)));
    return { positional: all, named: names, count: (value) => this.#made(value) };
  }
}
