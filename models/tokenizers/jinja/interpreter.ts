/**
 * Runs parsed chat templates as Jinja 3.1 does in its immutable sandbox, with Python's values. The
 * work is limited: a template is a program of a stranger, and it may loop without end. What is not
 * supported is an error, never another text.
 */
import { PyDict, PyFloat } from "../../../tasks/python/literals.ts";
import { NO_ARGUMENTS } from "./call.ts";
import { runFilter } from "./filters.ts";
import { globals } from "./globals.ts";
import { loopValues } from "./loop.ts";
import { attribute, item } from "./methods.ts";
import type { CallNode, ForNode, MacroNode, Name, Node, SetNode } from "./nodes.ts";
import { binary, slice, unary } from "./operators.ts";
import { Scope } from "./scope.ts";
import { runTest } from "./tests.ts";
import {
  type Call,
  Callable,
  described,
  dict,
  fromJson,
  isTrue,
  itemsOf,
  Namespace,
  str,
  text,
  tuple,
  Undefined,
  type Value,
} from "./values.ts";

/** Nodes that may be evaluated, and numbers that `range` may give, in one rendering. */
const MAX_STEPS = 1_000_000;
/** A rendering that takes longer is ended, since single steps may also be slow. */
const MAX_SECONDS = 10;
/** The clock is read once in so many steps. */
const STEPS_PER_LOOK = 4096;
/** Nodes inside each other, those of macros that call macros included: the stack is limited. */
const MAX_DEPTH = 500;

const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

/** A template took more work than is allowed. */
export class Endless extends Error {}

/** How a block ended. */
type End = "break" | "continue" | null;

/**
 * The text that a template gives.
 * @param variables what the template may read
 * @throws Error when the template raises one, or does not end
 */
export function renderProgram(
  program: Node,
  variables: Readonly<Record<string, unknown>>,
): string {
  const interpreter = new Interpreter(), scope = new Scope();
  for (const [name, value] of globals((steps) => interpreter.count(steps))) scope.set(name, value);
  for (const [name, value] of Object.entries(variables)) scope.set(name, fromJson(value));
  return interpreter.block([program], new Scope(scope));
}

class Interpreter {
  #steps = 0;
  #depth = 0;
  #nextLook = STEPS_PER_LOOK;
  readonly #end = performance.now() + MAX_SECONDS * 1000;

  count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new Endless(`it does not end (after ${MAX_STEPS} steps)`);
    if (this.#steps < this.#nextLook) return;
    this.#nextLook = this.#steps + STEPS_PER_LOOK;
    if (performance.now() > this.#end) throw new Endless(`it does not end (in ${MAX_SECONDS} s)`);
  }

  /** The text of statements whose names are seen in `scope`. */
  block(nodes: readonly Node[], scope: Scope): string {
    const out: string[] = [];
    if (this.#run(nodes, scope, out) !== null) throw new Error("break or continue outside a loop");
    return out.join("");
  }

  /** What `work` gives one level deeper. */
  #deeper<T>(work: () => T): T {
    this.count(1);
    if (this.#depth >= MAX_DEPTH) throw new Endless("a macro calls itself without end");
    this.#depth++;
    try {
      return work();
    } finally {
      this.#depth--;
    }
  }

  #run(nodes: readonly Node[], scope: Scope, out: string[]): End {
    for (const node of nodes) {
      const end = this.#deeper(() => this.#statement(node, scope, out));
      if (end !== null) return end;
    }
    return null;
  }

  #statement(node: Node, scope: Scope, out: string[]): End {
    switch (node.type) {
      case "Program":
        return this.#run(node.body, scope, out);
      case "Comment":
        return null;
      case "Break":
        return "break";
      case "Continue":
        return "continue";
      case "If":
        return this.#run(
          isTrue(this.#value(node.test, scope)) ? node.body : node.alternate,
          scope,
          out,
        );
      case "For":
        return this.#loop(node, scope, out);
      case "Set":
        this.#set(node, scope);
        return null;
      case "Macro":
        scope.set(node.name.value, this.#macro(node.name.value, node.args, node.body, scope));
        return null;
      case "CallStatement": {
        const caller = this.#macro("caller", node.callerArgs ?? [], node.body, scope);
        const given = this.#arguments(node.call.args, scope);
        const named = new Map([...given.named, ["caller", caller]]);
        out.push(str(call(this.#value(node.call.callee, scope), { ...given, named })));
        return null;
      }
      case "FilterStatement": {
        const body = this.block(node.body, new Scope(scope));
        out.push(str(this.#filter(node.filter, body, scope)));
        return null;
      }
      default: {
        const shown = str(this.#value(node, scope));
        this.count(shown.length >> 8);
        out.push(shown);
        return null;
      }
    }
  }

  #loop({ loopvar, iterable, body, defaultBlock }: ForNode, scope: Scope, out: string[]): End {
    const source = iterable.type === "SelectExpression" ? iterable.lhs : iterable;
    let items = itemsOf(this.#value(source, scope));
    if (iterable.type === "SelectExpression") {
      items = items.filter((one) => {
        const inner = new Scope(scope);
        this.#assign(loopvar, one, inner);
        return isTrue(this.#value(iterable.test, inner));
      });
    }
    if (items.length === 0) return this.#run(defaultBlock, new Scope(scope), out);
    const state: { changed: readonly Value[] | null } = { changed: null };
    for (const [index, one] of items.entries()) {
      const inner = new Scope(scope);
      inner.set("loop", loopValues(items, index, state));
      this.#assign(loopvar, one, inner);
      if (this.#run(body, inner, out) === "break") break;
    }
    return null;
  }

  #set({ assignee, value, body }: SetNode, scope: Scope): void {
    let given = value === null ? this.block(body, new Scope(scope)) : this.#value(value, scope);
    let target = assignee;
    // `{% set x | filter %}…{% endset %}`
    const filters: (Name | CallNode)[] = [];
    while (value === null && target.type === "FilterExpression") {
      filters.unshift(target.filter);
      target = target.operand;
    }
    for (const filter of filters) given = this.#filter(filter, given, scope);
    this.#assign(target, given, scope);
  }

  /** Gives a value to a name, to names in a tuple, or to a field of a namespace. */
  #assign(target: Node, value: Value, scope: Scope): void {
    if (target.type === "Identifier") return scope.set(target.value, value);
    if (target.type === "TupleLiteral") {
      const items = itemsOf(value);
      if (items.length !== target.value.length) {
        throw new Error(`${items.length} values are given to ${target.value.length} names`);
      }
      return target.value.forEach((name, i) => this.#assign(name, items[i]!, scope));
    }
    if (target.type !== "MemberExpression" || target.computed) throw new Error("set of no name");
    const object = this.#value(target.object, scope), { property } = target;
    if (!(object instanceof Namespace) || property.type !== "Identifier") {
      throw new Error(`a field of ${described(object)} cannot be set, only one of a namespace`);
    }
    object.fields.set(property.value, value);
  }

  #macro(name: string, parameters: MacroNode["args"], body: readonly Node[], scope: Scope): Value {
    return new Callable(name, ({ positional, named }) => {
      const inner = new Scope(scope), known = new Set<string>(["caller"]);
      inner.set("caller", named.get("caller") ?? new Undefined("caller"));
      for (const [i, parameter] of parameters.entries()) {
        const isBare = parameter.type === "Identifier";
        const key = isBare ? parameter.value : parameter.key.value;
        if (i < positional.length && named.has(key)) throw new Error(`${name} got ${key} twice`);
        known.add(key);
        const given = i < positional.length ? positional[i] : named.get(key);
        const other = () => isBare ? new Undefined(key) : this.#value(parameter.value, inner);
        inner.set(key, given === undefined ? other() : given);
      }
      const unknown = [...named.keys()].find((key) => !known.has(key));
      if (unknown !== undefined) throw new Error(`${name} has no argument ${unknown}`);
      if (positional.length > parameters.length) {
        throw new Error(`${name} takes ${parameters.length} arguments, not ${positional.length}`);
      }
      return this.block(body, inner);
    });
  }

  #value(node: Node, scope: Scope): Value {
    return this.#deeper(() => this.#expression(node, scope));
  }

  #expression(node: Node, scope: Scope): Value {
    switch (node.type) {
      case "StringLiteral":
        return node.value;
      case "IntegerLiteral":
        if (!Number.isSafeInteger(node.value)) throw new Error(`${node.value} is too large`);
        return BigInt(node.value);
      case "FloatLiteral":
        return new PyFloat(node.value);
      case "Identifier":
        return CONSTANTS.has(node.value) ? CONSTANTS.get(node.value)! : scope.get(node.value);
      case "ArrayLiteral":
        return node.value.map((one) => this.#value(one, scope));
      case "TupleLiteral":
        return tuple(node.value.map((one) => this.#value(one, scope)));
      case "ObjectLiteral":
        return dict(
          Array.from(
            node.value,
            ([key, value]) => [this.#value(key, scope), this.#value(value, scope)] as const,
          ),
        );
      case "BinaryExpression": {
        const left = this.#value(node.left, scope), operator = node.operator.value;
        if (operator === "and") return isTrue(left) ? this.#value(node.right, scope) : left;
        if (operator === "or") return isTrue(left) ? left : this.#value(node.right, scope);
        return binary(operator, left, this.#value(node.right, scope));
      }
      case "UnaryExpression": {
        const value = this.#value(node.argument, scope), operator = node.operator.value;
        return operator === "not" ? !isTrue(value) : unary(operator, value);
      }
      case "Ternary":
        return this.#value(
          isTrue(this.#value(node.condition, scope)) ? node.trueExpr : node.falseExpr,
          scope,
        );
      case "SelectExpression":
        return isTrue(this.#value(node.test, scope))
          ? this.#value(node.lhs, scope)
          : new Undefined("the value of an if without else");
      case "TestExpression": {
        const holds = runTest(node.test.value, this.#value(node.operand, scope), []);
        return holds !== node.negate;
      }
      case "FilterExpression":
        return this.#filter(node.filter, this.#value(node.operand, scope), scope);
      case "CallExpression":
        return call(this.#value(node.callee, scope), this.#arguments(node.args, scope));
      case "MemberExpression":
        return this.#member(node, scope);
      default:
        throw new Error(`${node.type} is no value`);
    }
  }

  #member(
    { object, property, computed }: Extract<Node, { type: "MemberExpression" }>,
    scope: Scope,
  ): Value {
    const value = this.#value(object, scope);
    if (property.type === "SliceExpression") {
      const { start, stop, step } = property;
      return slice(
        value,
        [start, stop, step].map((one) => one === undefined ? one : this.#value(one, scope)),
      );
    }
    if (computed || property.type !== "Identifier") {
      return item(value, this.#value(property, scope));
    }
    return attribute(value, property.value);
  }

  #filter(filter: Name | CallNode, value: Value, scope: Scope): Value {
    const given = filter.type === "Identifier" ? NO_ARGUMENTS : this.#arguments(filter.args, scope);
    const name = filter.type === "Identifier" ? filter : filter.callee;
    if (name.type !== "Identifier") throw new Error("a filter without a name");
    return runFilter(name.value, value, given);
  }

  #arguments(nodes: readonly Node[], scope: Scope): Call {
    const positional: Value[] = [], named = new Map<string, Value>();
    const name = (key: string, value: Value) => {
      if (named.has(key)) throw new Error(`the argument ${key} is given twice`);
      named.set(key, value);
    };
    for (const node of nodes) {
      if (node.type === "KeywordArgumentExpression") {
        name(node.key.value, this.#value(node.value, scope));
      } else if (node.type === "SpreadExpression") {
        positional.push(...itemsOf(this.#value(node.argument, scope)));
      } else if (node.type === "KeywordSpreadExpression") {
        const value = this.#value(node.argument, scope);
        if (!(value instanceof PyDict)) throw new Error(`** of ${described(value)}`);
        for (const [key, one] of value.entries) name(text(key, "the name of an argument"), one);
      } else positional.push(this.#value(node, scope));
    }
    return { positional, named };
  }
}

function call(callee: Value, given: Call): Value {
  if (callee instanceof Callable) return callee.call(given);
  throw new Error(`${described(callee)} cannot be called`);
}
