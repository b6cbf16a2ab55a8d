/** The variable `loop` of a template. */
import { bind } from "./call.ts";
import { Callable, equal, Namespace, orUndefined, tuple, type Value } from "./values.ts";

/** @param state what `loop.changed(…)` was last called with */
export function loopValues(
  items: readonly Value[],
  index: number,
  state: { changed: readonly Value[] | null },
): Value {
  const n = items.length;
  const cycle = new Callable("loop.cycle", ({ positional, named }) => {
    bind("loop.cycle", { positional: [], named }, []);
    if (positional.length === 0) throw new Error("loop.cycle needs arguments");
    return positional[index % positional.length]!;
  });
  const changed = new Callable("loop.changed", ({ positional, named }) => {
    bind("loop.changed", { positional: [], named }, []);
    const isSame = state.changed !== null && equal(tuple(state.changed), tuple(positional));
    state.changed = positional;
    return !isSame;
  });
  return new Namespace(
    new Map<string, Value>([
      ["index", BigInt(index + 1)],
      ["index0", BigInt(index)],
      ["revindex", BigInt(n - index)],
      ["revindex0", BigInt(n - index - 1)],
      ["first", index === 0],
      ["last", index === n - 1],
      ["length", BigInt(n)],
      ["previtem", orUndefined(items[index - 1], "the previous item")],
      ["nextitem", orUndefined(items[index + 1], "the next item")],
      ["cycle", cycle],
      ["changed", changed],
    ]),
  );
}
