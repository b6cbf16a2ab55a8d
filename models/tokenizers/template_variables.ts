/** The variables of a chat template that its user may set. */
import type { Node as TemplateProgram } from "./jinja/nodes.ts";

/** The fields of a parsed template's nodes that matter here. */
interface Node {
  type?: string;
  value?: unknown;
  assignee?: unknown;
  loopvar?: unknown;
  name?: { value?: unknown };
  args?: unknown;
  property?: unknown;
  computed?: boolean;
  filter?: unknown;
  test?: unknown;
  key?: unknown;
  /** A token: `and`, `not`, … */
  operator?: unknown;
}

/** What Jinja and transformers define for every template. */
const GLOBALS = ["range", "namespace", "raise_exception", "strftime_now", "loop", "caller"];
const LITERALS = ["true", "false", "none", "True", "False", "None"];

/**
 * The names that a template reads and that no statement in it sets. A name that is read before it
 * is set (`x is defined`) counts, since a user may set it.
 */
export function freeVariables(program: TemplateProgram): Set<string> {
  const read = new Set<string>(), bound = new Set([...GLOBALS, ...LITERALS]);
  visit(program, read, bound);
  return new Set([...read].filter((name) => !bound.has(name)));
}

function visit(node: unknown, read: Set<string>, bound: Set<string>): void {
  if (node === null || typeof node !== "object") return;
  if (node instanceof Map || Array.isArray(node)) {
    for (const part of node instanceof Map ? [...node].flat() : node) visit(part, read, bound);
    return;
  }
  const one: Node = node;
  const skipped: unknown[] = [one.operator];
  switch (one.type) {
    case "Identifier":
      read.add(String(one.value));
      return;
    case "For":
      for (const name of namesIn(one.loopvar)) bound.add(name);
      skipped.push(one.loopvar);
      break;
    case "Macro":
      bound.add(String(one.name?.value));
      for (const name of namesIn(one.args)) bound.add(name);
      skipped.push(one.name);
      break;
    case "MemberExpression":
      if (one.computed !== true) skipped.push(one.property);
      break;
    case "FilterExpression":
    case "FilterStatement":
      skipped.push(one.filter);
      visit((one.filter as Node).args, read, bound);
      break;
    case "TestExpression":
      skipped.push(one.test);
      break;
    case "KeywordArgumentExpression":
      skipped.push(one.key);
      break;
    case "Set":
      visit(one.value, read, bound);
      // A user's value stays where the template sets a name only when it has none.
      if (!isGuarded(one, read)) { for (const name of namesIn(one.assignee)) bound.add(name); }
      skipped.push(one.assignee, one.value);
      break;
  }
  for (const part of Object.values(one)) if (!skipped.includes(part)) visit(part, read, bound);
}

/** Whether the template has read the name before it sets it. */
function isGuarded({ assignee }: Node, read: ReadonlySet<string>): boolean {
  const [name, ...others] = namesIn(assignee);
  return name !== undefined && others.length === 0 && read.has(name);
}

/** The names in the target of an assignment, a loop or a macro. */
function namesIn(target: unknown): string[] {
  if (target === null || typeof target !== "object") return [];
  const node: Node = target;
  if (node.type === "Identifier") return [String(node.value)];
  if (node.type === "KeywordArgumentExpression") return namesIn(node.key);
  if (node.type === "TupleLiteral") return namesIn(node.value);
  return Array.isArray(target) ? target.flatMap(namesIn) : [];
}
