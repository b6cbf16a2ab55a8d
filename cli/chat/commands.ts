/** Flags and help of `rgx chat`. */
import type { Command } from "commander";
import {
  activations,
  addDeviceFlags,
  addWeightFlags,
  collect,
  examples,
  integer,
  MODEL_KINDS,
  oneModel,
  real,
} from "../flag_types.ts";

export function chatCommand(program: Command, setExit: (code: number) => void): void {
  const command = program.command("chat")
    .description("a conversation with a model")
    .argument("[model]", MODEL_KINDS)
    .option("--model <model>", "the same as a flag")
    .option(
      "--adapter <name=folder>",
      "a PEFT adapter to go on with, by /adapter NAME; the first one begins (repeatable)",
      collect,
      [],
    )
    .option("--system <text>", "system message, or the name of a built-in one")
    .option(
      "--chat-template-kwargs <json>",
      'values for the chat template, for example {"enable_thinking": false}',
    )
    .optionsGroup("Sampling:")
    .option("--max-new-tokens <n>", "tokens of an answer at most", integer(1, 2 ** 20 - 1), 1024)
    .option("--max-model-len <n>", "tokens of the conversation at most", integer(2), 8192)
    .option("--temperature <t>", "0 is greedy", real(0, 100), 0.7)
    .option("--top-p <p>", "1 = off", real(0, 1, { above: true }), 1)
    .option("--top-k <k>", "0 = off", integer(0), 0)
    .option("--min-p <p>", "0 = off", real(0, 1), 0)
    .option("--repetition-penalty <x>", "of tokens seen before; 1 = off", real(0.01, 100), 1)
    .option("--seed <n>", "seed of the draws", integer(0), 42);
  addDeviceFlags(addWeightFlags(command).addOption(activations()))
    .addHelpText(
      "after",
      examples(
        "rgx chat ./smollm2",
        'rgx chat ./smollm2 --adapter mine=runs/a --system "Answer in one word."',
        "echo 'Reverse the letters: deno' | rgx chat experiments/quickstart",
      ) +
        "\n\nEach line is a message, also in a pipe; one that ends with \\ goes on on the next\n" +
        "line. /help lists the commands: /reset, /again, /system, /adapter, /set,\n" +
        "/history, /exit. Ctrl-C ends an answer.",
    )
    .action(async (model, options) =>
      setExit(
        await (await import("./chat.ts")).chat(oneModel("chat", model, options.model), options),
      )
    );
}
