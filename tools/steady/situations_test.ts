import assert from "node:assert/strict";
import { SITUATIONS } from "./situations.ts";
import { makeCgroup, NoCgroup } from "./cgroup.ts";

Deno.test("each situation leaves a fair share, and groups leave less than threads", () => {
  const fair = (name: string) => SITUATIONS.find((one) => one.name === name)!.fair(2);
  assert.equal(new Set(SITUATIONS.map(({ name }) => name)).size, SITUATIONS.length);
  for (const { name, fair } of SITUATIONS) assert.ok(fair(2) > 0 && fair(2) < 1, name);
  assert.equal(fair("2 × loops"), 1 / 2);
  assert.equal(fair("2 × loops, each in a group"), 1 / 3);
  assert.equal(fair("1 × bursts"), 3 / 4);
  assert.equal(fair("a quota of 1.5 CPUs"), 3 / 4);
});

Deno.test("a command runs within a group with a quota, where groups can be made", async () => {
  const group = await makeCgroup("test", 1.5).catch((error) => {
    assert.ok(error instanceof NoCgroup && error.message !== "");
    return null;
  });
  if (group === null) return;
  try {
    const [program, ...args] = group.within(["cat", "/proc/self/cgroup"]);
    const { success, stdout } = await new Deno.Command(program, { args }).output();
    assert.ok(success);
    assert.match(new TextDecoder().decode(stdout), new RegExp(`rgx-bench-${Deno.pid}-test`));
  } finally {
    await group.remove();
  }
});
