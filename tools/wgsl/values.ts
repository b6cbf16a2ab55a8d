/** Numbers, vectors and structures of WGSL, and its operators and functions on them. */
import type { Module, Type } from "./syntax.ts";

/** A number with its type (u: u32, i: i32, f: f32, b: bool), or a vector of them. */
export interface Scalar {
  t: "u" | "i" | "f" | "b" | "?";
  v: number;
}
export type Value = Scalar | Scalar[] | Value[] | Structure;
export interface Structure {
  fields: Map<string, Value>;
}

export const scalar = (t: Scalar["t"], v: number): Scalar => ({ t, v });
export const isTrue = (value: Value) => (value as Scalar).v !== 0;

const SHORT: Record<string, [Scalar["t"], number]> = {
  f32: ["f", 1],
  u32: ["u", 1],
  i32: ["i", 1],
  bool: ["b", 1],
  f16: ["f", 1],
};
for (const n of [2, 3, 4]) for (const t of ["f", "u", "i"] as const) SHORT[`vec${n}${t}`] = [t, n];

/** Kind and number of components of a type; null for matrices, arrays and structs. */
function shapeOf({ name, of }: Type): [Scalar["t"], number] | null {
  const short = SHORT[name];
  if (short !== undefined) return short;
  const size = /^vec([234])$/.exec(name);
  if (size !== null && of.length > 0) return [kindOf(of[0]!), Number(size[1])];
  return name === "atomic" ? [kindOf(of[0]!), 1] : null;
}

export const kindOf = (type: Type): Scalar["t"] => shapeOf(type)?.[0] ?? "f";

export function bytesOf(type: Type): number {
  const shape = shapeOf(type);
  if (shape === null) throw new Error(`WGSL: memory of ${type.name}`);
  return 4 * shape[1];
}

export function zero(type: Type, module: Module): Value {
  const shape = shapeOf(type);
  if (shape !== null) return shape[1] === 1 ? scalar(shape[0], 0) : zeros(shape[0], shape[1]);
  if (type.name.startsWith("mat4x4")) return [0, 1, 2, 3].map(() => zeros("f", 4));
  const struct = module.structs.get(type.name);
  if (struct === undefined) return [];
  return { fields: new Map(struct.map(({ name, type }) => [name, zero(type, module)])) };
}

/** Ones where the type is made of floats; zeros for all others. */
export function one(type: Type, module: Module): Value {
  const shape = shapeOf(type);
  if (shape?.[0] !== "f") return zero(type, module);
  const ones = Array.from({ length: shape[1] }, () => scalar("f", 1));
  return shape[1] === 1 ? ones[0]! : ones;
}

const zeros = (t: Scalar["t"], n: number) => Array.from({ length: n }, () => scalar(t, 0));

/** A literal without a suffix takes the type that it is given to. */
export function converted(value: Value, type: Type): Value {
  const shape = shapeOf(type);
  if (shape === null || Array.isArray(value) || !("t" in value) || value.t !== "?") return value;
  return scalar(shape[0], value.v);
}

export function typed(value: Value, like: Value): Value {
  if (!Array.isArray(value) && "t" in value && value.t === "?" && "t" in like) {
    return scalar((like as Scalar).t, value.v);
  }
  return value;
}

function map(value: Value, f: (x: Scalar) => Scalar): Value {
  return Array.isArray(value)
    ? value.map((each) => map(each as Value, f)) as Value
    : f(value as Scalar);
}

export function unary(op: string, value: Value): Value {
  if (op === "&" || op === "*") return value;
  return map(
    value,
    ({ t, v }) =>
      op === "-" ? wrap(t, -v) : op === "!" ? scalar("b", v === 0 ? 1 : 0) : wrap(t, ~v),
  );
}

/** A result as its type holds it. */
function wrap(t: Scalar["t"], v: number): Scalar {
  return scalar(t, t === "u" ? v >>> 0 : t === "i" ? v | 0 : t === "f" ? Math.fround(v) : v);
}

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "&&": (a, b) => a !== 0 && b !== 0,
  "||": (a, b) => a !== 0 || b !== 0,
};

const COMPUTE: Readonly<Record<string, (a: number, b: number, t: Scalar["t"]) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b, t) => t === "u" || t === "i" ? Math.imul(a, b) : a * b,
  "/": (a, b, t) => t === "f" ? a / b : Math.trunc(a / b),
  "%": (a, b) => a % b,
  "&": (a, b) => a & b,
  "|": (a, b) => a | b,
  "^": (a, b) => a ^ b,
  "<<": (a, b) => a << b,
  ">>": (a, b, t) => t === "u" ? a >>> b : a >> b,
};

export function binary(op: string, left: Value, right: Value): Value {
  if (Array.isArray(left) || Array.isArray(right)) {
    const n = Array.isArray(left) ? left.length : (right as Value[]).length;
    return Array.from({ length: n }, (_, i) =>
      binary(
        op,
        Array.isArray(left) ? left[i] as Value : left,
        Array.isArray(right) ? right[i] as Value : right,
      )) as Value;
  }
  const a = left as Scalar, b = right as Scalar, compare = COMPARE[op];
  if (compare !== undefined) return scalar("b", compare(a.v, b.v) ? 1 : 0);
  const t = a.t === "?" ? b.t : a.t;
  return wrap(t, COMPUTE[op]!(a.v, b.v, t));
}

/** Functions of WGSL, by component where they have one meaning for vectors. */
const MATH: Readonly<Record<string, (...x: number[]) => number>> = {
  fma: (a, b, c) => a! * b! + c!,
  min: Math.min,
  max: Math.max,
  abs: Math.abs,
  exp: Math.exp,
  exp2: (x) => 2 ** x!,
  log: Math.log,
  log2: Math.log2,
  sqrt: Math.sqrt,
  inverseSqrt: (x) => 1 / Math.sqrt(x!),
  round: Math.round,
  floor: Math.floor,
  clamp: (x, low, high) => Math.min(Math.max(x!, low!), high!),
};

export function builtin(name: string, type: Type | null, args: Value[]): Value {
  if (name === "workgroupBarrier" || name === "storageBarrier") return scalar("u", 0);
  // Their first argument has been read, which counts as the access. No address depends on an
  // exchange within a subgroup.
  if (/^atomic|^workgroupUniformLoad$|^subgroupShuffle(Xor)?$/.test(name)) return args[0]!;
  const math = MATH[name];
  if (math !== undefined) return each(args, (...x) => wrap(kind(x), math(...x.map(({ v }) => v))));
  switch (name) {
    case "select":
      return each(args, (no, yes, test) => test!.v !== 0 ? yes! : no!);
    case "all": {
      const [test] = args as [Scalar | Scalar[]];
      return scalar("b", [test].flat().every(({ v }) => v !== 0) ? 1 : 0);
    }
    case "dot": {
      const [a, b] = args as [Scalar[], Scalar[]];
      return wrap(a[0]!.t, a.reduce((sum, { v }, i) => sum + v * b[i]!.v, 0));
    }
    case "transpose": {
      const columns = args[0] as Scalar[][];
      return columns.map((_, i) => columns.map((column) => column[i]!));
    }
    case "pack2x16float":
      return scalar("u", 0);
    case "unpack2x16float":
      return zeros("f", 2);
    case "bitcast":
      return bitcast(args[0]!, shapeOf(type!.of[0]!)![0]);
  }
  const shape = shapeOf(type ?? { name, of: [], length: null });
  if (shape !== null) return construct(shape, args.flat() as Scalar[]);
  if (name.startsWith("mat4x4")) {
    return args.length === 0 ? [0, 1, 2, 3].map(() => zeros("f", 4)) : args as Value;
  }
  throw new Error(`WGSL: the function ${name} is not known`);
}

const kind = (values: Scalar[]) => values.find(({ t }) => t !== "?")?.t ?? "f";

/** Calls `f` for each component; scalars stand for vectors of them. */
function each(args: Value[], f: (...x: Scalar[]) => Scalar): Value {
  const vector = args.find(Array.isArray) as Value[] | undefined;
  if (vector === undefined) return f(...args as Scalar[]);
  return vector.map((_, i) =>
    each(args.map((arg) => Array.isArray(arg) ? arg[i] as Value : arg), f)
  ) as Value;
}

function construct([t, n]: [Scalar["t"], number], given: Scalar[]): Value {
  const cast = ({ v }: Scalar) =>
    t === "b" ? scalar("b", v === 0 ? 0 : 1) : wrap(t, t === "f" ? v : Math.trunc(v));
  if (given.length === 0) return n === 1 ? scalar(t, 0) : zeros(t, n);
  if (n === 1) return cast(given[0]!);
  return Array.from({ length: n }, (_, i) => cast(given.length === 1 ? given[0]! : given[i]!));
}

const word = new DataView(new ArrayBuffer(4));

function bitcast(value: Value, to: Scalar["t"]): Value {
  return map(value, ({ t, v }) => {
    if (t === "f") word.setFloat32(0, v);
    else word.setUint32(0, v >>> 0);
    const bits = to === "f"
      ? word.getFloat32(0)
      : to === "i"
      ? word.getInt32(0)
      : word.getUint32(0);
    return scalar(to, bits);
  });
}
