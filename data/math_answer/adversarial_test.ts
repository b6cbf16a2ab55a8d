/**
 * Pairs that are made to look similar, at least 300 of each kind. Their verdicts follow from how
 * they are made, or from whole numbers and grids that share no code with the comparison.
 */
import assert from "node:assert/strict";
import { RandomStream } from "../../core/philox.ts";
import { sameAnswer } from "./equal.ts";

type Pair = readonly [answer: string, gold: string];

const COUNT = 300;

function judge(name: string, make: (random: RandomStream) => [Pair, boolean]): void {
  Deno.test(name, () => {
    const random = RandomStream.forPurpose(1, "shuffle", name);
    const failures: string[] = [];
    for (let i = 0; i < COUNT; i++) {
      const [[answer, gold], expected] = make(random);
      if (sameAnswer(answer, gold) !== expected) {
        failures.push(`${answer} ‖ ${gold} should be ${expected ? "right" : "wrong"}`);
      }
    }
    assert.deepEqual(failures, []);
  });
}

const nonzero = (random: RandomStream, size: number): number => {
  const n = random.int(1, size);
  return random.chance(0.5) ? n : -n;
};
const signed = (n: number): string => n < 0 ? `${n}` : `+${n}`;

judge("an absolute value is not what it holds, wherever its branches meet", (random) => {
  const a = nonzero(random, 9), b = nonzero(random, 10 ** random.int(1, 7));
  const inner = `${a}x${signed(b)}`, turned = `${-a}x${signed(-b)}`;
  const sizes = [
    `|${inner}|`,
    `|${turned}|`,
    `\\sqrt{(${inner})^2}`,
    `\\sqrt[4]{(${turned})^4}`,
    `\\max(${inner}, ${turned})`,
  ];
  const others = [
    inner,
    turned,
    `|${inner}|+10^{-9}`,
    `|${a}x|${signed(b)}`,
    `|${a}x|+|${b}|`,
    `\\sqrt{${inner}}^2`,
    `|${a}x${signed(b + 1)}|`,
    `-|${inner}|`,
  ];
  const gold = random.choice(sizes);
  return random.chance(0.3)
    ? [[random.choice(sizes), gold], true]
    : [[random.choice(others), gold], false];
});

judge("sums and products of absolute values are split only where that is an identity", (random) => {
  const [c, d] = [nonzero(random, 50), nonzero(random, 50)];
  const [x, y] = [`x${signed(c)}`, `y${signed(d)}`];
  return random.choice<[Pair, boolean]>([
    [[`|${x}|\\cdot|${y}|`, `|(${x})(${y})|`], true],
    [[`|${x}|+|${y}|`, `|(${x})+(${y})|`], false],
    [[`|${x}|-|${y}|`, `|(${x})-(${y})|`], false],
    [[`\\left|\\frac{${x}}{${y}}\\right|`, `\\frac{|${x}|}{|${y}|}`], true],
    [[`\\sqrt{(${x})^2+(${y})^2}`, `|${x}|+|${y}|`], false],
    [[`\\max(${x}, ${y})`, `\\frac{${x}+${y}+|${x}-(${y})|}{2}`], true],
    [[`\\min(${x}, ${y})`, `\\frac{${x}+${y}+|${x}-(${y})|}{2}`], false],
    [[`\\lfloor ${x} \\rfloor`, `\\lfloor x \\rfloor${signed(c)}`], true],
    [[`\\lfloor ${x}+0.5 \\rfloor`, `\\lfloor ${x} \\rfloor`], false],
    [[`\\lceil ${x} \\rceil`, `\\lfloor ${x} \\rfloor+1`], true],
  ]);
});

judge("an irrational number is not a fraction near to it", (random) => {
  const n = random.choice([2, 3, 5, 6, 7, 10, 11, 13, 61, 109, 181]), digits = random.int(1, 90);
  const scale = 10n ** BigInt(digits), whole = 10n ** BigInt(random.int(0, 9));
  // The whole part of √n · 10^digits.
  const near = rootDown(BigInt(n) * scale * scale);
  const gold = `${whole}+\\sqrt{${n}}`, value = whole * scale + near;
  const decimal = `${value / scale}.${String(value % scale).padStart(digits, "0")}`;
  if (digits >= 7) {
    return random.choice<[Pair, boolean]>([
      [[decimal, gold], true],
      [[shifted(decimal, 2n), gold], false],
      [[shifted(decimal, -1n), gold], false],
      [[`\\frac{${value}}{${scale}}`, gold], false],
      [[gold, `\\frac{${value}}{${scale}}`], false],
      [[`${gold}+10^{-${digits}}`, gold], false],
      [[`\\sqrt{${n}+10^{-${digits}}}+${whole}`, gold], false],
      [[`\\frac{${scale + 1n}}{${scale}}\\sqrt{${n}}+${whole}`, gold], false],
    ]);
  }
  return [[String(value / scale), gold], false];
});

function rootDown(n: bigint): bigint {
  let low = 0n, high = n + 1n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle * middle <= n) low = middle;
    else high = middle;
  }
  return low;
}

function shifted(decimal: string, by: bigint): string {
  const [, part] = decimal.split("."), digits = part!.length;
  const all = String(BigInt(decimal.replace(".", "")) + by).padStart(digits + 1, "0");
  return `${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

/** A random inequality in x, as text and as a test, with its end at a tenth. */
function inequality(random: RandomStream): { text: string; holds: (x: number) => boolean } {
  const a = nonzero(random, 6), end = random.int(-6, 6), shift = random.int(-9, 9);
  const sign = random.choice(["<", ">", "\\le", "\\ge", "\\ne"]);
  const left = `${a}x${signed(shift)}`, right = `${a * end + shift}`;
  const holds = (x: number) => {
    const side = Math.sign(a * (x - end));
    return {
      "<": side < 0,
      ">": side > 0,
      "\\le": side <= 0,
      "\\ge": side >= 0,
      "\\ne": side !== 0,
    }[sign]!;
  };
  const mirrored = { "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "\\ne": "\\ne" }[sign]!;
  const text = random.chance(0.5) ? `${left} ${sign} ${right}` : `${right} ${mirrored} ${left}`;
  return { text, holds };
}

const GRID = Array.from({ length: 57 }, (_, i) => (i - 28) / 4);

judge("inequalities are the sets of numbers that they leave", (random) => {
  const make = () => {
    const [p, q] = [inequality(random), inequality(random)];
    const word = random.choice(["and", "or", ""]);
    if (word === "") return p;
    return {
      text: `${p.text} \\text{ ${word} } ${q.text}`,
      holds: (x: number) => word === "and" ? p.holds(x) && q.holds(x) : p.holds(x) || q.holds(x),
    };
  };
  const gold = make();
  // Mostly unequal by chance, so equal ones are searched for.
  let answer = make();
  const equal = (one: typeof gold, other: typeof gold) =>
    GRID.every((x) => one.holds(x) === other.holds(x));
  for (let i = 0; i < 40 && random.chance(0.95) && !equal(answer, gold); i++) answer = make();
  return [[answer.text, gold.text], equal(answer, gold)];
});

judge("relations of two unknowns are the same up to a factor with the right sign", (random) => {
  const [a, b, c] = [nonzero(random, 9), nonzero(random, 9), nonzero(random, 9)];
  const k = nonzero(random, 5), sign = random.choice(["<", "\\le", "=", "\\ne"]);
  const turned = { "<": ">", "\\le": "\\ge", "=": "=", "\\ne": "\\ne" }[sign]!;
  const gold = `${a}x${signed(b)}y ${sign} ${c}`;
  const scaled = (n: number) => `${a * n}x${signed(b * n)}y`;
  const kept = k > 0 ? sign : turned, wrong = k > 0 ? turned : sign;
  return random.choice<[Pair, boolean]>([
    [[`${scaled(k)} ${kept} ${c * k}`, gold], true],
    [[`${c * k} ${wrong} ${scaled(k)}`, gold], true],
    [[`${scaled(k)} ${wrong} ${c * k}`, gold], sign === "=" || sign === "\\ne"],
    [[`${scaled(k)} ${kept} ${c * k + 1}`, gold], false],
    [[`${a * k}x${signed(-b * k)}y ${kept} ${c * k}`, gold], false],
    [[`${scaled(k)} ${kept === "=" ? "\\le" : "="} ${c * k}`, gold], false],
  ]);
});

judge("what is known of a function that has only a name is its argument", (random) => {
  const [a, b] = [random.int(2, 9), random.int(2, 9)],
    f = random.choice(["f", "g", "h", "F", "f'", "g_1"]);
  return random.choice<[Pair, boolean]>([
    [[`${f}(x)+${f}(y)`, `${f}(x+y)`], false],
    [[`${a}${f}(x)`, `${f}(${a}x)`], false],
    [[`${f}(x)${f}(y)`, `${f}(xy)`], false],
    [[`${f}(x)^${a}`, `${f}(x^${a})`], false],
    [[`${f}(${a})`, `${f}(${a + b})`], false],
    [[`${f}(x+${b}+${a}x)`, `${f}(${a + 1}x+${b})`], true],
    [[`${f}(x)+${a}+${f}(x)`, `2${f}(x)+${a}`], true],
    [[`${f}(${a}x,${b})`, `${f}(${b},${a}x)`], false],
    [[`\\frac{1}{${f}(x)}`, `${f}^{-1}(x)`], false],
    [[`|${f}(x)|`, `${f}(x)`], false],
  ]);
});

judge("sums, products and powers of matrices have the cells that whole numbers give", (random) => {
  const make = () => [0, 1].map(() => [0, 1].map(() => random.int(-9, 9)));
  const [a, b] = [make(), make()] as [number[][], number[][]];
  const text = (m: number[][], name = random.choice(["pmatrix", "bmatrix"])) =>
    `\\begin{${name}}${m.map((row) => row.join(" & ")).join(" \\\\ ")}\\end{${name}}`;
  const k = nonzero(random, 7);
  const product = (m: number[][], n: number[][]) =>
    m.map((row) => [0, 1].map((j) => row[0]! * n[0]![j]! + row[1]! * n[1]![j]!));
  const sum = (by: number) => a.map((row, i) => row.map((cell, j) => cell + by * b[i]![j]!));
  const [formula, value] = random.choice<[string, number[][]]>([
    [`${text(a)} + ${text(b)}`, sum(1)],
    [`${text(a)} - ${text(b)}`, sum(-1)],
    [`${text(a)} ${text(b)}`, product(a, b)],
    [`${text(a)}^2`, product(a, a)],
    [`${text(a)} + ${Math.abs(k)}${text(b)}`, sum(Math.abs(k))],
    [
      `${text(a)} - ${text(a)} \\cdot ${text(b)}`,
      a.map((row, i) => row.map((cell, j) => cell - product(a, b)[i]![j]!)),
    ],
    [`${text(a)}^T`, [[a[0]![0]!, a[1]![0]!], [a[0]![1]!, a[1]![1]!]]],
  ]);
  if (random.chance(0.4)) return [[formula, text(value)], true];
  const changed = value.map((row) => [...row]);
  changed[random.int(0, 1)]![random.int(0, 1)]! += nonzero(random, 3);
  return [[formula, text(changed)], false];
});

judge("powers and quotients of complex numbers are computed", (random) => {
  const [a, b, n] = [nonzero(random, 9), nonzero(random, 9), random.int(2, 6)];
  let [re, im] = [1, 0];
  for (let i = 0; i < n; i++) [re, im] = [re * a - im * b, re * b + im * a];
  const gold = `${re}${signed(im)}i`, size = a * a + b * b;
  return random.choice<[Pair, boolean]>([
    [[`(${a}${signed(b)}i)^${n}`, gold], true],
    [[`(${a}${signed(-b)}i)^${n}`, gold], im === 0],
    [[`(${a}${signed(b)}i)^{${n + 1}}`, gold], false],
    [[`${re}${signed(im + 1)}i`, gold], false],
    [[`${-re}${signed(-im)}i`, gold], false],
    [[`\\frac{${a}${signed(-b)}i}{${size}}`, `\\frac{1}{${a}${signed(b)}i}`], true],
    [[`\\frac{${a}${signed(b)}i}{${size}}`, `\\frac{1}{${a}${signed(b)}i}`], false],
    [[`\\sqrt{${size}}`, `|${a}${signed(b)}i|`], true],
  ]);
});

judge("a unit that is a factor is not dropped, and text beside text is no unit", (random) => {
  const n = random.int(1, 400),
    value = random.choice([String(n), `${n}.25`, `\\frac{${n}}{7}`, `${n}\\pi`]);
  const [one, other] = [
    random.choice(["east", "even", "ellipse"]),
    random.choice(["west", "odd", "circle"]),
  ];
  return random.choice<[Pair, boolean]>([
    [[`${value}\\%`, value], false],
    [[`${value}^\\circ`, value], false],
    [[`${value} \\text{ million}`, value], false],
    [[value, `${value}\\%`], true],
    [[value, `${value}^\\circ`], true],
    [[`${value}\\text{ cm}`, value], true],
    [[`\\frac{${n}}{100}`, `${n}\\%`], true],
    [[`\\frac{${n}\\pi}{180}`, `${n}^\\circ`], false],
    [[`\\frac{${n}\\pi}{181}`, `${n}^\\circ`], false],
    [[`\\text{${one}} \\text{${other}}`, `\\text{${one}}`], false],
    [[`\\text{(${"ABCD"[n % 4]})} \\text{(E)}`, `\\text{(${"ABCD"[n % 4]})}`], false],
    [[`${n} or ${n + 1}`, `${n}`], false],
    [[`${n}, ${n + 1}`, `${n + 1}`], false],
  ]);
});

judge("a mixed number binds closer than any sign, and its fraction is proper", (random) => {
  const [w, d] = [random.int(1, 60), random.int(2, 12)],
    n = random.int(1, d - 1),
    a = random.int(2, 9);
  const mixed = random.choice([
    `${w}\\frac{${n}}{${d}}`,
    `${w} ${n}/${d}`,
    `${w} \\frac{${n}}{${d}}`,
  ]);
  const all = w * d + n;
  return random.choice<[Pair, boolean]>([
    [[mixed, `\\frac{${all}}{${d}}`], true],
    [[`-${mixed}`, `-\\frac{${all}}{${d}}`], true],
    [[`(${mixed}, 1)`, `(${all}/${d}, 1)`], true],
    [[mixed, `\\frac{${w * n}}{${d}}`], w * n === all],
    [[`${w} ${d}/${d}`, `${w}`], false],
    [[`${w} ${d + n}/${d}`, `${w + 1}\\frac{${n}}{${d}}`], false],
    [[`${a}/${w}\\frac{${n}}{${d}}`, `\\frac{${a * d}}{${all}}`], true],
    [[`${a * w}/${w}\\frac{${n}}{${d}}`, `${a}\\frac{${n}}{${d}}`], false],
    [[`\\frac{${2 * w + 1}}{2}!`, `\\frac{${2 * w + 1}}{2}`], false],
    [[`0 ${n}/${d}`, `\\frac{${n}}{${d}}`], false],
  ]);
});

judge("values with names keep them, in any order", (random) => {
  const [a, b] = [random.int(1, 99), random.int(100, 200)],
    [p, q] = random.choice([["AB", "CD"], ["p", "q"], ["x_1", "x_2"], ["m", "n"]]);
  const c = b + random.int(1, 9);
  return random.choice<[Pair, boolean]>([
    [[`${q}=${b},${p}=${a}`, `${p}=${a}, ${q}=${b}`], true],
    [[`${p}=${b},${q}=${a}`, `${p}=${a},${q}=${b}`], false],
    [[`${p}=${a}`, `${p}=${a},${q}=${b}`], false],
    [
      [`${p}=${a},${q}=${c};${p}=${b},${q}=${a}`, `${p}=${b}, ${q}=${a}; ${p}=${a}, ${q}=${c}`],
      true,
    ],
    [[`${p}=${a},${q}=${a};${p}=${b},${q}=${c}`, `${p}=${a},${q}=${c};${p}=${b},${q}=${a}`], false],
    [[`(${a},${b})`, `${p}=${a},${q}=${b}`], true],
    [[`(${b},${a})`, `${p}=${a},${q}=${b}`], false],
    [[`${2 * a}:${2 * b}`, `${a}:${b}`], true],
    [[`V_1:V_2=${a}:${b}`, `${a}:${b}`], true],
    [[`${b}:${a}`, `${a}:${b}`], false],
  ]);
});
