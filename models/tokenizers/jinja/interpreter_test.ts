import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
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

/** Expressions and what Jinja 3.1.6 prints for them in transformers' sandbox. */
const PRINTED: readonly (readonly [expression: string, text: string])[] = [
  ["[true, none, 1.0, 'a', u]", `[True, None, 1.0, 'a', 'it\\'s "q"']`],
  ["true", "True"],
  ["none", "None"],
  ["d", "{'k': 1, 'a': [1, None, True], 'items': 5}"],
  ["d.items()", "dict_items([('k', 1), ('a', [1, None, True]), ('items', 5)])"],
  ["d['items']", "5"],
  ["d.a[1]", "None"],
  ["s|length", "9"],
  ["s[6:8]", "😀 "],
  ["s.find('x')", "8"],
  ["s[::-1]", "x 😀 dlröw"],
  ["-7 % 3", "2"],
  ["-7 // 2", "-4"],
  ["7 / 2", "3.5"],
  ["'x' * 3", "xxx"],
  ["l|sum", "6"],
  ["2.5|round", "2.0"],
  ["2.567|round(2, 'floor')", "2.56"],
  ["['a', 'b']|map('upper')|join(',')", "A,B"],
  ["ds|sort(attribute='v')|map(attribute='n')|list", "['y', 'x']"],
  ["ds|tojson", '[{"n": "x", "v": 2}, {"n": "y", "v": 1}]'],
  ["[1, {}]|tojson(indent=2)", "[\n  1,\n  {}\n]"],
  ["('<a>'|safe) ~ '<'", "<a><"],
  ["('<a>'|safe) + '<'", "<a>&lt;"],
  ["'%s-%03d' % ('a', 7)", "a-007"],
  ["'{} {b}'.format(1, b=none)", "1 None"],
  ["missing|default(none)", "None"],
  ["missing", ""],
  ["(3 > 2) == (1 in l) and 1 < 2", "True"],
  ["range(2, 9, 3)", "range(2, 9, 3)"],
  ["'a  b c'.split(none, 1)", "['a', 'b c']"],
];

Deno.test("expressions print what Python's Jinja prints", () => {
  for (const [expression, text] of PRINTED) {
    assert.equal(render(`{{ ${expression} }}`), text, expression);
  }
});

Deno.test("None that is given to a macro stays None", () => {
  const macro = "{% macro f(x, y=1) %}{{ x }}|{{ y }}|{{ caller is defined }}{% endmacro %}";
  assert.equal(render(`${macro}{{ f(none, y=none) }} {{ f() }}`), "None|None|False |1|False");
  assert.equal(render(`${macro}{% call f(2) %}{% endcall %}`), "2|1|True");
});

Deno.test("a template may call a function that it is given", () => {
  const { render } = compileChatTemplate("{{ strftime_now('%Y') }}", {}, "a.jinja");
  assert.equal(render([], { strftime_now: (format: string) => `${format}!` }), "%Y!");
});

Deno.test("blocks keep what they set, namespaces do not", () => {
  const loop = "{% set x = 0 %}{% set ns = namespace(x=0) %}{% for i in l %}" +
    "{% set x = i %}{% set ns.x = ns.x + i %}{% endfor %}{{ x }} {{ ns.x }}";
  assert.equal(render(loop), "0 6");
  assert.equal(
    render("{% for i in l if i > 1 %}{{ loop.index }}:{{ i }} {% endfor %}"),
    "1:3 2:2 ",
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
    "3 ** 100000000",
    "s.ljust(10 ** 9)",
    "s|center(10 ** 9)",
    "l|tojson(indent=10 ** 9)",
  ];
  for (const expression of wrong) {
    assert.throws(() => render(`{{ ${expression} }}`), RgxError, expression);
  }
});
