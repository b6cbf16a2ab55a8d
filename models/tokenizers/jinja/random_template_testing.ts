/** For tests only: random expressions and templates, and the values that they read. */
import type { RandomStream } from "../../../core/philox.ts";

/** What the templates read. */
export const VALUES = {
  s: "Hello wörld-x",
  t: " a\tB  c\n\nd ",
  u: 'it\'s "q" <b>&amp;</b> \\ 😀',
  e: "",
  n: 7,
  z: 0,
  m: -3,
  f: 2.5,
  g: -0.125,
  b: true,
  o: null,
  l: [3, 1, 2, 1],
  w: ["b", "A", "c", "B"],
  x: [1, "a", null, [2.5, false], { k: 1 }],
  d: { k: 1, b: [1, null], items: 5, "a b": "v", Z: "y" },
  p: [
    { n: "x", v: 2, q: { r: [1, 2] } },
    { n: "Y", v: 1, q: { r: [] } },
    { n: "y", v: 2 },
  ],
  messages: [
    { role: "user", content: "Hi  there" },
    { role: "assistant", content: "<think>a</think>b", tool_calls: [{ name: "f" }] },
  ],
};

/** The parts of a text, with semicolons or line ends between them. */
function listed(text: string): string[] {
  return text.trim().split(/ ; |\n +/);
}

const NAMES = [...Object.keys(VALUES), "missing"];
const LITERALS = listed(`
  1 ; 0 ; -1 ; 2 ; 3.0 ; 0.5 ; 10 ; 'a' ; 'b c' ; '' ; '\\n' ; '{}:{}' ; true ; none ; [] ; {} ; ()
  (1,) ; [1, 2, 3] ; ['b', 'a'] ; {'a': 1} ; (1, 'x') ; 'a' 'b' ; 'x,y,,z' ; '\\u00e9\\x41'
`);
const BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in"];
const WORDS = ["and", "or", "not in"];
const FILTERS = listed(`
  abs ; capitalize ; count ; d('D') ; default('x', true) ; dictsort ; dictsort(by='value')
  dictsort(reverse=true) ; first ; float ; float(1.5) ; indent ; indent(2, true)
  indent('> ', blank=true) ; int ; int(5) ; items ; join ; join(', ') ; join('-', attribute='n')
  last ; length ; list ; lower ; map('upper') ; map('int') ; map(attribute='n')
  map(attribute='q.r.0', default='?') ; max ; min ; max(attribute='v') ; min(case_sensitive=true)
  reject ; reject('odd') ; replace('a', 'b') ; rejectattr('q') ; replace('l', '', 1) ; reverse
  round ; round(1) ; round(2, 'floor') ; round(0, 'ceil') ; safe ; select ; select('gt', 1)
  select('in', [1, 2]) ; select('string') ; selectattr('v', 'eq', 2) ; selectattr('q') ; sort
  sort(true) ; sort(attribute='n') ; sort(case_sensitive=true) ; string ; sum ; sum(start=1)
  sum(attribute='v') ; title ; tojson ; tojson(indent=2) ; tojson(sort_keys=true)
  tojson(ensure_ascii=true) ; tojson(separators=(',', ':')) ; trim ; trim('Hx ') ; unique ; upper
  unique(attribute='v') ; nonsense ; upper(1) ; join(1, 2, 3)
`);
const TESTS = listed(`
  defined ; undefined ; none ; boolean ; true ; false ; integer ; float ; number ; string
  mapping ; iterable ; sequence ; callable ; odd ; even ; divisibleby 2 ; divisibleby(3)
  eq 1 ; ne('a') ; lt 2 ; ge(1) ; in [1, 'a'] ; in('abc') ; equalto 7 ; greaterthan 0
`);
const METHODS = listed(`
  upper() ; lower() ; strip() ; strip('H d') ; lstrip() ; rstrip('x') ; title() ; capitalize()
  split() ; split(' ') ; split('l', 1) ; rsplit(' ', 1) ; splitlines() ; splitlines(true)
  startswith('H') ; endswith(('x', ' ')) ; find('l') ; rfind('l') ; count('l')
  replace('l', 'L') ; replace('l', 'L', 1) ; isdigit() ; isalpha() ; isupper() ; isspace()
  isalnum() ; removeprefix('He') ; removesuffix('x') ; join(['a', 'b']) ; join(w)
  format(1, 'b') ; format(n=2) ; items() ; keys() ; values() ; get('k') ; get('nope', 5)
  count(1) ; index(1) ; append(1) ; pop() ; k ; items ; v ; 0 ; n ; content ; role ; nope
  __class__
`);

/** Expressions without errors, so that long templates may have none. */
const SAFE = listed(`
  s ; n ; l ; x ; d ; w|join(', ') ; l|sort|list ; p|map(attribute='n')|list ; missing
  v is defined ; n > 3 ; v ~ y ; s.split('l') ; messages[0].content ; d.k ; x|tojson ; l[1:]
  x[4].k or 'q' ; (1, n) ; {'a': s} ; n if b else z ; not b ; range(n)|list ; v|string|length
`);

/** Random templates, each from the stream alone. */
export class TemplateMaker {
  constructor(readonly random: RandomStream) {}

  #one<T>(all: readonly T[]): T {
    return this.random.choice(all);
  }

  expression(depth: number): string {
    const inner = () => this.expression(depth - 1),
      simple = () => this.#one([...NAMES, ...NAMES, ...LITERALS]);
    if (depth <= 0) return simple();
    const forms: (() => string)[] = [
      simple,
      () => `${inner()} ${this.#one(BINARY)} ${inner()}`,
      () => `${inner()} ${this.#one(BINARY)} ${inner()} ${this.#one(BINARY)} ${inner()}`,
      () => `${inner()} ${this.#one(WORDS)} ${inner()}`,
      () => `${inner()}|${this.#one(FILTERS)}`,
      () => `${simple()}|${this.#one(FILTERS)}|${this.#one(FILTERS)}`,
      () => `(${inner()})|${this.#one(FILTERS)}`,
      () => `${inner()} is ${this.#one(["", "", "not "])}${this.#one(TESTS)}`,
      () => `${simple()}.${this.#one(METHODS)}`,
      () => `(${inner()}).${this.#one(METHODS)}`,
      () => `${this.#one(NAMES)}[${this.#subscript(depth)}]`,
      () => `${this.#one(["-", "+", "not "])}${inner()}`,
      () => `${inner()} if ${inner()}${this.#one([` else ${simple()}`, ""])}`,
      () => `[${inner()}, ${inner()}]`,
      () => `(${inner()})`,
      () => `{${simple()}: ${inner()}}`,
      () =>
        `${inner()} ${this.#one(["<", "==", ">=", "in"])} ${simple()} ${
          this.#one(["<", "!=", "not in"])
        } ${simple()}`,
    ];
    return this.#one(forms)();
  }

  #subscript(depth: number): string {
    const bound = () => this.#one(["", "0", "1", "-1", "2", "-2", "n"]);
    return this.random.chance(0.5)
      ? `${bound()}:${bound()}${this.#one(["", ":2", ":-1", ":"])}`
      : this.expression(depth - 1);
  }

  template(depth: number): string {
    return Array.from({ length: 1 + this.random.below(4) }, () => this.#part(depth)).join(
      "",
    );
  }

  #tag(text: string): string {
    return `{%${this.#one(["", "", "-", "+"])} ${text} ${this.#one(["", "", "-", "+"])}%}`;
  }

  #part(depth: number): string {
    const value = (size = 1) => this.random.chance(0.7) ? this.#one(SAFE) : this.expression(size),
      name = () => this.#one(["v", "y", "k"]);
    const body = () => depth <= 0 ? "{{ v }}|" : this.template(depth - 1);
    const forms: (() => string)[] = [
      () => this.#one(["text", "\n", "  \n  ", " ", "a\n", "\n\n", "x "]),
      () => `{{${this.#one(["", "-"])} ${value(2)} ${this.#one(["", "-"])}}}`,
      () => `{{ ${name()} }}`,
      () => `{#${this.#one(["", "-"])} c ${this.#one(["", "-"])}#}`,
      () => this.#tag(`set ${name()} = ${value()}`),
      () =>
        this.#tag(`set ns = namespace(a=${value()})`) + this.#tag("set ns.a = 2") + "{{ ns.a }}",
      () => this.#tag(`set ${name()}`) + body() + this.#tag("endset"),
      () =>
        this.#tag(`if ${value()}`) + body() + this.#tag(`elif ${value()}`) + body() +
        this.#tag("else") + body() + this.#tag("endif"),
      () =>
        this.#tag(
          `for v in ${this.#one(["l", "w", "p", "d", "s", "x", value()])}${
            this.#one(["", ` if ${value()}`])
          }`,
        ) +
        this.#one([
          "",
          "{{ loop.index }}",
          "{{ loop.last }}{{ loop.length }}",
          "{{ loop.previtem }}",
          "{{ loop.nextitem is defined }}",
          "{{ loop.revindex }}",
        ]) +
        this.#one([
          "",
          `{% if loop.index > 2 %}${this.#one(["{% break %}", "{% continue %}"])}{% endif %}`,
        ]) + body() +
        this.#one(["", this.#tag("else") + body()]) + this.#tag("endfor"),
      () => "{% for k, y in d.items() %}" + body() + "{% endfor %}",
      () =>
        this.#tag(
          `filter ${this.#one(["upper", "trim", "indent(2)", "replace('a', 'b')|title"])}`,
        ) + body() + this.#tag("endfilter"),
      () =>
        `{% macro q(v, y=${value()}) %}` + body() +
        this.#one(["", "{{ caller is defined }}"]) +
        "{% endmacro %}{{ q(" + this.#one(["", "1", "1, 2", "1, 2, 3", "y=1", "1, z=2", "*l"]) +
        ") }}",
      () =>
        "{% macro q(v) %}[{{ caller(v) }}]{% endmacro %}{% call(y) q(" + value() + ") %}" + body() +
        "{% endcall %}",
      () => this.#tag("generation") + body() + this.#tag("endgeneration"),
    ];
    return this.#one(forms)();
  }
}
