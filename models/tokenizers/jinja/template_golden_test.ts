/**
 * Templates against Python's Jinja as transformers sets it up: recorded ones
 * (tests/golden/jinja/templates.json), and random ones where RGX_TEST_LM_EVAL_PYTHON or
 * RGX_TEST_PYTHON names a Python that has jinja2.
 */
import assert from "node:assert/strict";
import { RandomStream } from "../../../core/philox.ts";
import { goldenPath, readGoldenJson } from "../../../tests/golden.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { compile, renderProgram } from "./template.ts";
import { TemplateMaker, VALUES } from "./random_template_testing.ts";

type Values = Record<string, unknown>;

interface Result {
  text?: string;
  error?: string;
}

/** The text of a template; null where it cannot be parsed or rendered. */
function render(template: string, values: Values): string | null {
  return attempt(template, values).text ?? null;
}

function attempt(template: string, values: Values): Result {
  try {
    return { text: renderProgram(compile(template), values) };
  } catch (error) {
    return { error: String((error as Error).message) };
  }
}

Deno.test("recorded templates give what Python's Jinja gives, or are refused as there", () => {
  const golden = readGoldenJson<{ values: Values; cases: [string, string | null][] }>(
    "jinja/templates.json",
  );
  assert.ok(golden.cases.length > 600);
  for (const [template, text] of golden.cases) {
    assert.equal(render(template, golden.values), text, template);
  }
});

/** A Python with jinja2: that of lm_eval has it too. */
const python = ["RGX_TEST_LM_EVAL_PYTHON", "RGX_TEST_PYTHON"]
  .flatMap((name) => Deno.env.get(name) ?? [])
  .find((path) =>
    new Deno.Command(path, { args: ["-c", "import jinja2"], stderr: "null" }).outputSync().success
  );
/** Expressions and templates; RGX_FUZZ_TEMPLATES asks for more. */
const COUNT = Number(Deno.env.get("RGX_FUZZ_TEMPLATES") ?? 500);

Deno.test({
  name: "random templates give what Python's Jinja gives, or are refused as there",
  ignore: needs(python !== undefined, NEEDED.jinja),
  fn() {
    const seed = Number(Deno.env.get("RGX_FUZZ_SEED") ?? 1);
    const maker = new TemplateMaker(RandomStream.forPurpose(seed, "shuffle", "templates"));
    const templates = Array.from(
      { length: COUNT },
      (_, i) => i % 2 === 0 ? `{{ ${maker.expression(1 + i % 3)} }}` : maker.template(2),
    );
    const peer = peerResults(python!, templates);
    let same = 0;
    for (const [i, template] of templates.entries()) {
      const own = attempt(template, VALUES), other = peer[i]!;
      // What no published template needs is an error, and never another text.
      if (own.error !== undefined) {
        if (other.error !== undefined) same++;
        continue;
      }
      // Jinja puts constants together before it runs, and asks for all filters, so it also fails
      // where it would not come by.
      if (/unhashable type|No filter named/.test(other.error ?? "")) continue;
      assert.equal(own.text, other.text, `${template}\n${other.error}`);
      same++;
    }
    assert.ok(same > COUNT * 0.9);
  },
});

function peerResults(python: string, templates: readonly string[]): Result[] {
  const file = Deno.makeTempFileSync();
  try {
    Deno.writeTextFileSync(file, JSON.stringify({ values: VALUES, templates }));
    const { stdout } = new Deno.Command(python, {
      args: ["-W", "ignore", goldenPath("jinja/peer.py"), file],
      stderr: "inherit",
    }).outputSync();
    return JSON.parse(new TextDecoder().decode(stdout));
  } finally {
    Deno.removeSync(file);
  }
}
