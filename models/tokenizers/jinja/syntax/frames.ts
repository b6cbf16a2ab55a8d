/**
 * Names that are undefined at the beginning of a block, whatever has that name outside of the
 * template: those that the block sets before it reads them. So they are in Jinja, which decides
 * where a name lives before the template runs: in `{% for m in l %}{{ x }}{% endfor %}{% set x = 1
 * %}` the loop sees no `x`, even when the template is given one.
 */
import { bodiesOf, boundNames, namesBefore, namesOfDefaults, setNames } from "./names.ts";
import type { Block, Statement } from "./nodes.ts";

/** Block → its names that are undefined when it begins. */
export type UnsetNames = ReadonlyMap<Block, readonly string[]>;

export function unsetAtBegin(template: Block): UnsetNames {
  const found = new Map<Block, readonly string[]>();
  addFrame(template, new Set(), found);
  return found;
}

/** @param known the names of the blocks around, and what is bound for this one */
function addFrame(
  block: Block,
  known: ReadonlySet<string>,
  found: Map<Block, readonly string[]>,
): void {
  const seen = new Set(known), unset: string[] = [], inner: [Statement, Block][] = [];
  const visit = (statements: Block, isCertain: boolean) => {
    for (const statement of statements) {
      for (const { name } of namesBefore(statement)) seen.add(name);
      for (const name of setNames(statement)) {
        if (isCertain && !seen.has(name)) unset.push(name);
        seen.add(name);
      }
      for (const body of bodiesOf(statement)) {
        if (statement.type === "If") visit(body, false);
        else inner.push([statement, body]);
      }
    }
  };
  visit(block, true);
  if (unset.length > 0) found.set(block, unset);
  for (const [statement, body] of inner) {
    const isElse = statement.type === "For" && body === statement.otherwise;
    const own = isElse ? [] : [...boundNames(statement), ...namesOfDefaults(statement)];
    addFrame(body, new Set([...seen, ...own]), found);
  }
}
