/** Tests curriculum levels and the coach, also against recorded traces of reasoning-gym. */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { CurriculumCoach } from "./coach.ts";
import { CurriculumLevels } from "./levels.ts";
import { getTask, hasTask } from "../registry.ts";
import { readGoldenJson } from "../../tests/golden.ts";
import type { ParamValue } from "../../core/named_params.ts";

const RULE = {
  automatic: false,
  update_steps: 30,
  last_k: 4,
  success_threshold: 0.7,
  failure_threshold: 0.1,
};

const levelsOf = (task = "chain_sum", start = {}) => new CurriculumLevels(getTask(task), start);

Deno.test("the global level raises all to one above the highest, lowers the highest", () => {
  const levels = levelsOf("chain_sum", { num_terms: 2 });
  assert.equal(levels.incrementGlobal(), true);
  assert.deepEqual(levels.levels, { num_terms: 3, num_digits: 3 });
  levels.set("num_digits", 1);
  assert.equal(levels.decrementGlobal(), true);
  assert.deepEqual(levels.levels, { num_terms: 2, num_digits: 1 });
  assert.equal(levelsOf("chain_sum", { "*": 99 }).incrementGlobal(), false);
  assert.equal(levelsOf().decrementGlobal(), false);
  assert.throws(() => levels.set("num_digits", 99), UsageError);
});

interface Trace {
  levels: Record<string, number>;
  incremented: boolean;
}

Deno.test("raising the global level follows the recorded traces", () => {
  const golden = readGoldenJson<Record<string, { increment_trace: Trace[] }>>(
    "reasoning-gym/core/curricula.json",
  );
  let compared = 0;
  for (const [name, { increment_trace: trace }] of Object.entries(golden)) {
    if (!hasTask(name)) continue;
    const levels = levelsOf(name);
    for (const { levels: expected, incremented } of trace) {
      assert.deepEqual(levels.levels, expected, name);
      assert.equal(levels.incrementGlobal(), incremented, name);
      compared++;
    }
  }
  assert.ok(compared > 30);
});

Deno.test("a coach raises at high means, lowers at low ones, restarts after a change", () => {
  const coach = new CurriculumCoach([levelsOf()], RULE);
  const scores = (...list: number[]) => list.forEach((score) => coach.record("chain_sum", score));
  scores(1, 1, 1);
  assert.deepEqual(coach.endStep(1), []);
  scores(1);
  const [up] = coach.endStep(2);
  assert.deepEqual([up!.direction, up!.mean, up!.levels["num_terms"]], ["up", 1, 1]);
  assert.deepEqual(coach.endStep(3), []);
  scores(0.5, 0.7, 0.8, 0.8);
  assert.deepEqual(coach.endStep(4), [], "0.7 is not above 0.7");
  scores(0, 0, 0, 0.2);
  assert.equal(coach.endStep(5)[0]!.direction, "down");
  scores(0, 0, 0, 0);
  assert.deepEqual(coach.endStep(6), [], "there is nothing below level 0");
});

Deno.test("an automatic coach raises at fixed steps; a refused level is taken back", () => {
  const coach = new CurriculumCoach([levelsOf()], { ...RULE, automatic: true, update_steps: 3 });
  assert.deepEqual([1, 2, 3, 4, 5, 6].map((step) => coach.endStep(step).length), [
    0,
    0,
    1,
    0,
    0,
    1,
  ]);
  assert.equal(coach.of("chain_sum")!.highest, 2);
  assert.deepEqual(coach.endStep(9, () => false), []);
  assert.equal(coach.of("chain_sum")!.highest, 2);
});

Deno.test("a coach resumes from its state; crossed thresholds are refused", () => {
  const coach = new CurriculumCoach([levelsOf()], RULE),
    other = new CurriculumCoach([levelsOf()], RULE);
  for (let step = 1; step <= 5; step++) {
    coach.record("chain_sum", 1);
    coach.record("chain_sum", 0.9);
    coach.record("something else", 0);
    coach.endStep(step);
  }
  other.restore(JSON.parse(JSON.stringify(coach.state)));
  assert.deepEqual(other.state, coach.state);
  assert.deepEqual(other.levels, coach.levels);
  assert.throws(
    () => new CurriculumCoach([levelsOf()], { ...RULE, failure_threshold: 0.8 }),
    /failure_threshold \(0.8\) is above success_threshold \(0.7\)/,
  );
});

interface Experiment {
  chain_sum_config_after_increment: Record<string, ParamValue>;
}

Deno.test("levels change together as in the recorded experiment", () => {
  const { experiment } = readGoldenJson<{ experiment: Experiment }>(
    "reasoning-gym/core/composite_experiment.json",
  );
  const levels = levelsOf();
  levels.incrementGlobal();
  const { seed: _seed, size: _size, ...config } = experiment.chain_sum_config_after_increment;
  assert.deepEqual(levels.config(), config);
});
