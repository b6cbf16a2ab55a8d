/**
 * A custom task with a custom reward: sort the letters of a word, in as few tokens as possible. A
 * small model is made from a seed, trained on worked answers and then with GRPO. This takes about
 * two minutes on a laptop.
 *
 *     deno run -A examples/custom_task.ts
 */
import {
  type ConfigOverrides,
  type RewardInput,
  type SampleReward,
  SingleTurnEnv,
  train,
} from "@rgx/rgx";

/** Entries are plain objects. Rewards get their `metadata` as `info`. */
function* sortingProblems(count: number) {
  for (let i = 0; i < count; i++) {
    // A number in base 7 gives a word of the letters a to g. The large odd factor makes the words
    // differ.
    const length = 3 + i % 4, number = (i * 2654435761) % 7 ** length;
    const letters = Array.from(
      number.toString(7).padStart(length, "0"),
      (d) => "abcdefg"[Number(d)]!,
    );
    yield {
      question: `Sort the letters: ${letters.join("")}`,
      answer: letters.sort().join(""),
      metadata: { length },
    };
  }
}

/** A reward may be a function or, as here, a class. */
class LettersKept implements SampleReward {
  readonly name = "letters_kept";
  readonly description = "share of the word's letters that the answer has, each as often";
  readonly params = {};

  compute({ completion, answer, logExtra }: RewardInput): number {
    const given = /<answer>(.*?)<\/answer>/.exec(completion)?.[1] ?? "";
    const left = [...given];
    const kept = [...answer!].filter((letter) => {
      const at = left.indexOf(letter);
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
    logExtra("given", given);
    return kept.length / Math.max(answer!.length, given.length);
  }
}

export async function run(overrides: ConfigOverrides = {}): Promise<void> {
  const env = new SingleTurnEnv({
    name: "letter_sorting",
    dataset: sortingProblems(3000),
    rewards: ["correctness", { reward: new LettersKept(), weight: 0.5 }],
  });
  const summary = await train({
    config: "quickstart",
    overrides: {
      ...overrides,
      training: { output_dir: "letter_sorting", max_steps: 100, ...overrides.training },
      eval: { num_examples: 100, ...overrides.eval },
    },
    env,
    force: true,
    on: {
      log: ({ step, metrics }) => console.log(`step ${step}: reward ${metrics["reward"]}`),
      advice: ({ advice: { text, tries } }) => console.log([text, ...tries].join("\n  ")),
    },
  });
  const { eval_before: before, eval_after: after } = summary;
  console.log(
    `accuracy ${before?.accuracy} → ${after?.accuracy}; the model: ${summary.output_dir}`,
  );
}

if (import.meta.main) await run();
