/** Flags and help of `rgx init`. */
import type { Command } from "commander";
import { examples } from "../flag_types.ts";

export function initCommand(program: Command): void {
  program.command("init")
    .description("make a project that runs at once: configuration, reward, job script")
    .argument("[folder]", "where; it is made if it is not there", ".")
    .option("--task <name>", "problems of a task, or of a task file such as ./digit_sum.ts")
    .option("--data <path>", "problems of your own: a JSONL or parquet file, or a folder of them")
    .option("--reward <name>", "name of the reward's file", "short_answer")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples(
        "rgx init my_project",
        "rgx init sums --task chain_sum",
        "rgx init digits --task ./digit_sum.ts",
        "rgx init mine --data problems.jsonl --reward politeness",
      ),
    )
    .action(async (folder, options) => (await import("./init.ts")).init(folder, options));
}
