import assert from "node:assert/strict";
import { Template } from "@huggingface/jinja";
import { goldenPath } from "../../tests/golden.ts";
import { compileChatTemplate } from "./chat_template.ts";
import { templateFault } from "./template_fault.ts";

Deno.test("a template that cannot be parsed is refused with the place and the tag", () => {
  const cases: [template: string, fault: string][] = [
    ["{% for %}", "line 1, column 1: {% for %} cannot be read"],
    ["a\n  {% if x %}b", "line 2, column 3: {% if x %} has no {% endif %}"],
    [
      "{% for m in messages %}{{ m.content }}",
      "line 1, column 1: {% for m in messages %} has no {% endfor %}",
    ],
    [
      "{% for m in messages %}\n{% if m %}x\n{% endfor %}",
      "line 3, column 1: {% endfor %} ends the block of {% if m %} (line 2, column 1)",
    ],
    ["x{% endif %}", "line 1, column 2: {% endif %} ends no block"],
    ["{% else %}", "line 1, column 1: {% else %} stands in no block"],
    [
      "{% macro f() %}{% else %}{% endmacro %}",
      "line 1, column 16: {% else %} stands in the block of {% macro f() %} (line 1, column 1)",
    ],
    ["{{ messages[0] }", "line 1, column 1: {{ messages[0] } has no }}"],
    ["{{ messages[0 }}", "line 1, column 1: {{ messages[0 }} cannot be read"],
    ["{{ 'a }}", "line 1, column 1: {{ 'a }} cannot be read"],
    ["{{", "line 1, column 1: {{ has no }}"],
    ["{{}}", "line 1, column 1: {{}} cannot be read"],
    ["{%", "line 1, column 1: {% has no %}"],
    ["{% %}", "line 1, column 1: {% %} cannot be read"],
    [
      "{% iff x %}{% endif %}",
      "line 1, column 1: {% iff x %} is no statement, did you mean if?",
    ],
    ["{%- set x %}y", "line 1, column 1: {%- set x %} has no {% endset %}"],
    ["{% if x %}{% elif %}{% endif %}", "line 1, column 11: {% elif %} cannot be read"],
  ];
  for (const [template, fault] of cases) {
    assert.throws(() => new Template(template), template);
    assert.throws(
      () => compileChatTemplate(template, {}, "a.jinja"),
      { message: `a.jinja: the chat template cannot be parsed: ${fault}` },
    );
  }
});

Deno.test("no fault is found in a template that the library reads", async () => {
  const { templates } = JSON.parse(
    await Deno.readTextFile(goldenPath("chat_templates.json")),
  ) as { templates: Record<string, { template: string }> };
  const own = [
    "{# a {% if %} #}{% set x = {'a': {'b': 1}} %}{{ '}}' ~ \"%}\" ~ {'a': {}} }}",
    "{%- for a, b in x if a -%}{% if a == 'x' %}{% elif b %}{% else %}{% endif %}{%- endfor %}",
    "{% for a in x %}{% break %}{% else %}{% continue %}{% endfor %}{% set ns.x = 1 %}",
    "{% generation %}{% filter trim %} x {% endfilter %}{% endgeneration %}",
    "{% macro f(a='=') %}{% set y %}z{% endset %}{% endmacro %}{% call f() %}{% endcall %}",
  ];
  assert.ok(Object.keys(templates).length > 5);
  for (const template of [...Object.values(templates).map(({ template }) => template), ...own]) {
    new Template(template);
    assert.equal(templateFault(template), null, template.slice(0, 80));
  }
});
