/**
 * The GSM8K recipe as a program: its configuration and its four rewards, with a custom reward, a
 * selection of problems, and a report at the end. Without changes, the recipe is one line:
 * `await train({ config: "gsm8k" })`. Qwen2.5-3B-Instruct in 4 bits needs a graphics card;
 * SmolLM2-135M-Instruct runs anywhere.
 *
 *     rgx pull --dataset openai/gsm8k && rgx pull HuggingFaceTB/SmolLM2-135M-Instruct
 *     deno run -A examples/gsm8k.ts HuggingFaceTB/SmolLM2-135M-Instruct
 *
 * A second argument is another copy of the data: a folder with train and test, or a file.
 */
import {
  type ConfigOverrides,
  readEntries,
  type RewardInput,
  type SampleReward,
  SingleTurnEnv,
  train,
  type TrainSummary,
  writeReport,
} from "@rgx/rgx";

/** A reward as a class: the share of calculations in the completion that are right. */
class RightSums implements SampleReward {
  readonly name = "right_sums";
  readonly description = "share of the equations a + b = c, a − b = c, a × b = c that hold";
  readonly params = {};

  compute({ completion, log }: RewardInput): number | null {
    const sums = [...completion.matchAll(/(\d+) *([-+*×]) *(\d+) *= *(\d+)/g)];
    log("sums", sums.length);
    // Null: the reward does not apply to a completion without calculations.
    if (sums.length === 0) return null;
    const isRight = ([, a, sign, b, c]: RegExpExecArray) =>
      (sign === "+" ? +a! + +b! : sign === "-" ? +a! - +b! : +a! * +b!) === +c!;
    return sums.filter(isRight).length / sums.length;
  }
}

export async function run(
  model: string,
  overrides: ConfigOverrides = {},
  data = "openai/gsm8k",
): Promise<TrainSummary> {
  // Any iterable of { question, answer, metadata } is a data set. Here it is the shorter problems.
  const problems = await readEntries(data, "train", "gsm8k");
  const env = new SingleTurnEnv({
    name: "short_gsm8k",
    dataset: problems.filter(({ question }) => question.length < 200),
    rewards: [
      "match_format_exactly",
      "match_format_approximately",
      "check_answer_correctness",
      "check_numbers_extraction",
      { reward: new RightSums(), weight: 0.5 },
    ],
    systemPrompt: "gsm8k",
  });
  const summary = await train({
    config: {
      _base_: "rgx:experiments/gsm8k",
      model: { model_name_or_path: model },
      training: { max_steps: 100, learning_rate: 1e-5, output_dir: "gsm8k_outputs" },
    },
    overrides,
    env,
    on: {
      log: ({ step, metrics }) => console.log(`step ${step}: reward ${metrics["reward"]}`),
      advice: ({ advice: { text, tries } }) => console.log([text, ...tries].join("\n  ")),
    },
  });
  const { markdown } = await writeReport(summary.output_dir);
  console.log(`accuracy ${summary.eval_before?.accuracy} → ${summary.eval_after?.accuracy}`);
  console.log(`report: ${markdown}`);
  return summary;
}

if (import.meta.main) await run(Deno.args[0] ?? "Qwen/Qwen2.5-3B-Instruct", {}, Deno.args[1]);
