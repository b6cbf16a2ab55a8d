/** Jinja's `cycler(…)` and `joiner(…)`. */
import { bind, bindUnnamed } from "./call.ts";
import { type Call, Callable, Instance, type Value } from "./values.ts";

class Cycler extends Instance {
  override readonly kind = "Cycler";
  #at = 0;

  constructor(readonly items: readonly Value[]) {
    super();
  }

  override field(name: string): Value | undefined {
    if (name === "current") return this.items[this.#at];
    if (name === "pos") return BigInt(this.#at);
    if (name !== "next" && name !== "reset") return undefined;
    return new Callable(name, (given) => {
      bindUnnamed(name, given, []);
      const now = this.items[this.#at]!;
      this.#at = name === "next" ? (this.#at + 1) % this.items.length : 0;
      return name === "next" ? now : null;
    });
  }

  override shown(): string {
    throw new Error("a cycler cannot be printed, only what its next() gives");
  }
}

export function cycler(given: Call): Value {
  bind("cycler", { ...given, positional: [] }, []);
  if (given.positional.length === 0) throw new Error("cycler needs values");
  return new Cycler(given.positional);
}

/** A function that gives nothing at its first call, and the separator at each other. */
export function joiner(given: Call): Value {
  const [separator = ", "] = bind("joiner", given, ["sep"]);
  let isUsed = false;
  return new Callable("joiner", (inner) => {
    bindUnnamed("joiner", inner, []);
    const now = isUsed ? separator : "";
    isUsed = true;
    return now;
  });
}
