/**
 * Takes away from a Worker what its permissions do not: WebAssembly, because the V8 flags that make the
 * kernels fast switch off the bounds checks of the whole process, and everything that leads to it again
 * (Workers of its own, modules imported by evaluated text, the runtimes' own objects). Text may still be
 * evaluated, as rewards for arithmetic do, as long as it imports nothing.
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

/** Ways of printing that would use standard output. */
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

/** To be called before any code of the user is loaded. Cannot be undone. */
export function lockDown(): void {
  const scope = globalThis as unknown as Record<string, unknown>;
  for (const name of REMOVED) {
    delete scope[name];
    // What an ancestor of the global object provides is hidden.
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
  // The process speaks to the program through its standard output.
  for (const name of TO_OUTPUT) console[name] = console.error;
}

function checked(code: string): string {
  if (/\bimport\b/.test(code)) throw new EvalError("evaluated text cannot import anything");
  return code;
}

/** `Function` and its relatives, which anybody reaches through the `constructor` of a function. */
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
