/**
 * Runs one invocation of a kernel and notes which elements of workgroup memory and of buffers it
 * reads and writes. Invocations run one after the other. Buffers hold zeros, except for the tables
 * that are given, and floats in workgroup memory are ones: addresses and loops of these kernels do
 * not depend on anything else.
 */
import type { Expr, Module, Statement, Type } from "./syntax.ts";
import {
  binary,
  builtin,
  bytesOf,
  converted,
  isTrue,
  kindOf,
  one,
  type Scalar,
  scalar,
  type Structure,
  typed,
  unary,
  type Value,
  zero,
} from "./values.ts";

/** An access to memory: bytes [offset, offset + bytes) of a variable. */
export interface Access {
  /** Place in the text, and how often the invocation has been there before. */
  site: number;
  time: number;
  variable: string;
  space: "workgroup" | "storage";
  writes: boolean;
  offset: number;
  bytes: number;
}

export interface Invocation {
  params: Readonly<Record<string, number>>;
  workgroup: [number, number];
  groups: [number, number];
  local: number;
  /** Contents of buffers; others are zeros. */
  tables?: Readonly<Record<string, ArrayLike<number>>>;
}

const LANES: Readonly<Record<string, number>> = { x: 0, y: 1, z: 2, w: 3, r: 0, g: 1, b: 2, a: 3 };

/** Invocations of a subgroup, as on NVIDIA cards. */
const SUBGROUP = 32;

/** Runs an invocation to its end. @throws Error for WGSL that it does not know */
export function runInvocation(module: Module, invocation: Invocation): Access[] {
  const run = new Run(module, invocation);
  run.main();
  return run.accesses;
}

/** Thrown out of a function that returns. */
class Returned {
  constructor(readonly value: Value | null) {}
}

class Run {
  readonly accesses: Access[] = [];
  readonly #times = new Map<number, number>();
  readonly #globals = new Map<string, Value>();
  readonly #memories = new Map<string, { space: "workgroup" | "storage"; type: Type }>();
  #scopes: Map<string, Value>[] = [];

  constructor(private readonly module: Module, private readonly given: Invocation) {
    for (const { name, space, type, value } of module.variables) {
      if (space === "uniform") {
        const fields = module.structs.get(type!.name)!.map(({ name: field, type }) =>
          [field, scalar(kindOf(type), given.params[field] ?? 0)] as const
        );
        this.#globals.set(name, { fields: new Map(fields) });
      } else if (space === "storage" || space === "workgroup") {
        this.#memories.set(name, { space, type: type! });
      } else this.#globals.set(name, value === null ? zero(type!, module) : this.#value(value));
    }
  }

  main(): void {
    const { workgroup: [x, y], groups: [gx, gy], local } = this.given;
    const vector = (...values: number[]) => values.map((v) => scalar("u", v));
    const builtins: Record<string, Value> = {
      workgroup_id: vector(x, y, 0),
      num_workgroups: vector(gx, gy, 1),
      local_invocation_index: scalar("u", local),
      local_invocation_id: vector(local, 0, 0),
      subgroup_size: scalar("u", SUBGROUP),
    };
    const { params, body } = this.module.functions.get("main")!;
    const scope = new Map(params.map(({ name, builtin }) => [name, builtins[builtin!]!]));
    this.#call(scope, body);
  }

  #call(scope: Map<string, Value>, body: Statement[]): Value | null {
    const outer = this.#scopes;
    this.#scopes = [scope];
    try {
      this.#block(body);
      return null;
    } catch (end) {
      if (end instanceof Returned) return end.value;
      throw end;
    } finally {
      this.#scopes = outer;
    }
  }

  /** @returns how the block was left */
  #block(body: Statement[]): "break" | "continue" | null {
    this.#scopes.push(new Map());
    try {
      for (const statement of body) {
        const left = this.#statement(statement);
        if (left !== null) return left;
      }
      return null;
    } finally {
      this.#scopes.pop();
    }
  }

  #statement(statement: Statement): "break" | "continue" | null {
    switch (statement.kind) {
      case "let": {
        const { name, type, value } = statement;
        const made = value === null ? zero(type!, this.module) : this.#value(value);
        this.#scopes.at(-1)!.set(name, type === null ? made : converted(made, type));
        return null;
      }
      case "assign": {
        const { to, op, value } = statement;
        const right = this.#value(value);
        this.#assign(to, op === "" ? right : binary(op, this.#value(to), right));
        return null;
      }
      case "if":
        return this.#block(
          isTrue(this.#value(statement.test)) ? statement.then : statement.otherwise,
        );
      case "for":
        this.#scopes.push(new Map());
        for (const first of statement.first) this.#statement(first);
        while (statement.test === null || isTrue(this.#value(statement.test))) {
          if (this.#block(statement.body) === "break") break;
          for (const step of statement.step) this.#statement(step);
        }
        this.#scopes.pop();
        return null;
      case "return":
        throw new Returned(statement.value === null ? null : this.#value(statement.value));
      case "call":
        this.#value(statement.call);
        return null;
      case "block":
        return this.#block(statement.body);
      default:
        return statement.kind;
    }
  }

  #assign(to: Expr, value: Value): void {
    if (to.kind === "name") {
      const scope = this.#scopes.findLast((scope) => scope.has(to.name)) ?? this.#globals;
      const before = scope.get(to.name);
      scope.set(
        to.name,
        Array.isArray(value) || before === undefined ? value : typed(value, before),
      );
    } else if (to.kind === "member") {
      // A component of a vector in memory is written alone.
      if (this.#touch(to.of, true, 4 * (LANES[to.name[0]!] ?? 0), 4)) return;
      const of = this.#value(to.of);
      if (Array.isArray(of)) {
        const copy = [...of] as Scalar[];
        [...to.name].forEach((lane, i) => {
          copy[LANES[lane]!] = to.name.length === 1 ? value as Scalar : (value as Scalar[])[i]!;
        });
        this.#assign(to.of, copy);
      } else (of as Structure).fields.set(to.name, value);
    } else if (to.kind === "index") {
      if (this.#touch(to, true)) return;
      const of = this.#value(to.of) as Value[], copy = [...of];
      copy[(this.#value(to.at) as Scalar).v] = value;
      this.#assign(to.of, copy as Value);
    } else throw new Error(`WGSL: ${to.kind} cannot be assigned`);
  }

  /**
   * Notes an access if the expression is an element of memory (or memory without an index).
   * @returns whether it is
   */
  #touch(expr: Expr, writes: boolean, within = 0, width?: number): boolean {
    const base = expr.kind === "index" ? expr.of : expr;
    if (base.kind !== "name" || this.#isLocal(base.name)) return false;
    const memory = this.#memories.get(base.name);
    if (memory === undefined) return false;
    const element = expr.kind === "index" ? memory.type.of[0]! : memory.type;
    const index = expr.kind === "index" ? (this.#value(expr.at) as Scalar).v : 0;
    const site = siteNumber(this.module, expr), bytes = bytesOf(element);
    const time = this.#times.get(site) ?? 0;
    this.#times.set(site, time + 1);
    this.accesses.push({
      site,
      time,
      variable: base.name,
      space: memory.space,
      writes,
      offset: index * bytes + within,
      bytes: width ?? bytes,
    });
    return true;
  }

  #isLocal(name: string): boolean {
    return this.#scopes.some((scope) => scope.has(name));
  }

  #value(expr: Expr): Value {
    switch (expr.kind) {
      case "number":
        return scalar(expr.suffix === "" ? "?" : expr.suffix as "u", expr.value);
      case "name":
        return this.#variable(expr);
      case "unary":
        return unary(expr.op, this.#value(expr.of));
      case "binary": {
        const left = this.#value(expr.left);
        if (expr.op === "&&" && !isTrue(left)) return left;
        if (expr.op === "||" && isTrue(left)) return left;
        return binary(expr.op, left, this.#value(expr.right));
      }
      case "index": {
        if (this.#touch(expr, false)) return this.#content(expr);
        const at = this.#value(expr.at) as Scalar;
        return (this.#value(expr.of) as Value[])[at.v]!;
      }
      case "member": {
        const of = this.#value(expr.of);
        if (!Array.isArray(of)) return (of as Structure).fields.get(expr.name)!;
        const lanes = [...expr.name].map((lane) => (of as Scalar[])[LANES[lane]!]!);
        return lanes.length === 1 ? lanes[0]! : lanes;
      }
      case "call":
        return this.#invoke(expr.name, expr.type, expr.args);
    }
  }

  #variable({ name }: Extract<Expr, { kind: "name" }>): Value {
    if (name === "true" || name === "false") return scalar("b", name === "true" ? 1 : 0);
    const scope = this.#scopes.findLast((scope) => scope.has(name)) ?? this.#globals;
    const found = scope.get(name);
    if (found !== undefined) return found;
    const memory = this.#memories.get(name);
    if (memory === undefined) throw new Error(`WGSL: what is ${name}?`);
    this.#touch({ kind: "name", name }, false);
    return zero(memory.type, this.module);
  }

  /** What an element of memory holds. */
  #content(expr: Extract<Expr, { kind: "index" }>): Value {
    const { name } = expr.of as { name: string }, element = this.#memories.get(name)!.type.of[0]!;
    const table = this.given.tables?.[name];
    if (table === undefined) {
      // What others have left there is not known: a sum of weights, for one, is not 0.
      const { space } = this.#memories.get(name)!;
      return (space === "workgroup" ? one : zero)(element, this.module);
    }
    const at = this.accesses.at(-1)!.offset / 4;
    return scalar(kindOf(element), table[at] ?? 0);
  }

  #invoke(name: string, type: Type | null, args: Expr[]): Value {
    const func = this.module.functions.get(name);
    if (func !== undefined) {
      const scope = new Map(
        func.params.map(({ name, type }, i) => [name, converted(this.#value(args[i]!), type)]),
      );
      return this.#call(scope, func.body) ?? scalar("u", 0);
    }
    const struct = this.module.structs.get(name);
    if (struct !== undefined) {
      const fields = struct.map(({ name, type }, i) =>
        [name, args.length === 0 ? zero(type, this.module) : this.#value(args[i]!)] as const
      );
      return { fields: new Map(fields) };
    }
    return builtin(name, type, args.map((arg) => this.#value(arg)));
  }
}

const numbers = new WeakMap<Module, Map<Expr, number>>();

/** A number for a place of the text, the same for all invocations. */
function siteNumber(module: Module, expr: Expr): number {
  let known = numbers.get(module);
  if (known === undefined) numbers.set(module, known = new Map());
  let found = known.get(expr);
  if (found === undefined) known.set(expr, found = known.size);
  return found;
}
