/** Arguments of functions, filters, tests and methods, and how their tables declare them. */
import type { Call, Value } from "./values.ts";

/** A filter, a test or a method: what it makes of a value and of the arguments of a call. */
export type Work<Self, Result = Value> = (self: Self, given: Call, name: string) => Result;

/**
 * Work with these arguments.
 * @param parameters their names; those in brackets may be left out, and are undefined then
 */
export function takes<Self, Given extends readonly (Value | undefined)[], Result>(
  parameters: string,
  work: (self: Self, ...given: Given) => Result,
): Work<Self, Result> {
  const { names, required } = parametersOf(parameters);
  return (self, given, name) =>
    work(self, ...bind(name, given, names, required) as unknown as Given);
}

/** "old new [count]": three names, of which two are required. */
function parametersOf(parameters: string): { names: readonly string[]; required: number } {
  const parts = parameters.split(" ").filter((part) => part !== "");
  const required = parts.filter((part) => !part.startsWith("[")).length;
  return { names: parts.map((part) => part.replace(/[[\]]/g, "")), required };
}

/**
 * The arguments in the order of the parameters; undefined where one is not given.
 * @param names the parameters
 * @param required how many of them must be given
 * @throws Error for an argument too many, too few, or of another name
 */
export function bind(
  what: string,
  { positional, named }: Pick<Call, "positional" | "named">,
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
