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
  return new Frames().of(template);
}

class Frames {
  readonly #found = new Map<Block, readonly string[]>();
  /** The names of the blocks around, and those of the block that is looked at, up to here. */
  readonly #known = new Set<string>();

  of(template: Block): UnsetNames {
    this.#add(template, []);
    return this.#found;
  }

  /** @param bound the names that the statement of the block binds for it */
  #add(block: Block, bound: readonly string[]): void {
    // One set for all blocks, which each leaves as it was: a copy for each would be slow.
    const own: string[] = [], unset: string[] = [], inner: [Statement, Block][] = [];
    const learn = (name: string): boolean => {
      const isNew = !this.#known.has(name);
      if (isNew) {
        this.#known.add(name);
        own.push(name);
      }
      return isNew;
    };
    const visit = (statements: Block, isCertain: boolean) => {
      for (const statement of statements) {
        for (const { name } of namesBefore(statement)) learn(name);
        for (const name of setNames(statement)) if (learn(name) && isCertain) unset.push(name);
        for (const body of bodiesOf(statement)) {
          if (statement.type === "If") visit(body, false);
          else inner.push([statement, body]);
        }
      }
    };
    bound.forEach(learn);
    visit(block, true);
    if (unset.length > 0) this.#found.set(block, unset);
    for (const [statement, body] of inner) {
      const isElse = statement.type === "For" && body === statement.otherwise;
      const names = isElse ? [] : [...boundNames(statement), ...namesOfDefaults(statement)];
      this.#add(body, names);
    }
    for (const name of own) this.#known.delete(name);
  }
}
