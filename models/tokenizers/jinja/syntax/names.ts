/** The names of a template in the order in which they are read and set. */
import type { Block, Expression, Statement, Target } from "./nodes.ts";

export interface NameUse {
  readonly name: string;
  /** `bind`: of a loop, a macro or a `with`, for their bodies only. */
  readonly use: "read" | "set" | "bind";
}

/** The names of a block, with those of the blocks in it. */
export function namesOfBlock(block: Block): NameUse[] {
  const found: NameUse[] = [];
  addOfBlock(block, found);
  return found;
}

// All names go into one list: generators inside each other would pass each name up level by level.
function addOfBlock(block: Block, found: NameUse[]): void {
  for (const statement of block) {
    addBefore(statement, found);
    for (const name of boundNames(statement)) found.push({ name, use: "bind" });
    for (const value of innerExpressionsOf(statement)) addOf(value, found);
    for (const body of bodiesOf(statement)) addOfBlock(body, found);
    for (const name of setNames(statement)) found.push({ name, use: "set" });
  }
}

/** What a statement reads before its bodies run. */
export function namesBefore(statement: Statement): NameUse[] {
  const found: NameUse[] = [];
  addBefore(statement, found);
  return found;
}

function addBefore(statement: Statement, found: NameUse[]): void {
  for (const value of expressionsOf(statement)) addOf(value, found);
  if ("target" in statement) addFields(statement.target, found);
}

/** What the defaults of a macro's parameters read, before its body runs. */
export function namesOfDefaults(statement: Statement): string[] {
  if (statement.type !== "Macro" && statement.type !== "CallBlock") return [];
  const found: NameUse[] = [];
  for (const value of innerExpressionsOf(statement)) addOf(value, found);
  return found.map(({ name }) => name);
}

/** The expressions of a statement that see the names around it. */
export function expressionsOf(statement: Statement): readonly Expression[] {
  switch (statement.type) {
    case "Output":
    case "Set":
      return [statement.value];
    case "For":
      return [statement.iterable];
    case "If":
      return statement.branches.map(([test]) => test);
    case "With":
      return statement.values.map(([, value]) => value);
    case "CallBlock":
      return [statement.call];
    case "FilterBlock":
      return [statement.filter];
    default:
      return [];
  }
}

/** The expressions of a statement that see the names that it binds. */
export function innerExpressionsOf(statement: Statement): readonly Expression[] {
  switch (statement.type) {
    case "For":
      return statement.test === null ? [] : [statement.test];
    case "Macro":
    case "CallBlock":
      return statement.parameters.flatMap(([, value]) => value ?? []);
    case "SetBlock":
      return statement.filter === null ? [] : [statement.filter];
    default:
      return [];
  }
}

export function bodiesOf(statement: Statement): readonly Block[] {
  if (statement.type === "If") {
    return [...statement.branches.map(([, body]) => body), statement.otherwise];
  }
  if (statement.type === "For") return [statement.body, statement.otherwise];
  return "body" in statement ? [statement.body] : [];
}

/** Names that a statement gives values to, for what stands after it. */
export function setNames(statement: Statement): string[] {
  if (statement.type === "Macro") return [statement.name];
  const isSet = statement.type === "Set" || statement.type === "SetBlock";
  return isSet ? namesIn(statement.target) : [];
}

/** Names that have values only in the bodies of a statement. */
export function boundNames(statement: Statement): string[] {
  switch (statement.type) {
    case "For":
      return namesIn(statement.target);
    case "With":
      return statement.values.flatMap(([target]) => namesIn(target));
    case "Macro":
    case "CallBlock":
      return statement.parameters.map(([name]) => name);
    default:
      return [];
  }
}

/** Those of `names` that a block reads and that it has not set before. */
export function unsetNames(block: Block, names: readonly string[]): Set<string> {
  const read = new Set<string>(), given = new Set<string>();
  for (const { name, use } of namesOfBlock(block)) {
    if (use !== "read") given.add(name);
    else if (names.includes(name) && !given.has(name)) read.add(name);
  }
  return read;
}

function namesIn(target: Target): string[] {
  if (target.type === "Tuple") return target.items.flatMap(namesIn);
  return target.type === "Name" ? [target.name] : [];
}

/** The namespaces whose fields a target sets: they are read. */
function addFields(target: Target, found: NameUse[]): void {
  if (target.type === "Field") found.push({ name: target.object.name, use: "read" });
  if (target.type === "Tuple") { for (const item of target.items) addFields(item, found); }
}

/** The names that an expression reads. */
function addOf(node: unknown, found: NameUse[]): void {
  if (Array.isArray(node)) {
    for (const part of node) addOf(part, found);
  } else if (isNode(node)) {
    if (node.type === "Name") found.push({ name: (node as { name: string }).name, use: "read" });
    else if (node.type !== "Constant") {
      for (const part of Object.values(node)) addOf(part, found);
    }
  }
}

/** An expression, or the arguments of one. */
function isNode(value: unknown): value is { type?: string } {
  return typeof value === "object" && value !== null;
}
