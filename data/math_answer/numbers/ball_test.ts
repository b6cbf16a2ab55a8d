import assert from "node:assert/strict";
import * as balls from "./ball.ts";
import { fraction } from "./rational.ts";

/** [function, n, d, value of n/d times 10^100], from mpmath 1.3.0 with 130 digits. */
const VALUES: readonly (readonly [string, bigint, bigint, bigint])[] = [
  [
    "exp",
    1n,
    1n,
    27182818284590452353602874713526624977572470936999595749669676277240766303535475945713821785251664274n,
  ],
  [
    "exp",
    -1n,
    3n,
    7165313105737892504256040969253796674531120598214791571408702071273040772349023791087910889151749462n,
  ],
  [
    "exp",
    7n,
    2n,
    331154519586923137506532493503886162924717282264779409888609484065998278590988597656826592975939479663n,
  ],
  [
    "exp",
    100n,
    1n,
    268811714181613544841262555158001358736111187737419224151916086152802870349095649141588710972198457108116708791905760686975977097622248063238144n,
  ],
  [
    "exp",
    -60n,
    7n,
    1894418252328942095151953275796758068274949841770141837642377366584026034088866179850306090440996n,
  ],
  [
    "ln",
    2n,
    1n,
    6931471805599453094172321214581765680755001343602552541206800094933936219696947156058633269964186875n,
  ],
  [
    "ln",
    10n,
    1n,
    23025850929940456840179914546843642076011014886287729760333279009675726096773524802359972050895982983n,
  ],
  [
    "ln",
    1n,
    1000n,
    -69077552789821370520539743640530926228033044658863189280999837029027178290320574407079916152687948950n,
  ],
  [
    "ln",
    99n,
    100n,
    -100503358535014411835488575585477060855150076746298733786994255295830090042503136497081925490976277n,
  ],
  [
    "ln",
    101n,
    100n,
    99503308531680828482153575442607416886796099400587978646095597668666642476389110326856965627601612n,
  ],
  [
    "ln",
    1000000000000000000000000000000n,
    1n,
    690775527898213705205397436405309262280330446588631892809998370290271782903205744070799161526879489503n,
  ],
  [
    "ln",
    3n,
    7n,
    -8472978603872036137101075065206540249895941717591117367246958163000855695334603009140427437741394382n,
  ],
  [
    "sin",
    1n,
    1n,
    8414709848078965066525023216302989996225630607983710656727517099919104043912396689486397435430526959n,
  ],
  [
    "sin",
    -2n,
    3n,
    -6183698030697370077498864622068697903254607142298990968513347318660356472252765058506464624029851389n,
  ],
  [
    "sin",
    10n,
    1n,
    -5440211108893698134047476618513772816836430129162238915741840126167572096404934257070756738949832162n,
  ],
  [
    "sin",
    355n,
    113n,
    -2667641890624191484063745288734688868221054266212710251192493875921744703150807155037094623069n,
  ],
  [
    "sin",
    100000000000000000000n,
    1n,
    -6452512852657808442058117113125230074069041966868971183031170068878986162188568608555379550092177132n,
  ],
  [
    "cos",
    1n,
    1n,
    5403023058681397174009366074429766037323104206179222276700972553811003947744717645179518560871830893n,
  ],
  [
    "cos",
    -2n,
    3n,
    7858872607769480007242228510653469866819502908466253027266883167691275070641433797411343015887377130n,
  ],
  [
    "cos",
    10n,
    1n,
    -8390715290764524522588639478240648345199301651331685468359537310487925868662707684009337127604221389n,
  ],
  [
    "cos",
    11n,
    7n,
    -6322445915532736545183507752145567303142029199635075036033139962080027052704130002828309371569356n,
  ],
  [
    "cos",
    100000000000000000000n,
    1n,
    7639704044417283004001468027378811228344734417470044806221890669465897391978234615763701769050965599n,
  ],
  [
    "arctan",
    1n,
    1n,
    7853981633974483096156608458198757210492923498437764552437361480769541015715522496570087063355292670n,
  ],
  [
    "arctan",
    1n,
    5n,
    1973955598498807583700497651947902934475851037878521015176889402410339699782437857326978280372880441n,
  ],
  [
    "arctan",
    -7n,
    2n,
    -12924966677897852679030914214070816845853140841120018400484685905645097047468764597557491886498836817n,
  ],
  [
    "arctan",
    1000000000n,
    1n,
    15707963257948966192313216919730847754319180328208862438208056296300986793335806896790967777504236134n,
  ],
  [
    "arctan",
    1n,
    1000000000n,
    9999999999999999996666666666666666668666666666666666665238095238095238096349206349206349205n,
  ],
];
const PI =
  31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170680n;

const FUNCTIONS: Readonly<Record<string, (x: balls.Ball, bits: number) => balls.Ball>> = {
  exp: balls.exp,
  ln: balls.ln,
  sin: (x, bits) => balls.sinCos(x, bits)[0],
  cos: (x, bits) => balls.sinCos(x, bits)[1],
  arctan: balls.arctan,
};

/** Whether a ball holds value / 10^100, and how wide it is there. */
function assertHolds(a: balls.Ball, value: bigint, what: string): void {
  const scale = 10n ** 100n,
    up = (m: bigint) => a.e >= 0 ? (m * scale) << BigInt(a.e) : (m * scale) >> BigInt(-a.e);
  const [low, high] = [up(a.m - a.r), up(a.m + a.r)];
  assert.ok(low - 1n <= value && value <= high + 1n, `${what} is not in its ball`);
}

Deno.test("balls hold the values of functions, at every precision", () => {
  for (const [name, n, d, value] of VALUES) {
    for (const bits of [40, 128, 300]) {
      const x = balls.of(fraction(n, d), bits + 80);
      assertHolds(FUNCTIONS[name]!(x, bits), value, `${name}(${n}/${d}) to ${bits} bits`);
    }
  }
  for (const bits of [40, 128, 300]) assertHolds(balls.pi(bits), PI, `π to ${bits} bits`);
});

Deno.test("balls are narrow", () => {
  for (const [name, n, d] of VALUES) {
    const value = FUNCTIONS[name]!(balls.of(fraction(n, d), 400), 300);
    const relative = value.r === 0n
      ? -Infinity
      : value.r.toString(2).length - value.m.toString(2).length;
    assert.ok(relative < -250, `${name}(${n}/${d}): ${relative} bits`);
  }
});

Deno.test("sums, products, quotients and roots of balls hold those of their numbers", () => {
  const holds = (a: balls.Ball, n: bigint, d: bigint) => {
    const at = (m: bigint) => a.e >= 0 ? m * d << BigInt(a.e) : m * d;
    const value = a.e >= 0 ? n : n << BigInt(-a.e);
    return at(a.m - a.r) <= value && value <= at(a.m + a.r);
  };
  for (const [a, b] of [[1n, 3n], [-22n, 7n], [10n ** 40n, 9n], [5n, 10n ** 50n]] as const) {
    for (const [c, d] of [[2n, 7n], [-1n, 10n ** 45n], [8n ** 60n, 3n]] as const) {
      const [x, y] = [balls.of(fraction(a, b), 100), balls.of(fraction(c, d), 100)];
      assert.ok(holds(balls.add(x, y, 100), a * d + c * b, b * d), `${a}/${b} + ${c}/${d}`);
      assert.ok(holds(balls.add(x, balls.negate(y), 100), a * d - c * b, b * d));
      assert.ok(holds(balls.multiply(x, y, 100), a * c, b * d));
      if (c > 0n) assert.ok(holds(balls.divide(x, y, 100), a * d, b * c));
    }
  }
  for (const degree of [2n, 3n, 7n]) {
    const root = balls.root(balls.of(fraction(5n, 7n), 200), degree, 150);
    let power: balls.Ball = balls.ball(1n, 0n, 0, 200);
    for (let i = 0n; i < degree; i++) power = balls.multiply(power, root, 200);
    assert.ok(holds(power, 5n, 7n), `root of degree ${degree}`);
  }
});

Deno.test("a division by what may be 0 has no value", () => {
  assert.throws(
    () => balls.divide(balls.ball(1n, 0n, 0, 64), balls.ball(1n, 2n, 0, 64), 64),
    RangeError,
  );
  assert.throws(() => balls.ln(balls.ball(0n, 1n, 0, 64), 64), RangeError);
});
