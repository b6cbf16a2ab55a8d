/** `rgx rewards list|show` and `rgx config list`. */
import assert from "node:assert/strict";
import { experimentNames } from "../../configs/documents/embedded.ts";
import { rewardNames } from "../../rewards/registry.ts";
import { refuses, rgx, succeeds } from "../support.ts";

Deno.test("rewards list names every built-in reward, as text and as JSON", async () => {
  const { out } = await succeeds(["rewards", "list"]);
  const names = out.trim().split("\n").slice(1).filter((line) => !line.startsWith(" "))
    .map((line) => line.split(" ")[0]!);
  assert.deepEqual(names.sort(), rewardNames());
  const listed = JSON.parse((await rgx(["rewards", "list", "--json"])).out) as { name: string }[];
  assert.deepEqual(listed.map(({ name }) => name).sort(), rewardNames());
});

Deno.test("rewards show has parameters and an entry that a configuration accepts", async () => {
  const { code, out } = await rgx(["rewards", "show", "cosine"]);
  assert.equal(code, 0);
  assert.match(out, /^cosine_scaled\n/);
  assert.match(out, /max_len +an integer or null +null/);
  const entry = /- (\{ name: .*\})/.exec(out)![1]!;
  const checked = await rgx(["config", "check", "quickstart", `rewards=[${entry}]`]);
  assert.deepEqual([checked.code, checked.out], [0, "quickstart: ok\n"], checked.err);
  await refuses([[["rewards", "show", "cosin"], /unknown reward "cosin", did you mean/]]);
});

Deno.test("config list describes every experiment, as text and as JSON", async () => {
  const { out } = await succeeds(["config", "list"]);
  const listed = JSON.parse((await rgx(["config", "list", "--json"])).out) as {
    kind: string;
    name: string;
    description: string;
  }[];
  const experiments = listed.filter(({ kind }) => kind === "experiments");
  assert.deepEqual(experiments.map(({ name }) => name).sort(), experimentNames());
  for (const { name, description } of experiments) {
    assert.match(description, /\.$/, `${name}: ${description}`);
    assert.ok(out.includes(`\n  ${name} `), name);
  }
});
