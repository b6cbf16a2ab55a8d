/** The report in the terminal: it is never wider than the terminal, and has no empty columns. */
import assert from "node:assert/strict";
import { averages } from "../../bench/results/summarize.ts";
import { allTasksFile } from "../../bench/results/testing.ts";
import type { AllTasksResultFile, PairedComparison } from "../../bench/results/result_file.ts";
import { csvTable, textReport } from "./bench_table.ts";

const TRAINED = "experiments/leg_counting_qwen7b/checkpoint-450", BASE = "Qwen/Qwen2.5-7B-Instruct";

/** The results of these numbers of right answers, with their averages. */
function measured(right: Parameters<typeof allTasksFile>[0]): AllTasksResultFile {
  const file = allTasksFile(right);
  file.average = averages(file.tasks);
  return file;
}

/** Of 50 problems, each model answers some that the other does not. */
const comparison = (task: string, first: string, second: string): PairedComparison => {
  const counts = { n: 50, only_first: 1, only_second: 11 };
  return { task, first, second, ...counts, difference: 0.2, ci95: [0.05, 0.3], p_value: 0.006 };
};

function result(samples: boolean): AllTasksResultFile {
  const file = measured({
    gsm_symbolic: { [TRAINED]: 40, [BASE]: 30 },
    letter_counting: { [TRAINED]: 10, [BASE]: 20 },
  });
  for (const task of Object.values(file.tasks)) {
    task.comparisons = [comparison(task.task, BASE, TRAINED)];
    for (const model of Object.values(task.models)) {
      if (samples) {
        const pass_at = { 1: 0.5, 2: 0.6, 4: 0.7, 8: 0.8 };
        model.samples = { k: 8, problems: 50, pass_at, avg_at_k: 0.5, majority_at_k: 0.6 };
      }
    }
  }
  return file;
}

Deno.test("a narrow terminal gets the same report as a wide one, in parts", () => {
  const file = result(true), narrow = textReport(file, 75), wide = textReport(file, 200);
  assert.ok(narrow.split("\n").every((line) => line.length <= 75), narrow);
  assert.match(wide, /^task +n +leg_counting_qwen7b\/checkpoint-450 +Qwen2\.5-7B-Instruct$/m);
  assert.match(narrow, /^gsm_symbolic +50 +leg_counting_qwen7b\/checkpoint-450 +80\.0 ± /m);
  assert.match(narrow, /^leg_counting_qwen7b\/checkpoint-450 − Qwen2\.5-7B-Instruct$/m);
  const words = (text: string) => new Set(text.split(/\s{2,}|\n/).filter((word) => word !== ""));
  const missing = [...words(wide)].filter((word) => !words(narrow).has(word));
  assert.deepEqual(
    missing.filter((line) => !line.startsWith("p: ")),
    ["models"],
    "the head of what has become headings",
  );
  assert.match(narrow, /p: a sign-flip test on the same problems, with Holm/);
});

Deno.test("several samples: the number of problems; all numbers are in the CSV", () => {
  const file = result(true), heads = (pattern: RegExp) => pattern.test(textReport(file, 200));
  assert.ok(heads(/^task +model +pass@1 .* maj@8$/m));
  file.tasks["gsm_symbolic"]!.models[BASE]!.samples!.problems = 7;
  assert.ok(heads(/^task +model +n +pass@1 .* maj@8\n.* 50 +50\.0 .*\n.* 7 +50\.0 /m));
  const [header, first] = csvTable(file).split("\n").map((line) => line.split(","));
  assert.equal(
    header!.slice(-6).join(),
    "pass_at_1,pass_at_2,pass_at_4,pass_at_8,avg_at_k,majority_at_k",
  );
  assert.equal(first!.slice(-6).join(), "0.5,0.6,0.7,0.8,0.5,0.6");
  assert.doesNotMatch(csvTable(result(false)), /pass_at/);
});

Deno.test("letters of two columns count as two", () => {
  const name = "模型".repeat(10), file = measured({ gcd: { [name]: 40, [`${name}二`]: 30 } });
  const narrow = textReport(file, 80);
  assert.match(narrow, /^task +n +model +accuracy$/m, "two names side by side take more than 80");
});

Deno.test("empty columns are left out", () => {
  const file = result(false), [one] = Object.values(file.tasks);
  assert.doesNotMatch(textReport(file, 200), /trained on|unanswered|too long|pass@/);
  one!.models[TRAINED]!.overlap = 0;
  one!.models[BASE]!.errors = 3;
  const report = textReport(file, 200);
  assert.match(report, /trained on +unanswered\n/);
  assert.match(report, /12\.0 +0 +0\n.* 12\.0 +– +3\n/);
});

Deno.test("a model that answered fewer problems than others shows how many", () => {
  const file = measured({ gcd: { all: 40, few: 4 } });
  Object.assign(file.tasks["gcd"]!.models["few"]!, { total: 7, too_long: 43 });
  assert.match(textReport(file, 200), /^gcd +50 +80\.0 ± [\d.]+ +8\.0 ± [\d.]+ \(n 7\)$/m);
});

Deno.test("models with the same last name get longer names everywhere", () => {
  const file = measured({ gcd: { "a/model": 40, "b/model": 30 } });
  file.tasks["gcd"]!.comparisons = [comparison("gcd", "a/model", "b/model")];
  const problems = [0, 1, 2, 3, 4, 5, 6];
  file.failures = [
    { model: "b/model", task: "lcm", error: "out of memory" },
    { model: "a/model", task: "gcd", error: "500: always", problems },
  ];
  const report = textReport(file, 200);
  assert.match(report, /^gcd +b\/model − a\/model /m);
  assert.match(report, /^failed: b\/model on lcm/m);
  const some = "problems 0, 1, 2, 3, 4 and 2 more: 500: always";
  assert.ok(report.includes(`\nno answer: a/model on gcd, ${some}\n`), report);
});

Deno.test("a lopsided interval is shown by its longer side", () => {
  const file = measured({ gsm_symbolic: { [TRAINED]: 0, [BASE]: 25 } });
  const { models } = file.tasks["gsm_symbolic"]!;
  const [none, half] = [models[TRAINED]!, models[BASE]!].map(({ accuracy, ci95 }) => {
    const far = Math.max(accuracy - ci95[0], ci95[1] - accuracy);
    return `${(100 * accuracy).toFixed(1)} ± ${(100 * far).toFixed(1)}`;
  });
  assert.ok(none!.endsWith((100 * models[TRAINED]!.ci95[1]).toFixed(1)), none);
  assert.match(textReport(file, 200), new RegExp(`^gsm_symbolic +50 +${none} +${half}$`, "m"));
});

Deno.test("an average over fewer tasks shows over how many", () => {
  const file = measured({ gcd: { all: 40, few: 30 }, lcm: { all: 10 } });
  assert.match(textReport(file, 200), /^average +50\.0 ± [\d.]+ +60\.0 ± [\d.]+ \(1 task\)$/m);
});
