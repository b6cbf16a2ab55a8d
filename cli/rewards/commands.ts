/** Flags and help of `rgx rewards`. */
import type { Command } from "commander";
import { collect, examples } from "../flag_types.ts";

export function rewardCommands(program: Command, setExit: (code: number) => void): void {
  const rewards = program.command("rewards")
    .description("list and describe the built-in rewards, and test one's own")
    .addHelpText(
      "after",
      examples("rgx rewards list", "rgx rewards show cosine_scaled", "rgx rewards test mine.ts"),
    );
  rewards.command("list")
    .description("all built-in rewards: name, one line")
    .option("--json", "one JSON document")
    .addHelpText("after", examples("rgx rewards list", "rgx rewards list --json"))
    .action(async (options) => (await import("./rewards.ts")).listRewards(options));
  rewards.command("show")
    .description("parameters, defaults and other names of one reward")
    .argument("<name>", "name of a reward")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples("rgx rewards show cosine_scaled", "rgx rewards show correctness --json"),
    )
    .action(async (name, options) => (await import("./rewards.ts")).showReward(name, options));
  rewards.command("test")
    .description("hold a reward against cases: completions with expected values")
    .argument("<reward>", "a file with a reward, or the name of a built-in one")
    .argument("[cases]", "JSONL file of cases; default: NAME_cases.jsonl beside NAME.ts")
    .option("--set <k=v>", "a parameter of the reward (repeatable)", collect, [])
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples(
        "rgx rewards test few_vowels.ts",
        "rgx rewards test cosine_scaled cases.jsonl --set max_len=256",
      ) +
        '\n\nA case is a line such as {"completion": "…", "answer": "4", "expected": 1}.\n' +
        "Other fields are those that a reward gets: prompt, messages, question, info,\n" +
        "completionIds, truncated, step, maxCompletionLength. Exit code 1 if a case\n" +
        "fails.",
    )
    .action(async (reward, cases, options) =>
      setExit(await (await import("./test_reward.ts")).testReward(reward, cases, options))
    );
}
