import assert from "node:assert/strict";
import { rewardsReference } from "./reference_page.ts";
import { scoresOf } from "./testing.ts";

Deno.test("docs/rewards.md is what the registry makes (deno task docs:rewards)", async () => {
  const page = await Deno.readTextFile(new URL("../docs/rewards.md", import.meta.url));
  // The formatter wraps lines and widens tables.
  const words = (text: string) => text.replaceAll(/[\s-]+/g, " ");
  const current = words(page) === words(rewardsReference());
  assert.ok(current, "it is not current: run deno task docs:rewards");
});

Deno.test("the example of docs/rewards.md works", async () => {
  const [, example] = /few_vowels\.ts`:\n\n```ts\n([^]*?)```/.exec(rewardsReference()) ?? [];
  const params = { share: 0.4 };
  const { values, logged } = await scoresOf(example!, ["abc", "aeb", ""], { params });
  assert.deepEqual(values, [[1], [0], [null]]);
  assert.deepEqual([...logged], [["vowels", [1, 2]]]);
});

Deno.test("the reward of the README works", async () => {
  const readme = await Deno.readTextFile(new URL("../README.md", import.meta.url));
  const [, example] = /```ts\n(\/\/ few_vowels\.ts[^]*?)```/.exec(readme) ?? [];
  const { values, errors } = await scoresOf(example!, ["abcd", ""]);
  assert.deepEqual([values, errors], [[[0.75], [1]], []]);
});
