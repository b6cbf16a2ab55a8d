import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { compileChatTemplate } from "../chat_template.ts";

const values = {
  s: "wörld 😀 x",
  u: 'it\'s "q"',
  l: [3, 1, 2],
  d: { k: 1, a: [1, null, true], items: 5 },
  ds: [{ n: "x", v: 2 }, { n: "y", v: 1 }],
};

function render(template: string): string {
  return compileChatTemplate(template, {}, "a.jinja").render([], values);
}

Deno.test("a template may call a function that it is given", () => {
  const { render } = compileChatTemplate("{{ strftime_now('%Y') }}", {}, "a.jinja");
  assert.equal(render([], { strftime_now: (format: string) => `${format}!` }), "%Y!");
});

Deno.test("a template that would fill the memory, or compute for hours, is refused", () => {
  const grown = (step: string) =>
    "{% set ns = namespace(v=[1], n=3) %}{% for i in range(60) %}" + step + "{% endfor %}";
  const count = "{% for i in range(90000) %}", end = "{% endfor %}";
  const wrong: readonly (readonly [template: string, message: RegExp])[] = [
    [`${count}${count}x${end}${end}`, /was stopped: it does not end/],
    [`${count}${count}${end}${end}`, /was stopped: it does not end/],
    [`${count}{% set x = range(90000) %}${end}`, /was stopped: it does not end/],
    ["{% for i in range(1000000000) %}x{% endfor %}", /100000 are allow/],
    ["{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", /a macro calls itself without end/],
    [grown("{% set ns.v = ns.v + ns.v %}"), /stopped: a value of it is too large/],
    [grown("{% set ns.v = [ns.v, ns.v] %}") + "{{ ns.v }}", /stopped: a value of it is too large/],
    [grown("{% set ns.v = {'a': ns.v, 'b': ns.v} %}"), /stopped: a value of it is too large/],
    [grown("{% set ns.n = ns.n * ns.n %}"), /\* is too large/],
    ["{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}", /cannot be printed/],
    ["{{ range(99999)|map('string')|map('indent', 9999, true)|join|length }}", /not end/],
    [
      "{% set x = 'x' * 4000000 %}{% for i in range(999) %}{% if x|upper %}{% endif %}{% endfor %}",
      /not end/,
    ],
    [
      "{% set x = 'x' * 4000000 %}{% for i in range(999) %}{% if x.upper() %}{% endif %}{% endfor %}",
      /not end/,
    ],
    ["{% for i in range(9999) %}" + "x".repeat(99_999) + "{% endfor %}", /not end/],
    ["{{ ('a' * 4000000).rfind('a' * 2000000 ~ 'b') }}", /is looked for in one of 4000000/],
    ["{{ 'b' * 8000 in 'a' * 4000000 }}", /is looked for in one of 4000000/],
    ["{{ " + "s.a".repeat(40_000) + " }}", /stopped: .* too many parts stand in each other/],
    [`{{ s${" + s".repeat(50_000)} }}`, /stopped: .* too many parts stand in each other/],
    ["{{ strftime_now('%c' * 2000000)|length }}", /a format of 4000000 characters, at most 1000/],
    ["{{ raise_exception('x' * 4000000) }}", /: x{1000}( |$)/m],
    ["{{ ('a' * 4000000)|join('b' * 4000000) }}", /a value of it is too large/],
    ["{{ ('a' * 4000000)|replace('a', 'b' * 4000000) }}", /a value of it is too large/],
    ["{{ ('\\n' * 4000000)|indent(1000, true, true) }}", /a value of it is too large/],
    ...["sort|length", "title", "unique|list", "max"].map((
      call,
    ) =>
      [`{{ ('ab ' * 1300000)|${call} }}`, /\w+ gets a text of more than 524288 characters/] as const
    ),
  ];
  for (const [template, message] of wrong) assert.throws(() => render(template), refusal(message));
});

Deno.test("long texts take a time that grows with their length", () => {
  const printed: readonly (readonly [expression: string, text: string])[] = [
    ["('a ' * 300000).split()|length", "300000"],
    ["('a ' * 300000).split(' ', 200000)|length", "200001"],
    ["('a' * 300000)|replace('a', 'bc')|length", "600000"],
    // Skipped turns of a loop count little.
    [
      "0 }}{% for i in range(3000) %}{% if i < 2999 %}{% continue %}{% endif %}{{ i }}{% endfor %}{{ ''",
      "02999",
    ],
  ];
  for (const [expression, text] of printed) {
    assert.equal(render(`{{ ${expression} }}`), text, expression);
  }
});

Deno.test("a value with too many lists in each other is refused in words of the template", () => {
  const template = "{% set ns = namespace(v=1) %}{% for i in range(90000) %}" +
    "{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}";
  assert.throws(
    () => render(template),
    /messages \(none\): a value has thousands of lists or dicts nested in each other \(line 1/,
  );
});

Deno.test("blocks see what is set around them, and none of what is set beside them", () => {
  const names = Array.from({ length: 3000 }, (_, i) => `a${i}`);
  const sets = names.map((name) => `{% set ${name} = '${name} ' %}`).join("");
  const loops = names.map((name) => `{% for i in [1] %}{{ ${name} }}{% set b = 1 %}{% endfor %}`);
  // Each loop begins without b, though the one before it set its own.
  const after = "{% for i in [1] %}{{ b is defined }}{% set b = 1 %}{% endfor %}{{ b }}";
  assert.equal(render(sets + loops.join("") + after), names.join(" ") + " False");
  assert.equal(
    render("{% for i in [1] %}{{ s }}{% set s = 1 %}{{ s }}{% endfor %}{{ s }}").at(-1),
    "x",
  );
});

Deno.test("what Jinja refuses or rgx does not do is an error", () => {
  const wrong = [
    "l.append(1)",
    "missing.a",
    "'a' + 1",
    "1 // 0",
    "'a' < 1",
    "l|select",
    "l|random",
    "raise_exception('no')",
    "('x' * 100000) * 100000",
    "s|indent(1000000000, true)",
    "l|tojson(indent=1000000000)",
    "'%d' % 1",
    "('a'|safe).strip()",
    "s|urlize",
  ];
  for (const expression of wrong) {
    assert.throws(() => render(`{{ ${expression} }}`), RgxError, expression);
  }
});
