/**
 * Parses expressions, with the precedence of Jinja's parser: from `x if y else z` down. What is
 * parsed is a function that gives the value.
 */
import { type Budget, Endless, MAX_SIZE, stepsOf, weightOf } from "./budget.ts";
import { runFilter, runTest } from "./filters.ts";
import { attribute, item } from "./methods.ts";
import { binary, compares, joined, slice, unary } from "./operators.ts";
import type { TokenStream } from "./tokens.ts";
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

  /** @param budget of the rendering */
  constructor(readonly budget: Budget, readonly outer: Scope | null = null) {}

  get(name: string): Value {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    return this.outer === null ? new Undefined(name) : this.outer.get(name);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  inner(): Scope {
    return new Scope(this.budget, this);
  }
}

export type Expression = (scope: Scope) => Value;

type Arguments = (scope: Scope) => Call;

export type Filter = (value: Value, scope: Scope) => Value;

/** An expression that counts as a step, and as a level of those in each other. */
function step(work: (scope: Scope) => Value): Expression {
  return (scope) => {
    scope.budget.enter();
    const value = work(scope);
    scope.budget.leave();
    return value;
  };
}

/** An expression that makes a new value, whose size is among the steps. */
function making(work: (scope: Scope) => Value): Expression {
  return step((scope) => made(work(scope), scope));
}

/** @throws Endless for a value that is too large */
function made(value: Value, { budget }: Scope): Value {
  budget.count(1 + stepsOf(value));
  if (weightOf(value) > MAX_SIZE) throw new Endless("a value of it is too large");
  return value;
}

function read(expression: Expression, scope: Scope): Value {
  const value = expression(scope);
  scope.budget.count(stepsOf(value));
  return value;
}

/** @throws Error for a value that cannot be called */
function called(callee: Value, given: Call, scope: Scope): Value {
  if (callee instanceof Callable) return made(callee.call(given), scope);
  throw new Error(`${described(callee)} cannot be called`);
}

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

/** Arguments that a macro has beside its parameters. */
const UNSUPPORTED = ["varargs", "kwargs"];

const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="];

/** Tokens that the argument of a test without brackets may begin with: `is divisibleby 3`. */
const BARE_ARGUMENT = ["name", "string", "integer", "float", "(", "[", "{"];

/** @param withCondition whether `x if y else z` may stand here */
export function expression(tokens: TokenStream, withCondition = true): Expression {
  return tokens.deeper(() => withCondition ? conditional(tokens) : or(tokens));
}

export function expressions(tokens: TokenStream, withCondition = true): Expression {
  const items: Expression[] = [];
  let isTuple = false;
  while (!["}}", "%}", ")"].some((type) => tokens.is(type))) {
    items.push(expression(tokens, withCondition));
    if (!tokens.skipIf(",")) break;
    isTuple = true;
  }
  if (isTuple) return tupleOf(items);
  if (items.length === 0) throw tokens.unexpected("a value");
  return items[0]!;
}

function tupleOf(items: readonly Expression[]): Expression {
  return making((scope) => tuple(items.map((one) => one(scope))));
}

function conditional(tokens: TokenStream): Expression {
  let value = or(tokens);
  while (tokens.skipName("if")) {
    const then = value, test = or(tokens);
    const otherwise = tokens.skipName("else") ? tokens.deeper(() => conditional(tokens)) : null;
    value = step((scope) => {
      if (isTrue(test(scope))) return then(scope);
      if (otherwise !== null) return otherwise(scope);
      return new Undefined("the value of an if without else");
    });
  }
  return value;
}

function or(tokens: TokenStream): Expression {
  let value = and(tokens);
  while (tokens.skipName("or")) {
    const left = value, right = and(tokens);
    value = step((scope) => {
      const first = left(scope);
      return isTrue(first) ? first : right(scope);
    });
  }
  return value;
}

function and(tokens: TokenStream): Expression {
  let value = not(tokens);
  while (tokens.skipName("and")) {
    const left = value, right = not(tokens);
    value = step((scope) => {
      const first = left(scope);
      return isTrue(first) ? right(scope) : first;
    });
  }
  return value;
}

function not(tokens: TokenStream): Expression {
  if (!tokens.skipName("not")) return comparison(tokens);
  const operand = tokens.deeper(() => not(tokens));
  return step((scope) => !isTrue(operand(scope)));
}

/** Comparisons in a row: the first that does not hold ends them. */
function comparison(tokens: TokenStream): Expression {
  const first = sum(tokens), rest: [operator: string, operand: Expression][] = [];
  for (let operator; (operator = comparisonOperator(tokens)) !== null;) {
    rest.push([operator, sum(tokens)]);
  }
  if (rest.length === 0) return first;
  return step((scope) => {
    let left = first(scope);
    for (const [operator, operand] of rest) {
      const right = operand(scope);
      scope.budget.count((weightOf(left) >> 12) + (weightOf(right) >> 12) + stepsOf(right));
      if (!compares(operator, left, right)) return false;
      left = right;
    }
    return true;
  });
}

function comparisonOperator(tokens: TokenStream): string | null {
  if (COMPARISONS.includes(tokens.current.type)) return tokens.next().type;
  if (tokens.skipName("in")) return "in";
  const { type, value } = tokens.isName("not") ? tokens.look() : tokens.current;
  if (!tokens.isName("not") || type !== "name" || value !== "in") return null;
  tokens.next();
  tokens.next();
  return "not in";
}

/** Operators of one rank, which take what stands left of them first. */
function leftToRight(
  tokens: TokenStream,
  operators: readonly string[],
  operand: (tokens: TokenStream) => Expression,
): Expression {
  let value = operand(tokens);
  while (operators.includes(tokens.current.type)) {
    const operator = tokens.next().type, left = value, right = operand(tokens);
    value = making((scope) => binary(operator, left(scope), right(scope)));
  }
  return value;
}

function sum(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["+", "-"], concat);
}

function concat(tokens: TokenStream): Expression {
  const parts = [product(tokens)];
  while (tokens.skipIf("~")) parts.push(product(tokens));
  if (parts.length === 1) return parts[0]!;
  return making((scope) => parts.map((part) => str(part(scope))).reduce(joined));
}

function product(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["*", "/", "//", "%"], (inner) => signed(inner, true));
}

/** `-x|abs` is `(-x)|abs`, but `-x.y` is `-(x.y)`. */
function signed(tokens: TokenStream, withFilters: boolean): Expression {
  let value: Expression;
  if (tokens.is("-") || tokens.is("+")) {
    const sign = tokens.next().type, operand = tokens.deeper(() => signed(tokens, false));
    value = step((scope) => unary(sign, operand(scope)));
  } else value = primary(tokens);
  value = postfix(tokens, value);
  return withFilters ? filtersAndTests(tokens, value) : value;
}

/** A name, a constant, or what stands in brackets. */
function primary(tokens: TokenStream): Expression {
  const { type, value } = tokens.current;
  switch (type) {
    case "name": {
      const name = tokens.name(), constant = CONSTANTS.get(name);
      if (UNSUPPORTED.includes(name)) throw tokens.fault(`${name} of a macro is not supported`);
      if (constant !== undefined) return step(() => constant);
      tokens.reads(name);
      return step((scope) => scope.get(name));
    }
    case "string": {
      let text = "";
      while (tokens.is("string")) text += tokens.next().value;
      return step(() => text);
    }
    case "integer":
    case "float":
      tokens.next();
      return step(() => value);
    case "(": {
      tokens.next();
      const inner = tokens.is(")") ? tupleOf([]) : expressions(tokens);
      tokens.expect(")");
      return inner;
    }
    case "[": {
      const items = itemsUntil(tokens, "]", () => expression(tokens));
      return making((scope) => items.map((one) => one(scope)));
    }
    case "{": {
      const pairs = itemsUntil(tokens, "}", () => pair(tokens));
      return making((scope) => dict(pairs.map(([key, one]) => [key(scope), one(scope)] as const)));
    }
  }
  throw tokens.unexpected("a value");
}

/** What stands in brackets with commas between; one more comma may stand at the end. */
function itemsUntil<T>(tokens: TokenStream, close: string, parse: () => T): T[] {
  const items: T[] = [];
  tokens.next();
  while (!tokens.is(close)) {
    if (items.length > 0) tokens.expect(",", `, or ${close}`);
    if (tokens.is(close)) break;
    items.push(parse());
  }
  tokens.next();
  return items;
}

function pair(tokens: TokenStream): [Expression, Expression] {
  const key = expression(tokens);
  tokens.expect(":");
  return [key, expression(tokens)];
}

/** `.name`, `[key]` and `(arguments)` after a value. */
function postfix(tokens: TokenStream, value: Expression): Expression {
  for (;;) {
    if (tokens.skipIf(".")) value = member(tokens, value);
    else if (tokens.skipIf("[")) value = subscript(tokens, value);
    else if (tokens.is("(")) value = call(tokens, value);
    else return value;
  }
}

function member(tokens: TokenStream, object: Expression): Expression {
  if (tokens.is("integer")) {
    const { value } = tokens.next();
    return step((scope) => item(read(object, scope), value));
  }
  const name = tokens.name();
  return step((scope) => attribute(read(object, scope), name));
}

function subscript(tokens: TokenStream, object: Expression): Expression {
  const start = tokens.is(":") ? null : expression(tokens), isSlice = tokens.is(":");
  const bounds = isSlice ? [start, bound(tokens), bound(tokens)] : [];
  tokens.expect("]");
  if (!isSlice) return step((scope) => item(read(object, scope), start!(scope)));
  return making((scope) =>
    slice(read(object, scope), bounds.map((one) => one === null ? null : one(scope)))
  );
}

function bound(tokens: TokenStream): Expression | null {
  if (!tokens.skipIf(":")) return null;
  return tokens.is(":") || tokens.is("]") ? null : expression(tokens);
}

function call(tokens: TokenStream, callee: Expression): Expression {
  const given = callArguments(tokens);
  return step((scope) => called(callee(scope), given(scope), scope));
}

function callArguments(tokens: TokenStream): Arguments {
  const positional: Expression[] = [], named: [string, Expression][] = [];
  let list: Expression | null = null;
  const before = tokens.expect("(");
  for (let isFirst = true; !tokens.is(")"); isFirst = false) {
    if (!isFirst) tokens.expect(",", ", or )");
    if (tokens.is(")")) break;
    const isNamed = tokens.is("name") && tokens.look().type === "=";
    if (list !== null || (!isNamed && named.length > 0)) {
      throw tokens.fault("arguments stand in this order: a, b, c=1 or a, b, *list");
    }
    if (tokens.skipIf("*")) list = expression(tokens);
    else if (isNamed) {
      const name = tokens.name();
      if (named.some(([other]) => other === name)) {
        throw tokens.fault(`the argument ${name} is given twice`, before);
      }
      tokens.next();
      named.push([name, expression(tokens)]);
    } else positional.push(expression(tokens));
  }
  tokens.next();
  return argumentsOf(positional, named, list);
}

function argumentsOf(
  positional: readonly Expression[],
  named: readonly (readonly [string, Expression])[] = [],
  list: Expression | null = null,
): Arguments {
  return (scope) => {
    const all = positional.map((one) => one(scope));
    const names = new Map(named.map(([name, one]) => [name, one(scope)]));
    if (list !== null) all.push(...itemsOf(list(scope)));
    return { positional: all, named: names, count: (value) => made(value, scope) };
  };
}

function filtersAndTests(tokens: TokenStream, value: Expression): Expression {
  for (;;) {
    if (tokens.skipIf("|")) {
      const operand = value, apply = filter(tokens);
      value = step((scope) => apply(operand(scope), scope));
    } else if (tokens.skipName("is")) value = test(tokens, value);
    else if (tokens.is("(")) value = call(tokens, value);
    else return value;
  }
}

export function filter(tokens: TokenStream): Filter {
  const name = tokens.name(), given = tokens.is("(") ? callArguments(tokens) : argumentsOf([]);
  return (value, scope) => {
    scope.budget.count(1 + stepsOf(value));
    return made(runFilter(name, value, given(scope)), scope);
  };
}

function test(tokens: TokenStream, operand: Expression): Expression {
  const isNegated = tokens.skipName("not"), name = tokens.name();
  let given = argumentsOf([]);
  if (tokens.is("(")) given = callArguments(tokens);
  else if (
    BARE_ARGUMENT.includes(tokens.current.type) &&
    !["else", "or", "and"].some((word) => tokens.isName(word))
  ) {
    if (tokens.isName("is")) throw tokens.fault("tests in a row (is … is …) need brackets");
    given = argumentsOf([postfix(tokens, primary(tokens))]);
  }
  return step((scope) => runTest(name, read(operand, scope), given(scope)) !== isNegated);
}
