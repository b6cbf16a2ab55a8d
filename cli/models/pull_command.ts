/** Flags and help of `rgx pull`. */
import type { Command } from "commander";
import { collect, examples, integer } from "../flag_types.ts";

export function pullCommand(program: Command): void {
  program.command("pull")
    .description("a model or data set from the Hugging Face Hub into the local cache")
    .argument("<repository>", "ORG/NAME, with @REVISION (branch, tag or commit) or without")
    .argument("[files...]", "only these files, by name or pattern")
    .option("--dataset", "a data set, not a model")
    .option("--revision <name>", "branch, tag or commit; as @REVISION")
    .option(
      "--include <pattern>",
      "only files that match, such as '*.gguf' (repeatable)",
      collect,
      [],
    )
    .option("--exclude <pattern>", "not the files that match (repeatable)", collect, [])
    .option("--max-workers <n>", "downloads at once", integer(1, 64), 4)
    .option("--verify", "check the files that are there already, and fetch damaged ones again")
    .option("--dry-run", "only say which files would be fetched, and how large they are")
    .option("--json", "one JSON document: commit, path, files, bytes")
    .option("--quiet", "warnings and errors only")
    .option("--verbose", "more detail, and stacks of errors")
    .addHelpText(
      "after",
      examples(
        "rgx pull HuggingFaceTB/SmolLM2-135M-Instruct",
        "rgx pull org/name-GGUF model.Q4_0.gguf",
        "rgx pull --dataset openai/gsm8k --include 'main/*'",
      ) +
        "\n\nOf a model: configuration, tokenizer and safetensors; of a data set: parquet and\n" +
        "JSON Lines; other files when they are named. The cache is huggingface_hub's:\n" +
        "HF_HUB_CACHE or HF_HOME say where it is, HF_TOKEN or the file of `hf auth login`\n" +
        "opens gated models, HF_ENDPOINT names a mirror, HF_HUB_OFFLINE=1 forbids\n" +
        "connections. What was cut goes on where it was. The folder that is printed need\n" +
        "not be remembered: commands find ORG/NAME in the cache.",
    )
    .action(async (repository, files, options) => {
      await (await import("./pull.ts")).pullRepository(repository, files, options);
    });
}
