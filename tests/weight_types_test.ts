/** `rgx doctor --model`, and models whose weights are held otherwise than stored, through whole commands. */
import assert from "node:assert/strict";
import { rgx } from "./support.ts";
import { goldenPath } from "./golden.ts";

const TINY = goldenPath("models/tinystories-656k");

Deno.test({
  name: "the doctor looks at a model: its types, and what other ones would cost",
  async fn() {
    const flags = ["doctor", "--model", TINY, "--device", "wasm"];
    const { code, out, err } = await rgx([...flags, "--json"]);
    assert.equal(code, 0, err);
    const report = JSON.parse(out);
    assert.deepEqual([report.model, report.stored[0].type], [TINY, "f32"]);
    const four = report.held.find(({ how }: { how: string }) => how === "load_in_4bit: true");
    assert.ok(four.weight_error > 0.05 && four.bytes < 0.6 * report.held[0].bytes);
    const shown = await rgx(flags);
    assert.equal(shown.code, 0, shown.err);
    assert.match(shown.out, /load_in_4bit: true +1\.\d\d MB +\d\.\d+ %/);
  },
});

Deno.test("a model that is not there, or one beside a config, is a mistake of the user", async () => {
  const { code, err } = await rgx(["doctor", "--model", "no/such"]);
  assert.equal(code, 2);
  assert.match(err, /no\/such/);
  const both = await rgx(["doctor", "quickstart", "--model", TINY]);
  assert.equal(both.code, 2);
  assert.match(both.err, /--model and the config quickstart/);
});

Deno.test({
  name: "text from a model whose weights are narrowed or quantised at load",
  async fn() {
    const run = (...flags: string[]) =>
      rgx([
        ...["generate", "--model", TINY, "--device", "wasm", "--prompt", "Once upon a time"],
        ...["--temperature", "0", "--max-new-tokens", "12", ...flags],
      ]);
    const plain = await run(), halves = await run("--dtype", "bfloat16");
    assert.equal(plain.code, 0, plain.err);
    assert.equal(halves.out, plain.out, "the file's values are halves");
    const eight = await run("--load-in-8bit");
    assert.equal(eight.code, 0, eight.err);
    assert.ok(eight.out.length > 10);
    const both = await run("--load-in-8bit", "--load-in-4bit");
    assert.equal(both.code, 2);
    assert.match(both.err, /at most one/);
  },
});
