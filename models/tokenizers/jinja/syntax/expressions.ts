/** Parses expressions, with the precedence of Jinja's parser: from `x if y else z` down. */
import type { TokenStream } from "./token_stream.ts";
import type { Arguments, Call, Expression, Filter } from "./nodes.ts";

const NO_ARGUMENTS: Arguments = { positional: [], named: [], list: null };

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

/** An expression, or several with commas between them, which are a tuple. */
export function expressions(tokens: TokenStream, withCondition = true): Expression {
  const items: Expression[] = [];
  let isTuple = false;
  while (!["}}", "%}", ")"].some((type) => tokens.is(type))) {
    items.push(expression(tokens, withCondition));
    if (!tokens.skipIf(",")) break;
    isTuple = true;
  }
  if (isTuple) return { type: "Tuple", items };
  if (items.length === 0) throw tokens.unexpected("a value");
  return items[0]!;
}

function conditional(tokens: TokenStream): Expression {
  let left = or(tokens);
  while (tokens.skipName("if")) {
    const test = or(tokens);
    const otherwise = tokens.skipName("else") ? tokens.deeper(() => conditional(tokens)) : null;
    left = { type: "Conditional", test, then: left, otherwise };
  }
  return left;
}

function or(tokens: TokenStream): Expression {
  let left = and(tokens);
  while (tokens.skipName("or")) left = { type: "Or", left, right: and(tokens) };
  return left;
}

function and(tokens: TokenStream): Expression {
  let left = not(tokens);
  while (tokens.skipName("and")) left = { type: "And", left, right: not(tokens) };
  return left;
}

function not(tokens: TokenStream): Expression {
  if (!tokens.skipName("not")) return comparison(tokens);
  return { type: "Not", operand: tokens.deeper(() => not(tokens)) };
}

function comparison(tokens: TokenStream): Expression {
  const first = sum(tokens), rest: [string, Expression][] = [];
  for (let operator; (operator = comparisonOperator(tokens)) !== null;) {
    rest.push([operator, sum(tokens)]);
  }
  return rest.length === 0 ? first : { type: "Compare", first, rest };
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
  let left = operand(tokens);
  while (operators.includes(tokens.current.type)) {
    const operator = tokens.next().type;
    left = { type: "Arithmetic", operator, left, right: operand(tokens) };
  }
  return left;
}

function sum(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["+", "-"], concat);
}

function concat(tokens: TokenStream): Expression {
  const parts = [product(tokens)];
  while (tokens.skipIf("~")) parts.push(product(tokens));
  return parts.length === 1 ? parts[0]! : { type: "Concat", parts };
}

function product(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["*", "/", "//", "%"], (inner) => signed(inner, true));
}

/** `-x|abs` is `(-x)|abs`, but `-x.y` is `-(x.y)`. */
function signed(tokens: TokenStream, withFilters: boolean): Expression {
  let value: Expression;
  if (tokens.is("-") || tokens.is("+")) {
    const operator = tokens.next().type as "-" | "+";
    value = { type: "Sign", operator, operand: tokens.deeper(() => signed(tokens, false)) };
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
      return constant === undefined
        ? { type: "Name", name }
        : { type: "Constant", value: constant };
    }
    case "string": {
      let text = "";
      while (tokens.is("string")) text += tokens.next().value;
      return { type: "Constant", value: text };
    }
    case "integer":
    case "float":
      tokens.next();
      return { type: "Constant", value };
    case "(": {
      tokens.next();
      const inner: Expression = tokens.is(")") ? { type: "Tuple", items: [] } : expressions(tokens);
      tokens.expect(")");
      return inner;
    }
    case "[":
      return { type: "List", items: itemsUntil(tokens, "]", () => expression(tokens)) };
    case "{":
      return { type: "Dict", pairs: itemsUntil(tokens, "}", () => pair(tokens)) };
  }
  throw tokens.unexpected("a value");
}

/** What stands in brackets with commas between; one more comma may stand at the end. */
function itemsUntil<T>(tokens: TokenStream, close: string, read: () => T): T[] {
  const items: T[] = [];
  tokens.next();
  while (!tokens.is(close)) {
    if (items.length > 0) tokens.expect(",", `, or ${close}`);
    if (tokens.is(close)) break;
    items.push(read());
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
    if (tokens.is(".")) value = attribute(tokens, value);
    else if (tokens.is("[")) value = subscript(tokens, value);
    else if (tokens.is("(")) value = call(tokens, value);
    else return value;
  }
}

function attribute(tokens: TokenStream, object: Expression): Expression {
  tokens.next();
  if (tokens.is("integer")) {
    return { type: "Item", object, key: { type: "Constant", value: tokens.next().value } };
  }
  return { type: "Attribute", object, name: tokens.name() };
}

function subscript(tokens: TokenStream, object: Expression): Expression {
  tokens.next();
  const start = tokens.is(":") ? null : expression(tokens);
  const value: Expression = tokens.is(":")
    ? { type: "Slice", object, bounds: [start, bound(tokens), bound(tokens)] }
    : { type: "Item", object, key: start! };
  tokens.expect("]");
  return value;
}

/** `:stop` or `:step` of a slice; null where it is left out. */
function bound(tokens: TokenStream): Expression | null {
  if (!tokens.skipIf(":")) return null;
  return tokens.is(":") || tokens.is("]") ? null : expression(tokens);
}

function call(tokens: TokenStream, callee: Expression): Call {
  return { type: "Call", callee, given: callArguments(tokens) };
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
  return { positional, named, list };
}

function filtersAndTests(tokens: TokenStream, value: Expression): Expression {
  for (;;) {
    if (tokens.skipIf("|")) value = filter(tokens, value);
    else if (tokens.skipName("is")) value = test(tokens, value);
    else if (tokens.is("(")) value = call(tokens, value);
    else return value;
  }
}

/** A filter after its `|`. @param operand null = the text of a block */
export function filter(tokens: TokenStream, operand: Expression | null): Filter {
  const name = tokens.name(), given = tokens.is("(") ? callArguments(tokens) : NO_ARGUMENTS;
  return { type: "Filter", operand, name, given };
}

/** A test after its `is`. */
function test(tokens: TokenStream, operand: Expression): Expression {
  const isNegated = tokens.skipName("not"), name = tokens.name();
  let given = NO_ARGUMENTS;
  if (tokens.is("(")) given = callArguments(tokens);
  else if (
    BARE_ARGUMENT.includes(tokens.current.type) &&
    !["else", "or", "and"].some((word) => tokens.isName(word))
  ) {
    if (tokens.isName("is")) throw tokens.fault("tests in a row (is … is …) need brackets");
    given = { ...NO_ARGUMENTS, positional: [postfix(tokens, primary(tokens))] };
  }
  const found: Expression = { type: "Test", operand, name, given };
  return isNegated ? { type: "Not", operand: found } : found;
}
