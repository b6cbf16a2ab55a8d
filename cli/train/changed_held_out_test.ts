/**
 * When a run is resumed with other held-out problems, nothing is claimed about problems that an
 * earlier session may have trained on.
 */
import assert from "node:assert/strict";
import { summaryTable } from "./train_text.ts";
import {
  type ConfigChanges,
  shortRunConfig,
  trainOn,
  withReference,
} from "../../training/testing.ts";

Deno.test("a run that is resumed with other held-out problems claims nothing about them", () =>
  withReference(async (device, dir) => {
    const session = async (steps: number, changes: ConfigChanges, evaluation = {}) => {
      const config = shortRunConfig(`${dir}/run`, {
        sft: null,
        ...changes,
        eval: { num_examples: 3, ...evaluation },
        training: { ...changes.training, max_steps: steps },
      });
      const { summary, events } = await trainOn(device, config, { resume: steps > 1 });
      const warnings = events.flatMap((event) => event.type === "warning" ? [event.message] : []);
      const lines = summaryTable(summary, config, { phases: "all", resumedFrom: null }).join("\n");
      return { summary, lines, warnings: warnings.join("\n") };
    };
    const first = await session(1, {});
    assert.equal(first.summary.item_overlap, 0);
    assert.match(first.lines, /points on 3 held-out.*\nNo held-out problem was trained on/);

    const same = await session(2, {});
    assert.deepEqual(same.summary.eval_before, first.summary.eval_before);
    assert.doesNotMatch(same.warnings, /held-out/);

    const hotter = await session(3, {}, { temperature: 0.5 });
    assert.equal(hotter.summary.eval_before, null);
    assert.equal(hotter.summary.item_overlap, 0);
    assert.match(hotter.warnings, /was at temperature 1, and is 0\.5 now: it is not compared/);
    assert.match(hotter.lines, /^No held-out problem was trained on/m);

    for (const [steps, evaluation] of [[4, { num_examples: 5 }], [5, {}], [6, {}]] as const) {
      const { summary, lines, warnings } = await session(steps, {}, evaluation);
      assert.equal(summary.eval_after!.total, steps === 4 ? 5 : 3);
      assert.equal(summary.item_overlap, null, "it stays unknown");
      assert.equal(/held-out problems are others than before/.test(warnings), steps < 6);
      assert.match(lines, /^Whether held-out problems were trained on is not known/m);
    }
    const run = JSON.parse(await Deno.readTextFile(`${dir}/run/run.json`));
    assert.equal(run.item_overlap, null);
  }));

Deno.test("accuracies on different held-out problems are not compared", () =>
  withReference(async (device, dir) => {
    const session = async (steps: number, num_examples: number) =>
      (await trainOn(
        device,
        shortRunConfig(`${dir}/run`, {
          sft: null,
          eval: { num_examples },
          training: { max_steps: steps },
        }),
        { resume: steps > 1 },
      )).summary;
    const first = await session(1, 3), without = await session(2, 0);
    assert.deepEqual([without.eval_before, without.eval_after], [first.eval_before, null]);
    const again = await session(3, 3);
    assert.equal(again.eval_before, null);
    assert.equal(again.item_overlap, null);
  }));
