/**
 * Filters and tests that there are not. Jinja refuses a template with one, unless it stands in an
 * `if`, where the template may have asked for it before.
 */
import { didYouMean } from "../../../core/suggest.ts";
import { FILTER_NAMES, isFilterName } from "./filter_names.ts";
import { shownTag, TemplateFault } from "./syntax/fault.ts";
import { bodiesOf, expressionsOf, innerExpressionsOf } from "./syntax/names.ts";
import type { Block, Filter, Test } from "./syntax/nodes.ts";
import { isTestName } from "./tests.ts";

/** @throws TemplateFault at the first name that is not known */
export function checkNames(block: Block, source: string, isSoft = false): void {
  for (const statement of block) {
    const isIf = statement.type === "If", isOwn = statement.type === "FilterBlock";
    const outer = isIf || (isSoft && !isOwn) ? [] : expressionsOf(statement);
    for (const value of [...outer, ...innerExpressionsOf(statement)]) {
      checkExpression(value, source, statement.at);
    }
    for (const body of bodiesOf(statement)) checkNames(body, source, isIf);
  }
}

function checkExpression(node: unknown, source: string, at: number): void {
  if (Array.isArray(node)) {
    for (const part of node) checkExpression(part, source, at);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const { type } = node as { type?: string };
  if (type === "Constant" || type === "Conditional") return;
  if (type === "Filter") checkFilter(node as Filter, source, at);
  if (type === "Test") checkTest(node as Test, source, at);
  for (const part of Object.values(node)) checkExpression(part, source, at);
}

function checkFilter({ name, at }: Filter, source: string, tag: number): void {
  if (isFilterName(name)) return;
  const hint = didYouMean(name, FILTER_NAMES);
  throw new TemplateFault(at, `${shownTag(source, tag, at)}: there is no filter ${name}${hint}`);
}

function checkTest({ name, at }: Test, source: string, tag: number): void {
  if (isTestName(name)) return;
  throw new TemplateFault(at, `${shownTag(source, tag, at)}: there is no test ${name}`);
}
