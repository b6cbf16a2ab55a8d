/**
 * Reads the part of WGSL that the project's kernels use, into a tree. It is no validator: naga
 * compiles every kernel in the tests, so a text is known to be right.
 */

export type Expr =
  | { kind: "number"; value: number; suffix: string }
  | { kind: "name"; name: string }
  | { kind: "unary"; op: string; of: Expr }
  | { kind: "binary"; op: string; left: Expr; right: Expr }
  | { kind: "call"; name: string; type: Type | null; args: Expr[] }
  | { kind: "index"; of: Expr; at: Expr }
  | { kind: "member"; of: Expr; name: string };

export type Statement =
  | { kind: "let"; name: string; type: Type | null; value: Expr | null }
  | { kind: "assign"; to: Expr; op: string; value: Expr }
  | { kind: "if"; test: Expr; then: Statement[]; otherwise: Statement[] }
  | { kind: "for"; first: Statement[]; test: Expr | null; step: Statement[]; body: Statement[] }
  | { kind: "return"; value: Expr | null }
  | { kind: "break" | "continue" }
  | { kind: "call"; call: Expr }
  | { kind: "block"; body: Statement[] };

export interface Type {
  name: string;
  of: Type[];
  /** Length of an array; null where it has none. */
  length: Expr | null;
}

export interface Func {
  name: string;
  params: { name: string; builtin: string | null; type: Type }[];
  body: Statement[];
}

export interface Module {
  structs: Map<string, { name: string; type: Type }[]>;
  /** Variables of the module: "storage", "uniform", "workgroup", "private" or "const". */
  variables: { name: string; space: string; type: Type | null; value: Expr | null }[];
  functions: Map<string, Func>;
  /** Number of invocations of a workgroup. */
  invocations: number;
}

const TOKEN = new RegExp(
  [
    String.raw`\s+|//[^\n]*|/\*[^]*?\*/`,
    String
      .raw`(0x[0-9a-fA-F]+[ui]?|(?:\d+\.\d*|\d*\.\d+)(?:[eE][-+]?\d+)?[fh]?|\d+[eE][-+]?\d+[fh]?|\d+[uif]?)`,
    String.raw`([A-Za-z_]\w*)`,
    String
      .raw`(<<=|>>=|&&|\|\||==|!=|<=|>=|<<|>>|\+\+|--|[-+*/%&|^]=|->|[-+*/%&|^!~<>=(){}[\];:,.@])`,
  ].join("|"),
  "y",
);

/** Types that are written with their parameters in angle brackets. */
const TEMPLATES = new Set(["vec2", "vec3", "vec4", "mat4x4", "array", "bitcast", "atomic", "ptr"]);

const LEVELS = [
  ["||"],
  ["&&"],
  ["|"],
  ["^"],
  ["&"],
  ["==", "!="],
  ["<", ">", "<=", ">="],
  ["<<", ">>"],
  ["+", "-"],
  ["*", "/", "%"],
];

/** @throws Error for a text that it does not understand */
export function parseWgsl(text: string): Module {
  return new Parser(tokens(text)).module();
}

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex, match = TOKEN.exec(text);
    if (match === null) throw new Error(`WGSL: what is ${text.slice(at, at + 30)}?`);
    const token = match[1] ?? match[2] ?? match[3];
    if (token !== undefined) found.push(token);
  }
  return found;
}

class Parser {
  #at = 0;
  readonly #aliases = new Map<string, Type>();

  constructor(readonly tokens: string[]) {}

  module(): Module {
    const module: Module = {
      structs: new Map(),
      variables: [],
      functions: new Map(),
      invocations: 1,
    };
    while (this.#at < this.tokens.length) this.#declaration(module);
    return module;
  }

  #declaration(module: Module): void {
    const attributes = this.#attributes();
    const size = attributes.get("workgroup_size");
    if (size !== undefined) module.invocations = Number(size[0]);
    const word = this.#next();
    if (word === "alias") {
      const name = this.#next();
      this.#need("=");
      this.#aliases.set(name, this.#type());
      this.#need(";");
    } else if (word === "enable") {
      while (this.#next() !== ";");
    } else if (word === "struct") {
      module.structs.set(this.#next(), this.#members());
      this.#take(";");
    } else if (word === "fn") {
      const func = this.#function();
      module.functions.set(func.name, func);
    } else if (word === "var" || word === "const") {
      let space = word === "const" ? "const" : "private";
      if (word === "var" && this.#take("<")) {
        space = this.#next();
        while (this.#next() !== ">");
      }
      const name = this.#next(), type = this.#take(":") ? this.#type() : null;
      const value = this.#take("=") ? this.#expression() : null;
      module.variables.push({ name, space, type, value });
      this.#need(";");
    } else throw new Error(`WGSL: a declaration cannot begin with ${word}`);
  }

  #members(): { name: string; type: Type }[] {
    const members: { name: string; type: Type }[] = [];
    this.#need("{");
    while (!this.#take("}")) {
      this.#attributes();
      const name = this.#next();
      this.#need(":");
      members.push({ name, type: this.#type() });
      this.#take(",");
    }
    return members;
  }

  #attributes(): Map<string, string[]> {
    const found = new Map<string, string[]>();
    while (this.#take("@")) {
      const name = this.#next(), args: string[] = [];
      if (this.#take("(")) { while (!this.#take(")")) args.push(this.#next()); }
      found.set(name, args);
    }
    return found;
  }

  #function(): Func {
    const name = this.#next(), params: Func["params"] = [];
    this.#need("(");
    while (!this.#take(")")) {
      const builtin = this.#attributes().get("builtin")?.[0] ?? null, param = this.#next();
      this.#need(":");
      params.push({ name: param, builtin, type: this.#type() });
      this.#take(",");
    }
    if (this.#take("->")) {
      this.#attributes();
      this.#type();
    }
    return { name, params, body: this.#block() };
  }

  #type(): Type {
    const type: Type = { name: this.#next(), of: [], length: null };
    const alias = this.#aliases.get(type.name);
    if (alias !== undefined) return alias;
    if (!TEMPLATES.has(type.name) || !this.#take("<")) return type;
    if (type.name === "ptr") this.#skip(2);
    type.of.push(this.#type());
    // The length of an array is no comparison, so it has no "<" or ">".
    if (this.#take(",") && this.#peek() !== ">") type.length = this.#binary(7);
    this.#take(",");
    this.#closeAngle();
    return type;
  }

  /** Takes a ">", also the first one of ">>". */
  #closeAngle(): void {
    if (this.#peek() === ">>") this.tokens[this.#at] = ">";
    else this.#need(">");
  }

  #block(): Statement[] {
    this.#need("{");
    const body: Statement[] = [];
    while (!this.#take("}")) body.push(...this.#statement());
    return body;
  }

  #statement(): Statement[] {
    if (this.#take(";")) return [];
    const word = this.#peek();
    if (word === "{") return [{ kind: "block", body: this.#block() }];
    if (word === "if") return [this.#if()];
    if (word === "for") return [this.#for()];
    if (word === "while") {
      this.#skip(1);
      const test = this.#expression();
      return [{ kind: "for", first: [], test, step: [], body: this.#block() }];
    }
    if (word === "return") {
      this.#skip(1);
      const value = this.#peek() === ";" ? null : this.#expression();
      this.#need(";");
      return [{ kind: "return", value }];
    }
    if (word === "break" || word === "continue") {
      this.#skip(1);
      this.#need(";");
      return [{ kind: word }];
    }
    const made = this.#simple();
    this.#need(";");
    return [made];
  }

  #if(): Statement {
    this.#need("if");
    const test = this.#expression(), then = this.#block();
    const otherwise = !this.#take("else")
      ? []
      : this.#peek() === "if"
      ? [this.#if()]
      : this.#block();
    return { kind: "if", test, then, otherwise };
  }

  #for(): Statement {
    this.#need("for");
    this.#need("(");
    const first = this.#peek() === ";" ? [] : [this.#simple()];
    this.#need(";");
    const test = this.#peek() === ";" ? null : this.#expression();
    this.#need(";");
    const step = this.#peek() === ")" ? [] : [this.#simple()];
    this.#need(")");
    return { kind: "for", first, test, step, body: this.#block() };
  }

  /** A declaration, an assignment or a call, without the semicolon. */
  #simple(): Statement {
    const word = this.#peek();
    if (word === "let" || word === "var" || word === "const") {
      this.#skip(1);
      const name = this.#next(), type = this.#take(":") ? this.#type() : null;
      return { kind: "let", name, type, value: this.#take("=") ? this.#expression() : null };
    }
    const to = this.#unary();
    if (this.#take("++")) return increment(to, "+");
    if (this.#take("--")) return increment(to, "-");
    const op = this.#peek();
    if (/^([-+*/%&|^]|<<|>>)?=$/.test(op)) {
      this.#skip(1);
      return { kind: "assign", to, op: op.slice(0, -1), value: this.#expression() };
    }
    return { kind: "call", call: to };
  }

  #expression(): Expr {
    return this.#binary(0);
  }

  #binary(level: number): Expr {
    if (level === LEVELS.length) return this.#unary();
    let left = this.#binary(level + 1);
    while (LEVELS[level]!.includes(this.#peek())) {
      const op = this.#next();
      left = { kind: "binary", op, left, right: this.#binary(level + 1) };
    }
    return left;
  }

  #unary(): Expr {
    if (["-", "!", "~", "&", "*"].includes(this.#peek())) {
      return { kind: "unary", op: this.#next(), of: this.#unary() };
    }
    let found = this.#primary();
    for (;;) {
      if (this.#take("[")) {
        found = { kind: "index", of: found, at: this.#expression() };
        this.#need("]");
      } else if (this.#take(".")) found = { kind: "member", of: found, name: this.#next() };
      else return found;
    }
  }

  #primary(): Expr {
    if (this.#take("(")) {
      const found = this.#expression();
      this.#need(")");
      return found;
    }
    const word = this.#peek();
    if (/^[0-9.]/.test(word)) {
      this.#skip(1);
      const [, digits, suffix] = /^(0x[0-9a-fA-F]+|[0-9.]+(?:[eE][-+]?[0-9]+)?)([uifh]?)$/.exec(
        word,
      )!;
      const isFloat = !digits!.startsWith("0x") && /[.eE]/.test(digits!);
      return { kind: "number", value: Number(digits), suffix: suffix || (isFloat ? "f" : "") };
    }
    const isTemplate = TEMPLATES.has(word) && this.tokens[this.#at + 1] === "<";
    const type = isTemplate || this.#aliases.has(word) ? this.#type() : null;
    const name = type?.name ?? this.#next();
    if (!this.#take("(")) return { kind: "name", name };
    const args: Expr[] = [];
    while (!this.#take(")")) {
      args.push(this.#expression());
      this.#take(",");
    }
    return { kind: "call", name, type, args };
  }

  #peek(): string {
    return this.tokens[this.#at] ?? "";
  }

  #next(): string {
    return this.tokens[this.#at++] ?? "";
  }

  #skip(count: number): void {
    this.#at += count;
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at++;
    return true;
  }

  #need(token: string): void {
    const found = this.#next();
    if (found !== token) {
      const before = this.tokens.slice(Math.max(0, this.#at - 8), this.#at).join(" ");
      throw new Error(`WGSL: expected ${token} after: ${before}`);
    }
  }
}

function increment(to: Expr, op: string): Statement {
  return { kind: "assign", to, op, value: { kind: "number", value: 1, suffix: "" } };
}
