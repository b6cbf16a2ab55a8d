/** Arguments of functions, filters, tests and methods. */
import type { Call, Value } from "./values.ts";

export const NO_ARGUMENTS: Call = { positional: [], named: new Map() };

/**
 * The arguments in the order of the parameters; undefined where one is not given.
 * @param names the parameters
 * @param required how many of them must be given
 * @throws Error for an argument too many, too few, or of another name
 */
export function bind(
  what: string,
  { positional, named }: Call,
  names: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (positional.length > names.length) {
    throw new Error(`${what} got ${positional.length} arguments, at most ${names.length} are read`);
  }
  for (const name of named.keys()) {
    const at = names.indexOf(name);
    if (at < 0) throw new Error(`${what} has no argument ${JSON.stringify(name)}`);
    if (at < positional.length) throw new Error(`${what} got its argument ${name} twice`);
  }
  const given = names.map((name, i) => i < positional.length ? positional[i] : named.get(name));
  const missing = given.slice(0, required).indexOf(undefined);
  if (missing >= 0) throw new Error(`${what} needs its argument ${names[missing]}`);
  return given;
}

/** As `bind`, for a method of Python whose arguments have no names. */
export function bindUnnamed(
  what: string,
  given: Call,
  names: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (given.named.size > 0) throw new Error(`${what} takes no named arguments`);
  return bind(what, given, names, required);
}
