/**
 * Removes dangers from a Worker that its permissions do not cover: WebAssembly, because the V8
 * flags for fast kernels switch off bounds checks in the whole process; and everything that leads
 * to WebAssembly again (further Workers, modules that evaluated text imports, the objects of the
 * runtime). Text may still be evaluated, as rewards for arithmetic do, if it imports nothing.
 */

const REMOVED = [
  "WebAssembly",
  "Worker",
  "SharedWorker",
  "ShadowRealm",
  "Deno",
  "process",
  "close",
];

/** Console methods that write to standard output. */
const TO_OUTPUT = [
  "log",
  "info",
  "debug",
  "dir",
  "dirxml",
  "table",
  "count",
  "timeLog",
  "timeEnd",
  "group",
  "groupCollapsed",
  "clear",
] as const;

/** Locks the Worker down, for ever. Call it before any code of the user is loaded. */
export function lockDown(): void {
  const scope = globalThis as unknown as Record<string, unknown>;
  for (const name of REMOVED) {
    delete scope[name];
    // A property that is inherited from a prototype cannot be deleted, so it is hidden.
    if (name in scope) Object.defineProperty(scope, name, { value: undefined });
  }
  const evaluate = globalThis.eval;
  scope["eval"] = (code: unknown) => typeof code === "string" ? evaluate(checked(code)) : code;
  guardConstructors();
  for (const name of ["setTimeout", "setInterval"] as const) {
    const original = scope[name] as (...args: unknown[]) => unknown;
    scope[name] = (callback: unknown, ...rest: unknown[]) => {
      if (typeof callback !== "function") throw new TypeError(`${name}: expected a function`);
      return original(callback, ...rest);
    };
  }
  // Standard output carries the messages between the process and the program.
  for (const name of TO_OUTPUT) console[name] = console.error;
}

function checked(code: string): string {
  if (/\bimport\b/.test(code)) throw new EvalError("evaluated text cannot import anything");
  return code;
}

/** Guards `Function` and its relatives, which any code reaches by a function's `constructor`. */
function guardConstructors(): void {
  const kinds = [
    function () {},
    async function () {},
    function* () {},
    async function* () {},
  ];
  let base: object | null = null;
  for (const kind of kinds) {
    const prototype = Object.getPrototypeOf(kind), original = prototype.constructor;
    const make = (args: unknown[], target: object) =>
      Reflect.construct(
        original,
        args.map((part) => checked(String(part))),
        target as never,
      ) as object;
    const guarded: object = new Proxy(original, {
      apply: (_, _this, args) => make(args, original),
      construct: (_, args, target) => make(args, target),
    });
    if (base === null) Object.assign(globalThis, { Function: base = guarded });
    else Object.setPrototypeOf(original, base);
    Object.defineProperty(prototype, "constructor", { value: guarded });
  }
}
