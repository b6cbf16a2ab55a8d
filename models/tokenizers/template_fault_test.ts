import assert from "node:assert/strict";
import { compileChatTemplate } from "./chat_template.ts";

Deno.test("a template that cannot be parsed is refused with the place and the tag", () => {
  const cases: [template: string, fault: string | RegExp][] = [
    ["{% for %}", "line 1, column 8: {% for %}: found %}, expected a name"],
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
    ["{{ messages[0 }}", "line 1, column 15: {{ messages[0 }}: found }, expected ]"],
    ["{{ 'a }}", "line 1, column 4: {{ 'a }}: a text that begins with ' has no end"],
    ["{{", "line 1, column 1: {{ has no }}"],
    ["{{}}", "line 1, column 3: {{}}: found }}, expected a value"],
    ["{%", "line 1, column 1: {% has no %}"],
    ["{% %}", "line 1, column 4: {% %}: found %}, expected the name of a statement"],
    [
      "{% iff x %}{% endif %}",
      "line 1, column 1: {% iff x %} is no statement, did you mean if?",
    ],
    ["{%- set x %}y", "line 1, column 1: {%- set x %} has no {% endset %}"],
    [
      "{% if x %}{% elif %}{% endif %}",
      "line 1, column 19: {% elif %}: found %}, expected a value",
    ],
    ["{{ a b }}", "line 1, column 6: {{ a b }}: found b, expected }}"],
    ["{{ x is }}", "line 1, column 9: {{ x is }}: found }}, expected a name"],
    ["{{ x is odd is even }}", /column 13: .*: tests in a row .* need brackets$/],
    [
      "{{ f(a=1, 2) }}",
      /column 11: .*: arguments stand in this order: a, b, c=1 or a, b, \*list$/,
    ],
    ["{{ kwargs }}", /column 11: .*: kwargs of a macro is not supported$/],
    ["{% set true = 1 %}", /column 8: .*: found true, which gets no value, expected a name$/],
    ["{% break %}", "line 1, column 1: {% break %} stands in no loop"],
    ["{% include 'x' %}", /\{% include 'x' %\} is no statement$/],
    ["{{ " + "(".repeat(300), /expressions are nested too deeply: more than 200 brackets/],
    ["{{ " + "[".repeat(100_000), /column 204: .*: more than 200 brackets, signs or conditions/],
    ["x".repeat(300_000), "line 1, column 1: it has 300000 characters, at most 262144 are read"],
    [
      "{% if x %}".repeat(101),
      /column 1001: its blocks are nested too deeply: more than 100 stand/,
    ],
    ["{% macro f(a, a) %}", /column 15: .*: two parameters are named a$/],
    ["{% macro f(a, b=1, c) %}", /column 20: .*: the parameter c needs a default/],
    ["{{ f(a=1, b=2, a=3) }}", /column 5: .*: the argument a is given twice$/],
    ["{# x", "line 1, column 1: {# x has no #}"],
  ];
  for (const [template, fault] of cases) {
    assert.throws(
      () => compileChatTemplate(template, {}, "a.jinja"),
      typeof fault === "string"
        ? { message: `a.jinja: the chat template cannot be parsed: ${fault}` }
        : fault,
    );
  }
});

Deno.test("a filter that there is not is refused by name where a template uses it", () => {
  const { render } = compileChatTemplate("a\n{{ x | uper }}", {}, "a.jinja");
  assert.throws(
    () => render([]),
    /there is no filter uper, did you mean upper\? \(line 2, column 1\)/,
  );
});
