/** Flags and help of `rgx generate`, `logprobs`, `export`, `convert`, `pull` and `upload`. */
import { type Command, Option } from "commander";
import { EXPORT_TARGETS } from "../../models/export/export_targets.ts";
import { WEIGHT_TYPES } from "../../models/formats/weight_types.ts";
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

export function modelCommands(program: Command): void {
  generateCommand(program);
  logprobsCommand(program);
  exportCommands(program);
  pullCommand(program);
  uploadCommand(program);
}

/** The flags that `generate` and `logprobs` share: the model, its storage type, and the device. */
function modelOptions(command: Command): Command {
  command
    .argument("[model]", MODEL_KINDS)
    .option("--model <model>", "the same as a flag")
    .option("--adapter <folder>", "a PEFT adapter to put on the model (repeatable)", collect, []);
  return addDeviceFlags(addWeightFlags(command));
}

function generateCommand(program: Command): void {
  modelOptions(program.command("generate").description("text from a model"))
    .argument("[-]", "the prompt comes from stdin, as without --prompt and --file")
    .optionsGroup("Prompt:")
    .option("--prompt <text>", "the prompt")
    .option("--file <path>", "a file with the prompt; - or nothing: stdin")
    .option("--ids-file <path>", "a JSON array of token ids instead of a text")
    .option("--chat", "render the prompt by the model's chat template")
    .option("--system <text>", "system message, or the name of a built-in one (with --chat)")
    .option(
      "--chat-template-kwargs <json>",
      'values for the chat template, for example {"enable_thinking": false} (with --chat)',
    )
    .optionsGroup("Sampling:")
    .option("--ignore-eos", "go on past the end token")
    .option("--max-new-tokens <n>", "tokens generated at most", integer(1, 2 ** 20 - 1), 256)
    .option("--min-new-tokens <n>", "no end before so many tokens", integer(0), 0)
    .option("--stop <text>", "end after this text, which is kept (repeatable)", collect, [])
    .option("--json-schema <file>", "only JSON that this schema accepts (docs/serve.md)")
    .option("--regex <pattern>", "only texts that the whole pattern matches")
    .option("--temperature <t>", "0 is greedy", real(0, 100), 1)
    .option("--top-p <p>", "1 = off", real(0, 1, { above: true }), 1)
    .option("--top-k <k>", "0 = off", integer(0), 0)
    .option("--min-p <p>", "0 = off", real(0, 1), 0)
    .option("--repetition-penalty <x>", "of tokens seen before; 1 = off", real(0.01, 100), 1)
    .option("--seed <n>", "seed of the draws", integer(0), 42)
    .option("--n <n>", "completions", integer(1, 4096), 1)
    .optionsGroup("A server, and the output:")
    .option("--base-url <url>", "an OpenAI-compatible server; --model is then a model's name there")
    .option("--api-key-env <name>", "variable with its key (default: OPENAI_API_KEY)")
    .addOption(activations())
    .option("--quiet", "the text alone: no notes, no speed")
    .option("--json", "a JSON document (for each adapter) with ids, log-probabilities and speed")
    .addHelpText(
      "after",
      examples(
        'rgx generate experiments/quickstart --prompt "Reverse the letters: deno"',
        "rgx generate --model ./tiny-llama --file prompt.txt --temperature 0 --json",
        "rgx generate --base-url http://127.0.0.1:8000 --model mine --chat --prompt Hello",
      ),
    )
    .action(async (first, second, options) => {
      const isStdin = first === "-" || options.model !== undefined;
      const [given, stdin] = isStdin ? [second, first] : [first, second];
      const model = oneModel("generate", given, options.model);
      await (await import("./generate.ts")).generateText(stdin, { ...options, model });
    });
}

function logprobsCommand(program: Command): void {
  modelOptions(program.command("logprobs").description("log-probabilities of given tokens"))
    .optionsGroup("Tokens:")
    .option("--ids-file <path>", "a JSON array of token ids")
    .option("--prompt <text>", "or a prompt …")
    .option("--completion <text>", "… and what follows it")
    .option("--top <k>", "the k likeliest tokens at each position", integer(0), 0)
    .option("--json", "a JSON document (for each adapter)")
    .addHelpText(
      "after",
      examples(
        "rgx logprobs --model ./tiny-llama --ids-file ids.json --top 5 --json",
        'rgx logprobs --model ./tiny-llama --prompt "Once upon" --completion " a time"',
      ),
    )
    .action(async (given, options) => {
      const model = oneModel("logprobs", given, options.model);
      await (await import("./logprobs.ts")).showLogprobs({ ...options, model });
    });
}

function exportCommands(program: Command): void {
  program.command("export")
    .description("a trained model for other programs: PEFT adapter, Hugging Face folder or GGUF")
    .argument("<checkpoint>", "a run, a checkpoint, an adapter or any model")
    .addOption(
      new Option(
        "--to <format>",
        "adapter: as PEFT has it; hf: merged into its base; gguf: one file; " +
          "default: a whole model in one folder, as it is",
      )
        .choices(EXPORT_TARGETS),
    )
    .addOption(
      new Option("--dtype <type>", "default: as the base is stored; q8_0 and q4_0 for gguf only")
        .choices(WEIGHT_TYPES),
    )
    .requiredOption(
      "--output <path>",
      "a new folder; for gguf a file ending with .gguf, or a folder",
    )
    .option("--force", "replace the model that is there")
    .option("--json", "one JSON document: path, format, dtype, bytes, notes")
    .addHelpText(
      "after",
      examples(
        "rgx export runs/a --to adapter --output my-adapter",
        "rgx export runs/a/checkpoint-50 --to hf --dtype bf16 --output my-model",
        "rgx export runs/a --to gguf --dtype q8_0 --output my-model.gguf",
      ) +
        "\n\nWith q8_0 and q4_0, vectors stay f32, matrices whose rows are no multiples of 32\n" +
        "weights become f16, and the output head of a q4_0 file is q8_0.",
    )
    .action(async (checkpoint, options) =>
      await (await import("./export.ts")).exportCheckpoint(checkpoint, options)
    );
  program.command("convert")
    .description("as rgx export without --to: GGUF, shards, .bin or verl's parts as a folder")
    .argument("<source>", "a GGUF file, a model folder, or a checkpoint of verl")
    .requiredOption("--output <folder>", "a new folder")
    .option("--force", "replace the model that is there")
    .option("--json", "one JSON document: path, format, dtype, bytes, notes")
    .addHelpText(
      "after",
      examples(
        "rgx convert SmolLM2-135M-Instruct.Q4_1.gguf --output smollm2",
        "rgx convert ./sharded-model --output ./one-file",
        "rgx convert ./global_step_100/actor --output ./trained",
      ) +
        "\n\nTypes stay as they are; quantised weights become f32, which holds them exactly.",
    )
    .action(async (source, options) =>
      await (await import("./export.ts")).exportCheckpoint(source, options)
    );
}

function pullCommand(program: Command): void {
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

function uploadCommand(program: Command): void {
  program.command("upload")
    .description("a trained model, with its card, to a repository of the Hugging Face Hub")
    .argument("[checkpoint]", "folder of a run or of a checkpoint")
    .requiredOption("--repo-id <name>", "USER/NAME; made if it does not exist")
    .option("--checkpoint-dir <folder>", "the same as the argument")
    .option("--step <n>", "which checkpoint of a run (default: the final model)", integer(0))
    .option("--model-name <name>", "base model on the Hub, for the card")
    .addOption(
      new Option("--optimizer-save-mode <mode>", "full: with all that a resume needs")
        .choices(["full", "none", "null"]).default("full"),
    )
    .option("--private", "if the repository is made, only you see it")
    .option("--revision <branch>", "made if it does not exist (default main)")
    .option("--license <id>", "for the card, such as apache-2.0")
    .option("--commit-message <text>", "first line of the commit's message")
    .option("--checkpoint-folder <name>", "in the repository (default checkpoint-STEP)")
    .option("--dry-run", "only list the files")
    .option("--json", "one JSON document: repository, commit, files, bytes")
    .option("--quiet", "only the address")
    .addHelpText(
      "after",
      examples(
        "rgx upload experiments/quickstart --repo-id me/quickstart --private",
        "rgx upload experiments/my --step 500 --repo-id me/my --optimizer-save-mode none",
      ) + "\n\nHF_TOKEN is the token; it needs the right to write.",
    )
    .action(async (checkpoint, flags) =>
      await (await import("./upload.ts")).uploadModel(checkpoint, flags)
    );
}
