/** A run with a judge: its metrics, what it cost in all, and a judge that is `rgx serve`. */
import assert from "node:assert/strict";
import { type Handler, withServer } from "../core/remote/testing.ts";
import { createRubric } from "../rewards/rubric.ts";
import { input } from "../rewards/testing.ts";
import { withServer as withRgxServer } from "../serve/testing.ts";
import {
  type ConfigChanges,
  metricsWithoutClock,
  shortRunConfig,
  trainOn,
  withReference,
} from "./testing.ts";

type Line = Record<string, number>;

const lines = async (folder: string, split: string) =>
  await metricsWithoutClock(folder, split) as Line[];

/** Rates by the length of the question, so that ratings differ. */
const judge: Handler = ({ body }) => {
  const rating = body.messages!.at(-1)!.content.length % 11;
  return Response.json({
    choices: [{ index: 0, message: { role: "assistant", content: `${rating}` } }],
    usage: { prompt_tokens: 1000, completion_tokens: 100 },
  });
};

Deno.test("a run with a judge counts what it costs, also over a resume", async () => {
  await withServer(judge, async (base_url, requests) => {
    await withReference(async (device, dir) => {
      const rubric = createRubric([
        { name: "judge", weight: 1, params: { base_url, cache: false, price_in: 1, price_out: 2 } },
      ]);
      const changes: ConfigChanges = {
        training: { save_steps: 1, eval_strategy: "steps", eval_steps: 2 },
        eval: { num_examples: 1 },
      };
      const config = shortRunConfig(`${dir}/run`, changes);
      await trainOn(device, { ...config, training: { ...config.training, max_steps: 1 } }, {
        rubric,
      });
      const first = (await lines(`${dir}/run`, "train"))[0]!;
      assert.ok(first["rewards/judge/requests"]! > 0);
      // (1000 × 1 + 100 × 2) / 1e6 for each request
      const price = 0.0012, close = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9);
      close(first["rewards/judge/cost"]!, price * first["rewards/judge/requests"]!);
      // With one request of the evaluation before, which is no step.
      close(first["rewards/judge/total_cost"]!, first["rewards/judge/cost"]! + price);
      assert.ok(first["rewards/judge/mean"]! > 0 && first["rewards/judge/total_seconds"]! > 0);

      const saved = JSON.parse(await Deno.readTextFile(`${dir}/run/checkpoint-1/rgx_state.json`));
      await trainOn(device, config, { rubric, resume: true });
      await rubric.close();
      const second = (await lines(`${dir}/run`, "train"))[1]!;
      const evaluation = (await lines(`${dir}/run`, "eval")).find((line) =>
        "eval_rewards/judge/requests" in line
      )!;
      // With what the evaluation after step 1 has cost, which is no step.
      const before = saved.totals.spent["rewards/judge/cost"];
      assert.ok(before > first["rewards/judge/cost"]!);
      close(second["rewards/judge/total_cost"]!, before + second["rewards/judge/cost"]!);
      assert.ok(evaluation["eval_rewards/judge/cost"]! > 0);
      assert.ok(requests.length >= first["rewards/judge/requests"]!);
    });
  });
});

Deno.test("rgx serve can be the judge; what it answers is read strictly", async () => {
  await withRgxServer(async ({ url }) => {
    const ask = async (more: Record<string, unknown>) => {
      const params = { base_url: url, cache: false, max_tokens: 8, temperature: 1, ...more };
      const rubric = createRubric([{ name: "judge", weight: 1, params }]);
      await rubric.open();
      const entry = { question: "1 + 1", answer: "2", metadata: {} };
      const scores = await rubric.score([input("2", { prompt: "1 + 1", answer: "2", entry })]);
      await rubric.close();
      return scores;
    };
    const failed = await ask({ prompt_template: "{completion}" });
    assert.match(failed.errors[0]!.message, /no score: .*expected a number alone|was cut off/s);
    assert.equal(failed.sums.get("rewards/judge/requests"), 1);
    assert.ok(failed.sums.get("rewards/judge/prompt_tokens")! > 0);
    const chosen = await ask({ prompt_template: "{completion}", invalid_value: -0.5 });
    assert.deepEqual(chosen.values, [[-0.5]]);
  });
});
