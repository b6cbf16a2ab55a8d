/** Parses what gets a value (`a`, `a, b`, `(a, b)`, `namespace.field`) and a macro's parameters. */
import { expression, expressions, isTupleEnd } from "./expressions.ts";
import type { Expression, Parameters, Target } from "./nodes.ts";
import type { TokenStream } from "./token_stream.ts";

const RESERVED = ["true", "True", "false", "False", "none", "None"];

/**
 * @param end a word that ends the names: `in`
 * @param withField whether a field of a namespace may stand here
 */
export function target(
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
export function newName(tokens: TokenStream): string {
  const first = tokens.current, name = tokens.name();
  if (!RESERVED.includes(name)) return name;
  throw tokens.fault(`found ${name}, which gets no value, expected a name`, first);
}

/** `(a, b, c=1)`. */
export function parameters(tokens: TokenStream): Parameters {
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
