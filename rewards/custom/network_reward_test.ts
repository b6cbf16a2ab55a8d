/** Rewards that cost something: their requests are counted, and kept values cost nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "../../core/testing.ts";
import { createRubric, type RubricScores } from "../rubric.ts";
import { input, scoresOf, withCacheIn } from "../testing.ts";

const spent = ({ sums }: RubricScores, what: string) => sums.get(`rewards/mine/${what}`);

test.inFolder("values are kept in the user's cache, and what they cost is counted", (folder) =>
  withCacheIn(join(folder, "cache"), async () => {
    const path = join(folder, "mine.ts");
    await Deno.writeTextFile(
      path,
      `let calls = 0;
      export default ({ completion, addCost, log }, { bonus = 0 }) => {
        if (completion === "bad") throw new Error("no");
        addCost(0.25);
        log("seen", ++calls);
        return calls + bonus;
      };`,
    );
    const rubric = (params: Record<string, unknown> = {}) =>
      createRubric([{ name: "mine", weight: 1, params, file: { path, cache: true } }]);
    const score = async (texts: string[], params: Record<string, unknown> = {}) => {
      await using one = rubric(params);
      return await one.score(texts.map((text, step) => input(text, { step })));
    };
    const costs = (scores: RubricScores) =>
      ["requests", "cached", "cost"].map((name) => spent(scores, name));
    const first = await score(["a", "b", "bad"]);
    assert.deepEqual(first.values, [[1], [2], [0]]);
    assert.deepEqual(costs(first), [3, 0, 0.5]);
    // A failure is not kept. The notes of a value are kept.
    const again = await score(["b", "bad", "a", "c"]);
    assert.deepEqual(again.values, [[2], [0], [1], [1]]);
    assert.deepEqual(costs(again), [2, 2, 0.25]);
    assert.deepEqual(again.logged.get("seen"), [2, 1, 1]);
    assert.ok(spent(again, "seconds")! > 0);
    // Other parameters are another reward.
    assert.deepEqual((await score(["a"], { bonus: 10 })).values, [[11]]);
    assert.equal([...Deno.readDirSync(join(folder, "cache/rewards"))].length, 2);

    await Deno.writeTextFile(path, "export const computeBatch = (items) => items.map(() => 1);");
    await assert.rejects(rubric().open(), /cache: computeBatch compares completions/);
  }));

Deno.test("a price that is none is an error of the reward; others count nothing", async () => {
  const source = "export default ({ addCost, completion }) => (completion && addCost(-1), 1);";
  const scores = await scoresOf(source, ["a", ""]);
  assert.deepEqual(scores.values, [[0], [1]]);
  assert.match(scores.errors[0]!.message, /addCost: expected a number that is not negative/);
  assert.equal(scores.sums.size, 0);
});
