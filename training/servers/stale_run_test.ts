/** Runs with `max_staleness`: which policy samples what; a resumed run has the same bits. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { inSessions } from "../testing.ts";
import { withServers } from "./run_testing.ts";

const STEPS = 8, PROMPTS = 4;
const stale = (url: string, max_staleness: number) => ({
  generation: { backend: "openai" as const, base_url: [url], server_timeout: 20, max_staleness },
  training: { max_steps: STEPS, save_steps: 3 },
});

Deno.test("with max_staleness 2 the policy of two steps ago samples, and the loss is corrected", () =>
  withServers(async ({ start, run, outcome }) => {
    const server = await start();
    const { summary } = await run("stale", stale(server.url, 2));
    assert.equal(summary.status, "completed");
    const names: Set<unknown>[] = Array.from({ length: STEPS }, () => new Set());
    for (const body of server.requests) {
      names[Math.floor(body["prompt_id"] as number / PROMPTS)]!.add(body["model"]);
    }
    assert.ok(names.every((used) => used.size === 1));
    const policies = names.map(([name]) => name);
    // The first three steps use the policy of the beginning, then each step has one of its own.
    assert.deepEqual(policies.map((name) => policies.indexOf(name)), [0, 0, 0, 3, 4, 5, 6, 7]);
    assert.equal(server.requests.length, STEPS * PROMPTS);
    const { metrics } = await outcome("stale");
    const sizes = metrics.filter((line) => "loss" in line).map((line) =>
      line["sampling/importance_sampling_ratio/max"] as number
    );
    // The first step has samples of its own policy.
    assert.ok(sizes.slice(1).every((size) => size > 1.001 && size <= 3), sizes.join());
  }));

Deno.test("a stale run that was stopped resumes to the same bits", () =>
  withServers(async ({ start, run, outcome, at }) => {
    const server = await start(), changes = stale(server.url, 2);
    await run("whole", changes);
    const sessions = await inSessions(() => 400, async (options) => {
      const finished = await run("parts", changes, options), { summary } = finished;
      if (summary.status === "stopped" && summary.steps > 1) {
        const older = `${summary.checkpoint}/stale_policy-${summary.steps - 1}.safetensors`;
        assert.ok(existsSync(older), older);
      }
      return finished;
    });
    assert.ok(sessions > 1, "it was never stopped");
    assert.deepEqual(await outcome("parts"), await outcome("whole"));
    assert.equal(server.adapters.size, 0);
    assert.deepEqual(
      [...Deno.readDirSync(at("parts"))].filter(({ name }) => /^rollout/.test(name)),
      [],
    );
  }));
