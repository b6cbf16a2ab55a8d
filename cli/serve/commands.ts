/** Flags and help of `rgx serve`. */
import { type Command, Option } from "commander";
import { LOGPROBS_MODES } from "../../serve/logprobs_modes.ts";
import {
  activations,
  addDeviceFlags,
  addWeightFlags,
  collect,
  examples,
  integer,
  MODEL_KINDS,
} from "../flag_types.ts";

export function serveCommand(program: Command): void {
  const command = program.command("serve")
    .description("a model behind an OpenAI-compatible API")
    .argument("[model]", MODEL_KINDS)
    .option("--model <folder>", "the same as a flag")
    .option(
      "--served-model-name <name>",
      "its name for clients (repeatable; default: as given, which is a name in any case)",
      collect,
      [],
    )
    .option("--adapter <name=folder>", "an adapter and its name (repeatable)", collect, [])
    .optionsGroup("Clients:")
    .option("--host <address>", "where to listen; 0.0.0.0: everywhere", "127.0.0.1")
    .option("--port <n>", "0: a free one", integer(0, 65535), 8000)
    .option("--api-key-file <path>", "a file with the key that clients must send")
    .option("--cors <origin>", "the origin that browsers may call from (default: none)")
    .optionsGroup("Limits:")
    .option("--max-model-len <n>", "tokens of a prompt and its answer", integer(2))
    .option("--max-num-seqs <n>", "completions that are decoded together", integer(1, 4096))
    .option("--memory-mb <n>", "megabytes of the KV cache and all buffers", integer(16))
    .option("--max-queue <n>", "requests that wait; more get 429", integer(0), 256)
    .option("--max-n <n>", "completions of one prompt", integer(1, 4096), 128)
    .option("--max-body-mb <n>", "megabytes of one request", integer(1, 1024), 64)
    .option("--request-timeout <s>", "seconds until a request is ended", integer(1, 86400), 600)
    .option("--grace <s>", "seconds for running requests after a stop signal", integer(0), 30)
    .optionsGroup("Answers and adapters:")
    .addOption(
      new Option("--logprobs-mode <mode>", "which distribution log-probabilities are of")
        .choices(LOGPROBS_MODES).default("raw_logprobs"),
    )
    .option("--max-logprobs <n>", "likeliest tokens of a place", integer(1, 1000), 20)
    .option(
      "--generation-config <from>",
      "defaults of sampling: auto: the model's generation_config.json; none; or a folder's",
      "auto",
    )
    .option(
      "--allow-adapter-loading <folder>",
      "clients may load adapters from below it (repeatable)",
      collect,
      [],
    )
    .option("--allow-adapter-upload", "clients may send adapters in requests")
    .option("--separate-adapters", "less memory, slower: adapters stay beside float weights")
    .option("--max-loras <n>", "adapters at the same time", integer(1), 16);
  addDeviceFlags(addWeightFlags(command).addOption(activations()))
    .addHelpText(
      "after",
      examples(
        "rgx serve experiments/quickstart",
        "rgx serve ./smollm2 --adapter mine=runs/a --port 9000",
        "rgx serve ./smollm2 --host 0.0.0.0 --api-key-file key.txt",
      ) +
        "\n\nThe address for clients is printed on stdout, for example\n" +
        "http://127.0.0.1:8000/v1. SIGTERM or Ctrl-C ends the server after running\n" +
        "requests; a second one ends it at once.",
    )
    .action(async (model, options) => (await import("./serve.ts")).serve(model, options));
}
