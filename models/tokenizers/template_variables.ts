/** The variables of a chat template that its user may set. */
import { namesOfBlock } from "./jinja/syntax/names.ts";
import type { Block } from "./jinja/syntax/nodes.ts";

/** What Jinja and transformers define for every template. */
const GLOBALS = [
  "range",
  "namespace",
  "raise_exception",
  "strftime_now",
  "loop",
  "caller",
  "varargs",
  "kwargs",
  "dict",
  "cycler",
  "joiner",
  "lipsum",
];

/**
 * The names that a template reads and that no statement in it sets. A name that is read before it
 * is set (`x is defined`) counts, since a user may set it.
 */
export function freeVariables(template: Block): Set<string> {
  const read = new Set<string>(), bound = new Set<string>(GLOBALS);
  for (const { name, use } of namesOfBlock(template)) {
    if (use === "read") read.add(name);
    else if (use === "bind" || !read.has(name)) bound.add(name);
  }
  return new Set([...read].filter((name) => !bound.has(name)));
}
