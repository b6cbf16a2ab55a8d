/** Flags and help of `rgx rewards`. */
import type { Command } from "commander";
import { examples } from "../flag_types.ts";

export function rewardCommands(program: Command): void {
  const rewards = program.command("rewards")
    .description("list and describe the built-in rewards")
    .addHelpText("after", examples("rgx rewards list", "rgx rewards show cosine_scaled"));
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
}
