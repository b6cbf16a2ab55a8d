import assert from "node:assert/strict";
import { rewardsReference } from "./reference_page.ts";
import { createRubric } from "./rubric.ts";
import { input } from "./testing.ts";

Deno.test("docs/rewards.md is what the registry makes (deno task docs:rewards)", async () => {
  const page = await Deno.readTextFile(new URL("../docs/rewards.md", import.meta.url));
  // The formatter wraps lines and widens tables.
  const words = (text: string) => text.replaceAll(/[\s-]+/g, " ");
  const current = words(page) === words(rewardsReference());
  assert.ok(current, "it is not current: run deno task docs:rewards");
});

Deno.test("the example of docs/rewards.md works", async () => {
  const [, example] = /few_vowels\.ts`:\n\n```ts\n([^]*?)```/.exec(rewardsReference()) ?? [];
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(path, example!);
  const rubric = createRubric([
    { name: "few_vowels", weight: 1, params: { share: 0.4 }, file: { path } },
  ]);
  try {
    const { values, logged } = await rubric.score(["abc", "aeb", ""].map((text) => input(text)));
    assert.deepEqual(values, [[1], [0], [null]]);
    assert.deepEqual([...logged], [["vowels", [1, 2]]]);
  } finally {
    await rubric.close();
    await Deno.remove(path);
  }
});

Deno.test("the reward of the README works", async () => {
  const readme = await Deno.readTextFile(new URL("../README.md", import.meta.url));
  const [, example] = /```ts\n(\/\/ few_vowels\.ts[^]*?)```/.exec(readme) ?? [];
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(path, example!);
  const rubric = createRubric([{ name: "few_vowels", weight: 1, params: {}, file: { path } }]);
  try {
    const { values, errors } = await rubric.score(["abcd", ""].map((text) => input(text)));
    assert.deepEqual([values, errors], [[[0.75], [1]], []]);
  } finally {
    await rubric.close();
    await Deno.remove(path);
  }
});
