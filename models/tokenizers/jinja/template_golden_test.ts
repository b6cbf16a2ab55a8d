/** Templates against Python's Jinja as transformers sets it up (tests/golden/jinja). */
import assert from "node:assert/strict";
import { readGoldenJson } from "../../../tests/golden.ts";
import { compile, renderProgram } from "./template.ts";

interface Golden {
  values: Record<string, unknown>;
  /** Null: it cannot be parsed or rendered. */
  cases: [template: string, text: string | null][];
}

function render(template: string, values: Record<string, unknown>): string | null {
  try {
    return renderProgram(compile(template), values);
  } catch {
    return null;
  }
}

for (const name of ["templates", "random"]) {
  Deno.test(`recorded ${name} give what Python's Jinja gives, or are refused as there`, () => {
    const { values, cases } = readGoldenJson<Golden>(`jinja/${name}.json`);
    assert.ok(cases.length > 500);
    for (const [template, text] of cases) assert.equal(render(template, values), text, template);
  });
}
