/** Flags and help of `rgx tasks`. */
import { type Command, Option } from "commander";
import { PROMPT_ROLES } from "../../data/prompt_roles.ts";
import { collect, examples, integer } from "../flag_types.ts";

export function taskCommands(program: Command): void {
  exportCommand(tasksCommands(program));
}

function tasksCommands(program: Command): Command {
  const tasks = program.command("tasks")
    .description("list, describe, sample and export reasoning tasks")
    .addHelpText("after", examples("rgx tasks list", "rgx tasks show chain_sum"));
  tasks.command("list")
    .description("all tasks: name, category, one line, curriculum")
    .option("--category <name>", "only this category")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples("rgx tasks list", "rgx tasks list --category logic", "rgx tasks list --json"),
    )
    .action(async (options) => (await import("./tasks.ts")).listTasks(options));
  tasks.command("show")
    .description("parameters, curriculum, scoring rule and a sample of one task")
    .argument("<name>", "task name, or a task file (docs/adding-a-task.md)")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples("rgx tasks show spell_backward", "rgx tasks show mini_sudoku --json"),
    )
    .action(async (name, options) => (await import("./tasks.ts")).showTask(name, options));
  tasks.command("sample")
    .description("entries of a task as JSONL: question, answer, metadata")
    .argument("<name>", "task name, or a task file")
    .option("--size <n>", "how many", integer(0), 5)
    .option("--seed <n>", "seed of the data set", integer(0), 42)
    .option("--offset <i>", "index of the first entry", integer(0), 0)
    .option("--split <name>", "train, validation or test", "train")
    .option("--set <k=v>", "a parameter of the task (repeatable)", collect, [])
    .option("--level <n>", "curriculum level of every attribute", integer(0))
    .option("--set-level <attr=n>", "curriculum level of one attribute (repeatable)", collect, [])
    .addHelpText(
      "after",
      examples(
        "rgx tasks sample leg_counting --size 3 --seed 7",
        "rgx tasks sample chain_sum --set min_terms=2 --set max_terms=2",
        "rgx tasks sample spell_backward --level 2 --split test",
      ),
    )
    .action(async (name, options) => (await import("./tasks.ts")).sampleTask(name, options));
  return tasks;
}

function exportCommand(tasks: Command): void {
  tasks.command("export")
    .description("data sets of tasks as files, in the rows that other trainers read")
    .argument("<names...>", "task names, or task files")
    .requiredOption("--output <file>", "….jsonl or ….parquet; {split} in it: a file for each split")
    .option("--splits <sizes>", "entries of each task: train=N,validation=N,test=N", "train=500")
    .option("--format <name>", "raw, chat, verl or trl", "raw")
    .option("--seed <n>", "seed of the data sets", integer(0), 42)
    .option("--set <k=v>", "a parameter (repeatable); of several tasks: NAME.k=v", collect, [])
    .option("--level <n>", "curriculum level of every attribute", integer(0))
    .option("--set-level <attr=n>", "level of one attribute (repeatable)", collect, [])
    .option("--system <text>", "system message, or the name of a built-in one (not raw)")
    .addOption(
      new Option("--system-role <role>", "role of the system message")
        .choices(PROMPT_ROLES).default("system"),
    )
    .option("--no-instructions", "leave the answer-format instruction out (not raw)")
    .addHelpText(
      "after",
      examples(
        "rgx tasks export chain_sum --output sums.jsonl --splits train=1000,test=100",
        "rgx tasks export leg_counting word_ladder --format verl --output '{split}.parquet' \\\n" +
          "      --splits train=5000,test=200",
      ) +
        "\n\nA question of test or validation is not asked in train, where a task has enough\n" +
        "of them.",
    )
    .action(async (names, options) => {
      await (await import("./tasks_export.ts")).exportTasks(names, options);
    });
}
