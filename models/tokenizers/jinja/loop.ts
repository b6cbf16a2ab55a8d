/** The variable `loop` of a template, which looks one value ahead where it is asked to. */
import { bind } from "./call.ts";
import {
  type Call,
  Callable,
  equal,
  Instance,
  orUndefined,
  tuple,
  Undefined,
  type Value,
} from "./values.ts";

export class LoopContext extends Instance {
  override readonly kind = "LoopContext";
  #index0 = -1;
  #values: Iterator<Value>;
  #length: number | null = null;
  #next: Value | undefined;
  #current: Value | undefined;
  #before: Value | undefined;
  #changed: Value | null = null;

  /** @param again renders the loop for other values: null where it is not `recursive` */
  constructor(
    readonly source: Iterable<Value>,
    readonly depth0: number,
    readonly again: ((values: Value) => string) | null,
  ) {
    super();
    this.#values = source[Symbol.iterator]();
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let one; (one = this.#take()) !== undefined;) {
      this.#index0++;
      this.#before = this.#current;
      this.#current = one;
      yield one;
    }
  }

  override readonly call = (given: Call): Value => {
    const [values] = bind("loop", given, ["iterable"], 1);
    if (this.again === null) throw new Error("loop(…) needs a loop with the word recursive");
    return this.again(values!);
  };

  override field(name: string): Value | undefined {
    const index = this.#index0;
    switch (name) {
      case "index":
        return BigInt(index + 1);
      case "index0":
        return BigInt(index);
      case "revindex":
        return BigInt(this.#count() - index);
      case "revindex0":
        return BigInt(this.#count() - index - 1);
      case "length":
        return BigInt(this.#count());
      case "first":
        return index === 0;
      case "last":
        return this.#peek() === undefined;
      case "depth":
        return BigInt(this.depth0 + 1);
      case "depth0":
        return BigInt(this.depth0);
      case "previtem":
        return index === 0 ? new Undefined("the previous item") : this.#before!;
      case "nextitem":
        return orUndefined(this.#peek(), "the next item");
      case "cycle":
        return new Callable("loop.cycle", (given) => this.#cycle(given));
      case "changed":
        return new Callable("loop.changed", (given) => this.#hasChanged(given));
    }
    return undefined;
  }

  override shown(): string {
    return `<LoopContext ${this.#index0 + 1}/${this.#count()}>`;
  }

  #take(): Value | undefined {
    const ahead = this.#next;
    this.#next = undefined;
    if (ahead !== undefined) return ahead;
    const { value, done } = this.#values.next();
    return done === true ? undefined : value;
  }

  #peek(): Value | undefined {
    this.#next ??= this.#take();
    return this.#next;
  }

  #count(): number {
    if (this.#length === null) {
      const rest: Value[] = [];
      for (let one; (one = this.#take()) !== undefined;) rest.push(one);
      this.#length = this.#index0 + 1 + rest.length;
      this.#values = rest[Symbol.iterator]();
    }
    return this.#length;
  }

  #cycle({ positional, named }: Call): Value {
    bind("loop.cycle", { positional: [], named }, []);
    if (positional.length === 0) throw new Error("loop.cycle needs arguments");
    return positional[this.#index0 % positional.length]!;
  }

  #hasChanged({ positional, named }: Call): boolean {
    bind("loop.changed", { positional: [], named }, []);
    const values = tuple(positional);
    const isSame = this.#changed !== null && equal(this.#changed, values);
    this.#changed = values;
    return !isSame;
  }
}
