/** Flags and help of `rgx export` and `rgx convert`. */
import { type Command, Option } from "commander";
import { EXPORT_TARGETS, WEIGHT_TYPES } from "../../models/export/export_types.ts";
import { examples } from "../flag_types.ts";

export function exportCommands(program: Command): void {
  program.command("export")
    .description("a trained model for other programs: PEFT adapter, Hugging Face folder or GGUF")
    .argument("<checkpoint>", "a run, a checkpoint, an adapter or any model")
    .addOption(
      new Option(
        "--to <format>",
        "adapter: as PEFT has it; hf: merged into its base; gguf: one file",
      )
        .choices(EXPORT_TARGETS).makeOptionMandatory(),
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
    .description("a GGUF file, shards or a pytorch_model.bin as a folder with one safetensors file")
    .argument("<source>", "a GGUF file or a model folder")
    .requiredOption("--output <folder>", "a new folder")
    .option("--force", "replace the model that is there")
    .option("--json", "one JSON document: path, format, dtype, bytes, notes")
    .addHelpText(
      "after",
      examples(
        "rgx convert SmolLM2-135M-Instruct.Q4_1.gguf --output smollm2",
        "rgx convert ./sharded-model --output ./one-file",
      ) +
        "\n\nTypes stay as they are; quantised weights become f32, which holds them exactly.",
    )
    .action(async (source, options) =>
      await (await import("./export.ts")).convert(source, options)
    );
}
