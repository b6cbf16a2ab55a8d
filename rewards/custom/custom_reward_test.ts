import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { createRubric, type RubricScores } from "../rubric.ts";
import { type FileOptions, input, messagesOf, scoresOf, withReward } from "../testing.ts";

const column = (scores: RubricScores) => scores.values.map(([value]) => value);

Deno.test("a reward in TypeScript gets one object and its parameters", async () => {
  const source = `
    import type { RewardInput } from "rgx";
    interface Box<T> { readonly value: T }
    enum Level { Low = 1, High = 3 }
    type Params = { factor?: number };
    class Counter { constructor(private count: number = 0) {} next(): number { return ++this.count; } }
    const counter = new Counter();
    function boxed<T>(value: T): Box<T> { return { value }; }
    export default async function mine(
      { completion, prompt, answer, info, entry, completionIds, truncated, step, maxCompletionLength, log, logExtra }: RewardInput,
      params: Params,
    ): Promise<number | null> {
      if (completion === "") return null;
      const whole = prompt === entry.question && answer === entry.answer && truncated === false &&
        info.source_dataset === "mini_sudoku" && completionIds.length === 5 && step === 1 && maxCompletionLength === 20;
      log("mine/calls", counter.next());
      logExtra("first", completion[0]!);
      return boxed(whole ? Level.High : Level.Low).value * (params.factor ?? 1) satisfies number;
    }`;
  const scores = await scoresOf(source, ["ab", "", "c"], { params: { factor: 0.5 } });
  assert.deepEqual(column(scores), [1.5, null, 1.5]);
  assert.deepEqual([...scores.logged], [["mine/calls", [1, 2]]]);
  assert.deepEqual([...scores.extras], [["first", ["a", null, "c"]]]);
  assert.deepEqual(scores.errors, []);
});

Deno.test("a reward in JavaScript gets the messages and columns of its row; one gets a batch", async () => {
  const source = "export default ({ messages, info }) => (messages?.length ?? 9) + info.level;";
  const messages = [{ role: "user", content: "a" }, { role: "assistant", content: "b" }];
  await withReward(source, async (rubric) => {
    const rows = [{ messages, info: { level: 10 } }, { info: { level: 20 } }];
    const scores = await rubric.score(rows.map((row) => input("x", row)));
    assert.deepEqual(column(scores), [12, 29]);
  }, { extension: ".js" });
  const batch =
    `export async function computeBatch(items: { completion: string; log(n: string, v: number): void }[]) {
      items[1]!.log("size", items.length);
      return items.map(({ completion }) => completion === "" ? null : completion.length / items.length);
    }`;
  const scores = await scoresOf(batch, ["ab", "", "abcd"]);
  assert.deepEqual(column(scores), [2 / 3, null, 4 / 3]);
  assert.deepEqual([...scores.logged], [["size", [3]]]);
});

Deno.test("an error costs only its sample and is reported with completion and line", async () => {
  const source = `export default function ({ completion, log }) {
  switch (completion) {
    case "throw":
      throw new TypeError("boom");
    case "nan":
      return NaN;
    case "text":
      return "7";
    case "nothing":
      return;
    case "truth":
      return true;
    case "log":
      log("step", 1);
    case "reject":
      return Promise.reject("no");
    case "unclonable":
      return () => 1;
  }
  return 1;
}`;
  const kinds = ["throw", "nan", "text", "nothing", "truth", "log", "reject", "unclonable"];
  const scores = await scoresOf(source, ["ok", ...kinds, "ok"], { extension: ".mjs" });
  assert.deepEqual(column(scores), [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  assert.deepEqual(scores.errors.map(({ name, completion }) => [name, completion]), [
    ...kinds.map((kind) => ["mine", kind]),
  ]);
  const expected = [
    /^boom \(line 4, column 13\)$/,
    /^returned NaN, a finite number or null is expected/,
    /^returned "7", a finite number/,
    /^returned undefined, a finite number/,
    /^returned true, a finite number/,
    /^log: "step" cannot be the name of a metric/,
    /^no$/,
    /^returned a function, a finite number/,
  ];
  for (const [i, message] of messagesOf(scores).entries()) assert.match(message, expected[i]!);
});

Deno.test("an endless loop costs its sample; the rest is scored by a fresh Worker", async () => {
  const source = `let calls = 0;
    export default ({ completion }) => {
      calls++;
      if (completion === "loop") for (;;);
      if (completion === "microtasks") return (async () => { for (;;) await null; })();
      return calls;
    }`;
  const scores = await scoresOf(source, ["a", "loop", "b", "microtasks", "c"], { timeout: 0.2 });
  assert.deepEqual(column(scores), [1, 0, 1, 0, 1]);
  for (const message of messagesOf(scores)) {
    assert.equal(message, "gave no value within 0.2 s, its process was ended");
  }
  assert.deepEqual(scores.errors.map(({ completion }) => completion), ["loop", "microtasks"]);
});

Deno.test("a pending promise is late; exceptions outside of a call are reported", async () => {
  const source = `export default async ({ completion }) => {
      if (completion === "never") await new Promise(() => {});
      if (completion === "timer") {
        setTimeout(() => { throw new Error("in a timer"); }, 1);
        await new Promise(() => {});
      }
      if (completion === "forgotten") {
        Promise.reject(new Error("forgotten"));
        await new Promise((done) => setTimeout(done, 50));
      }
      return 1;
    }`;
  const scores = await scoresOf(source, ["never", "timer", "forgotten", "ok"], { timeout: 0.3 });
  assert.deepEqual(column(scores), [0, 0, 0, 1]);
  const [never, timer, forgotten] = messagesOf(scores);
  assert.equal(never, "gave no value within 0.3 s");
  assert.match(timer!, /in a timer/);
  assert.match(forgotten!, /forgotten/);
});

Deno.test("after eight late values in a row the rest of the batch is not tried", async () => {
  const source = `export default ({ completion }) => {
      if (completion === "loop") for (;;);
      if (completion === "never") return new Promise(() => {});
      return 1;
    }`;
  const many = (text: string, count: number) => new Array<string>(count).fill(text);
  const completions = [...many("never", 7), "ok", ...many("never", 20)];
  const late = await scoresOf(source, completions, { timeout: 0.05 });
  assert.deepEqual(column(late), completions.map((text) => text === "ok" ? 1 : 0));
  const told = messagesOf(late);
  assert.deepEqual(told.slice(0, 15), many("gave no value within 0.05 s", 15));
  assert.deepEqual(told.slice(15), many("not tried: 8 in a row gave no value", 12));
  const loop = [...many("never", 7), "loop", "never", "loop", "ok"];
  assert.deepEqual(messagesOf(await scoresOf(source, loop, { timeout: 0.05 })).slice(7), [
    "gave no value within 0.05 s, its process was ended",
    ...many("not tried: 8 in a row gave no value", 3),
  ]);
  const lanes = { timeout: 0.05, file: { concurrency: 3 } };
  const together = await scoresOf(source, many("never", 40), lanes);
  assert.equal(messagesOf(together).filter((text) => text.startsWith("not tried")).length, 16);
});

Deno.test("a batch that hangs or is of the wrong length fails as a whole", async () => {
  const hangs = await scoresOf("export const computeBatch = () => { for (;;); }", ["a", "b"], {
    timeout: 0.1,
  });
  assert.deepEqual(column(hangs), [0, 0]);
  assert.match(messagesOf(hangs)[1]!, /gave no value within 0.2 s/);
  const short = await scoresOf("export const computeBatch = () => [1]", ["a", "b"]);
  assert.deepEqual(messagesOf(short), [
    "returned a list of 1, a list of 2 is expected",
    "returned a list of 1, a list of 2 is expected",
  ]);
  const partly = await scoresOf("export const computeBatch = () => [1, 'x']", ["a", "b"]);
  assert.deepEqual(column(partly), [1, 0]);
});

Deno.test("a file of a reward that cannot be used is refused with its line", async () => {
  const cases: [source: string, message: RegExp, extension?: string][] = [
    [
      '\nimport { x } from "./x.ts";\nexport default () => x;',
      /mine\.ts:2: imports "\.\/x\.ts"; a reward is one/,
    ],
    ['export * from "npm:zod";', /mine\.ts:1: imports "npm:zod"/],
    ['export default async () =>\n  (await import("node:fs")).x;', /mine\.ts:2: imports "node:fs"/],
    ["export default (x) => import(x);", /mine\.ts:1: imports a module/],
    [
      "export const reward = () => 1;",
      /mine\.ts: exports reward; expected a function as its default/,
    ],
    ["const x = 1;", /mine\.ts: exports nothing/],
    ["export default function () {\n  let = = 1;\n}", /mine\.ts:2:\d+: not a module/],
    ["export default function () {\n  let = = 1;\n}", /mine\.js.*2:\d+/s, ".js"],
    ["export default 5;", /neither computeBatch nor the default export is a function/],
    ['throw new Error("at once"); export default 1;', /cannot be used: at once \(line 1, column/],
    ["export default () => 1", /a reward is a file ending in \.ts, .* found \.rb/, ".rb"],
  ];
  for (const [source, message, extension = ".ts"] of cases) {
    await withReward(source, async (rubric) => {
      await assert.rejects(
        rubric.open(),
        refusal(message, UsageError),
        source,
      );
      const { errors } = await rubric.score([input("a")]);
      assert.match(errors[0]!.message, message);
    }, { extension });
  }
  const missing = createRubric([
    { name: "m", weight: 1, params: {}, file: { path: "/no/such/file.ts" } },
  ]);
  await assert.rejects(
    missing.open(),
    /reward file \/no\/such\/file\.ts cannot be read: no such file/,
  );
});

Deno.test("opening checks and leaves nothing open; a closed rubric can go on", async () => {
  await withReward("let n = 0; export default () => ++n;", async (rubric) => {
    await rubric.open();
    const score = async () => column(await rubric.score([input("a"), input("b")]));
    assert.deepEqual(await score(), [1, 2]);
    assert.deepEqual(await score(), [3, 4]);
    await rubric.close();
    assert.deepEqual(await score(), [1, 2]);
  });
});

Deno.test("impossible sections are refused", () => {
  const make = (more: FileOptions) => () =>
    createRubric([
      { name: "m", weight: 1, params: {}, ...more, file: { ...more.file, path: "m.ts" } },
    ]);
  assert.throws(make({ file: { net: ["https://a.org/x"] } }), /net: expected a host as in/);
  assert.throws(make({ timeout: 0 }), /timeout: must be a number above 0/);
});
