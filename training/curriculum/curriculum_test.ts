/**
 * Levels that change while training, several tasks with their metrics, and bit-exact resumes of
 * both.
 */
import assert from "node:assert/strict";
import type { CurriculumSection } from "../../configs/schema/run_config.ts";
import {
  type ConfigChanges,
  inSessions,
  metricsWithoutClock,
  rubricOf,
  tinyRunConfig,
  trainOn,
  warningsOf,
  weightsOf,
  withWasm,
} from "../testing.ts";
import { assemble } from "../assemble.ts";
import { GrpoTrainer } from "../trainer.ts";

function curriculum(changes: Partial<CurriculumSection> = {}): CurriculumSection {
  return {
    enabled: true,
    schedule: { automatic: false, update_steps: 1 },
    last_k: 4,
    success_threshold: 0.7,
    failure_threshold: 0.1,
    curricula: {},
    ...changes,
  };
}

/** No answer is ever right: the level falls to the lowest and stays there. */
const FALLING: Partial<CurriculumSection> = {
  curricula: { spell_backward: { attribute_levels: { "*": 2 }, weight: 1 } },
  failure_threshold: 0.6,
};

/** The level rises after every other step. */
const AUTOMATIC = curriculum({ schedule: { automatic: true, update_steps: 2 } });

const SPELLING: ConfigChanges = {
  data: { task_config: {} },
  sft: null,
  curriculum: AUTOMATIC,
  training: { max_steps: 6 },
};

const MIXED: ConfigChanges = {
  ...SPELLING,
  data: {
    task_name: null,
    task_config: {},
    tasks: [
      { task_name: "spell_backward", weight: 1, config: {} },
      { task_name: "chain_sum", weight: 1, config: {} },
    ],
    num_examples: 50,
  },
  eval: { num_examples: 8 },
  training: { max_steps: 6, eval_strategy: "steps", eval_steps: 3, num_generations_eval: 2 },
};

type Line = Record<string, unknown>;

const steps = (lines: Line[]) => lines.filter((line) => line["split"] === "train");
const LEVEL = "curriculum/spell_backward/word_len";

const wordLevels = (lines: Line[]) => steps(lines).map((line) => line[LEVEL]);

Deno.test("levels rise on schedule, are logged, and change the next problems", () =>
  withWasm(async (device, path) => {
    const questions: string[][] = [];
    const rubric = rubricOf(["none"], (samples) => {
      (questions[samples[0]!.step! - 1] ??= []).push(...samples.map(({ entry }) => entry.answer!));
      return samples.map(({ completionIds }) => [completionIds[0]! % 2]);
    });
    const { events } = await trainOn(device, tinyRunConfig(path, SPELLING), { rubric });
    const lines = await metricsWithoutClock(path);
    assert.deepEqual(wordLevels(lines), [0, 0, 1, 1, 2, 2]);
    const moves = lines.filter((line) => line["event"] === "curriculum");
    assert.deepEqual(moves.map(({ step, task, direction }) => [step, task, direction]), [
      [2, "spell_backward", "up"],
      [4, "spell_backward", "up"],
      [6, "spell_backward", "up"],
    ]);
    assert.deepEqual(moves[0]!["levels"], { word_len: 1 });
    assert.equal(events.filter(({ type }) => type === "curriculum").length, 3);
    const longest = questions.map((answers) => Math.max(...answers.map(({ length }) => length)));
    assert.ok(longest[0]! <= 5 && longest[4]! > 5, `lengths of words by step: ${longest}`);
  }));

Deno.test("levels depend on the scores of the task, not on the rewards", () =>
  withWasm(async (device, path) => {
    await trainOn(device, tinyRunConfig(path, { ...SPELLING, curriculum: curriculum(FALLING) }));
    const lines = await metricsWithoutClock(path);
    assert.deepEqual(wordLevels(lines), [2, 1, 0, 0, 0, 0]);
    const moves = lines.filter((line) => line["event"] === "curriculum");
    assert.ok(moves.every(({ direction, mean }) => direction === "down" && (mean as number) < 0.6));
  }));

Deno.test("max_prompt_length and the model's positions are limits for levels too", () =>
  withWasm(async (device, path) => {
    // The prompts of level 1 have at most 26 tokens, those of level 2 28; completions have 10.
    const said = async (name: string, changes: ConfigChanges) => {
      const config = tinyRunConfig(`${path}/${name}`, { ...SPELLING, ...changes });
      const { events } = await trainOn(device, config);
      const lines = await metricsWithoutClock(`${path}/${name}`);
      assert.deepEqual(wordLevels(lines), [0, 0, 1, 1, 1, 1], name);
      return warningsOf({ events });
    };
    const [limited] = await said("limit", { training: { max_steps: 6, max_prompt_length: 27 } });
    assert.match(limited!, /longest prompt has 28 tokens, max_prompt_length is 27/);
    const { init } = tinyRunConfig(path).model;
    const model = { init: { ...init!, max_position_embeddings: 37 } };
    const [positions] = await said("positions", { model });
    assert.match(positions!, /28 tokens, with 10 of the completion .* more than the model's 37/);
  }));

Deno.test("with several tasks each has its metrics in steps and evaluations", () =>
  withWasm(async (device, path) => {
    const { summary } = await trainOn(device, tinyRunConfig(path, MIXED));
    const lines = await metricsWithoutClock(path);
    for (const line of steps(lines)) {
      const counts = ["spell_backward", "chain_sum"].map((task) =>
        line[`tasks/${task}/completions`] as number | undefined ?? 0
      );
      assert.equal(counts[0]! + counts[1]!, 8);
      assert.equal(typeof line["curriculum/chain_sum/num_terms"], "number");
    }
    const held = lines.find((line) => line["split"] === "eval" && "eval_loss" in line)!;
    assert.equal(typeof held["eval_tasks/chain_sum/accuracy"], "number");
    const { tasks } = summary.eval_before!;
    assert.equal(tasks!["spell_backward"]!.total + tasks!["chain_sum"]!.total, 8);
    assert.ok(lines.some((line) => "eval_greedy_tasks/chain_sum/accuracy" in line));
  }));

Deno.test("a run that is stopped repeatedly has the same levels, metrics and weights", () =>
  withWasm(async (device, path) => {
    const falling = { ...MIXED, curriculum: curriculum({ ...FALLING, last_k: 5 }) };
    const through = tinyRunConfig(`${path}/through`, falling);
    await trainOn(device, through);
    const pieces = tinyRunConfig(`${path}/pieces`, falling);
    const sessions = await inSessions(
      (session) => 370 + 301 * (session % 5),
      (options) => trainOn(device, pieces, options),
    );
    assert.ok(sessions > 2);
    const all = (await metricsWithoutClock(`${path}/pieces`)).filter((l) => l["event"] !== "stop");
    const expected = await metricsWithoutClock(`${path}/through`);
    assert.deepEqual(all, expected);
    assert.ok(expected.some((line) => line["event"] === "curriculum"), "no level moved");
    assert.deepEqual(await weightsOf(`${path}/pieces`), await weightsOf(`${path}/through`));
  }));

Deno.test("task weights that a program changes while training are in the checkpoint", () =>
  withWasm(async (device, path) => {
    const config = tinyRunConfig(path, { ...MIXED, curriculum: null });
    const stop = { stopRequested: () => step >= 3 ? "save" as const : "no" as const };
    let step = 0;
    const session = async (resume: boolean) => {
      const parts = await assemble(config, device);
      const { mix } = parts.problems.source;
      try {
        await new GrpoTrainer({
          config,
          configText: JSON.stringify(config),
          device,
          ...parts,
          resume,
          ...(resume ? {} : { control: stop }),
          listeners: [(event) => {
            if (event.type !== "step") return;
            step = event.step;
            if (step === 2) mix!.updateWeight("chain_sum", 0);
          }],
        }).run();
        return mix!.parts.map(({ weight }) => weight);
      } finally {
        parts.model.dispose();
      }
    };
    assert.deepEqual(await session(false), [1, 0]);
    assert.deepEqual(await session(true), [1, 0]);
    for (const line of steps(await metricsWithoutClock(path)).slice(2)) {
      assert.equal(line["tasks/chain_sum/completions"], undefined);
    }
  }));
