/** The lines of metrics of a run: which columns they have, and that they fit 80 columns. */
import assert from "node:assert/strict";
import { shortRunConfig } from "../../training/testing.ts";
import { MetricLines, readChosenMetrics, shortNames } from "./metric_lines.ts";

const GSM8K = [
  "match_format_exactly",
  "match_format_approximately",
  "check_answer_correctness",
  "check_numbers_extraction",
];

function linesOf(rewards: readonly string[], log: string | undefined, warnings: string[] = []) {
  const config = shortRunConfig("run", {
    training: { beta: 0.1 },
    rewards: rewards.map((name) => ({ name, weight: 1, params: {}, timeout: 5 })),
  });
  const chosen = log === undefined ? null : readChosenMetrics(log);
  const lines = new MetricLines(config, "grpo", chosen, (message) => warnings.push(message));
  const parts = rewards.map((name, i) => [`rewards/${name}/mean`, i / 10]);
  return lines.lines(20, 1000, {
    reward: 0.25,
    "completions/mean_length": 12.34,
    entropy: 0.5,
    kl: 0.0123,
    "completions/clipped_ratio": 0.031,
    ...Object.fromEntries(parts),
  }, "1 h 2 min");
}

Deno.test("a line has the reward with its parts, length, entropy, KL and the cut-off share", () => {
  assert.deepEqual(linesOf(["correctness", "format_answer"], undefined), [
    "       step  reward  correctness  format  length  entropy     KL  cut off   left",
    "    20/1000   0.250        0.000   0.100    12.3    0.500  0.012      3 %  1 h 2 min",
  ]);
  const [heading, row] = linesOf(GSM8K, undefined);
  assert.ok(heading!.length <= 80, heading);
  assert.match(heading!, /reward {2}exact {2}appro {2}answe {2}numbe {2}length/);
  assert.match(row!, /0\.250 +0\.000 +0\.100/);
});

Deno.test("names of rewards are shortened to the words that distinguish them", () => {
  assert.deepEqual(shortNames(GSM8K), ["exactly", "approximately", "answer", "numbers"]);
  assert.deepEqual(shortNames(["correctness"]), ["correctness"]);
  assert.deepEqual(shortNames(["a_b", "b_a"]), ["a_b", "b_a"]);
});

Deno.test("--log-metrics chooses metrics, and says which the run does not have", () => {
  const warnings: string[] = [];
  assert.deepEqual(linesOf(["correctness"], "kl, reward,speed", warnings), [
    "       step     kl  reward  speed",
    "    20/1000  0.0123    0.25      –",
  ]);
  assert.match(warnings.join(), /no speed; they have completions\/clipped_ratio, .*reward/);
  assert.match(linesOf(["correctness"], "all")[0]!, /'kl': 0\.0123.*'entropy': 0\.5|'entropy'/);
  assert.throws(() => readChosenMetrics(" ,"), /no metric is named/);
});
