import assert from "node:assert/strict";
import { IntervalStrategy } from "./interval_strategy.ts";
import { tinyRunConfig } from "../testing.ts";

type Training = ReturnType<typeof tinyRunConfig>["training"];
const make = (changes: Partial<Training>, total = 10, perEpoch = 4) =>
  new IntervalStrategy({ ...tinyRunConfig("").training, ...changes }, total, perEpoch);
const steps = (when: (step: number) => boolean, total = 10) =>
  Array.from({ length: total + 1 }, (_, step) => step).filter(when).join(" ");

Deno.test("logging: by steps, shares of all steps or epochs, first and last step, never", () => {
  const log = (changes: Partial<Training>) => {
    const intervals = make(changes);
    return steps((step) => step > 0 && intervals.logsAt(step));
  };
  assert.equal(log({ logging_steps: 4 }), "4 8 10");
  assert.equal(log({ logging_steps: 4, logging_first_step: true }), "1 4 8 10");
  assert.equal(log({ logging_steps: 0.25 }), "3 6 9 10");
  assert.equal(log({ logging_strategy: "epoch", logging_steps: 3 }), "4 8 10");
  assert.equal(log({ logging_strategy: "no" }), "");
});

Deno.test("evaluating: after a delay, on start, by steps or epochs, at the end", () => {
  const evaluate = (changes: Partial<Training>) => {
    const intervals = make({ logging_steps: 5, ...changes });
    return steps((step) => intervals.evaluatesAt(step));
  };
  assert.equal(evaluate({}), "");
  assert.equal(evaluate({ eval_on_start: true }), "0");
  assert.equal(evaluate({ eval_strategy: "steps" }), "5 10");
  assert.equal(
    evaluate({ eval_strategy: "steps", eval_steps: 3, eval_on_start: true }),
    "0 3 6 9 10",
  );
  assert.equal(evaluate({ eval_strategy: "steps", eval_steps: 0.2, eval_delay: 5 }), "6 8 10");
  assert.equal(evaluate({ eval_strategy: "epoch" }), "4 8 10");
  assert.equal(evaluate({ eval_strategy: "epoch", eval_delay: 2 }), "8 10");
});

Deno.test("saving: by steps or epochs and at the end, the best only, never", () => {
  const save = (changes: Partial<Training>, best: number[] = []) => {
    const intervals = make(changes);
    return steps((step) => intervals.savesAt(step, best.includes(step)));
  };
  assert.equal(save({ save_steps: 4 }), "4 8 10");
  assert.equal(save({ save_steps: 0.5 }), "5 10");
  assert.equal(save({ save_strategy: "epoch" }), "4 8 10");
  assert.equal(save({ save_strategy: "no" }, [3]), "");
  assert.equal(save({ save_strategy: "best" }, [3, 7]), "3 7");
  assert.equal(save({ save_steps: 4, load_best_model_at_end: true }, [0, 3]), "3 4 8 10");
});
