/** Names of a template and their values. */
import { Undefined, type Value } from "./values.ts";

/** What a block sets is not seen outside of it; a block sees what is set around it. */
export class Scope {
  readonly #values = new Map<string, Value>();

  /** @param unset names that are undefined at the beginning of the block */
  constructor(readonly outer: Scope | null = null, unset: readonly string[] = []) {
    for (const name of unset) this.#values.set(name, new Undefined(name));
  }

  get(name: string): Value {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    return this.outer === null ? new Undefined(name) : this.outer.get(name);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }
}
