/** Flags and help of `rgx doctor`. */
import type { Command } from "commander";
import { UsageError } from "../../core/errors.ts";
import { InvalidArgumentError } from "commander";
import { examples, integer } from "../flag_types.ts";
import { addCardFlags, cardFromFlags } from "../plans/card_flags.ts";
import { requireCard } from "./layout_flags.ts";

export function doctorCommand(program: Command, setExit: (code: number) => void): void {
  addCardFlags(program.command("doctor"))
    .description("what this machine (or this job) offers, whether a config fits, and what to fix")
    .argument("[config]", "a YAML file or the name of an embedded config: does it fit here?")
    .argument("[overrides...]", "key.path=value …")
    .option("--plan [config]", "with --gpu: would this config fit on that card, and how long?")
    .option("--tune", "measure the kernels of a graphics card, for the config's shapes")
    .option("--minutes <n>", "with --tune: for at most this long (default 5)", positive)
    .option("--nodes <n>", "with --gpu: on this many nodes, one rank a card", integer(1, 65_536))
    .option("--gpus <n>", "with --gpu: cards of each node", integer(1, 1024))
    .option("--network <gigabits>", "of a node, in Gb/s (default 100)", positive)
    .option("--mtbf <days>", "mean time between failures of a node (default 264)", positive)
    .option(
      "--model <folder>",
      "instead: types of a model's weights, and errors of holding them otherwise",
    )
    .option("--self", "instead: try every part of this program on a tiny model, without a network")
    .option("--device <name>", "of the config, --model or --tune: auto, webgpu, vulkan, wasm …")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples(
        "rgx doctor",
        "rgx doctor --json",
        "rgx doctor quickstart training.max_steps=50",
        "rgx doctor --plan leg_counting_qwen7b --gpu h100-80gb",
        "rgx doctor --plan my.yaml --gpu a100-80gb --nodes 2 --gpus 4",
        "rgx doctor --tune my.yaml --minutes 20",
        "rgx doctor --model HuggingFaceTB/SmolLM2-135M-Instruct",
        "rgx doctor --self",
      ) + "\n\nExit code 1 when the config does not fit, or a part does not work.",
    )
    .action(async (first, further, options) => {
      if (options.self) {
        const other = Object.keys(options).find((flag) => flag !== "self" && flag !== "json");
        if (first !== undefined || other !== undefined) {
          throw new UsageError("--self: it tries the program, without a config or other flags");
        }
        setExit(await (await import("./doctor_self.ts")).doctorSelf(options));
        return;
      }
      const card = cardFromFlags(options, { plans: true, planFlag: "--plan CONFIG" });
      // With `--plan CONFIG` the arguments are overrides; `CONFIG --plan` means the same.
      const [config, overrides] = typeof options.plan !== "string"
        ? [first, further]
        : [options.plan, first === undefined ? [] : [first, ...further]];
      if (options.tune) {
        if (card !== null || options.model !== undefined) {
          throw new UsageError(
            "--tune: it measures the card of this machine, without --gpu, --model",
          );
        }
        setExit(await (await import("./doctor_tune.ts")).doctorTune(config, overrides, options));
        return;
      }
      if (options.minutes !== undefined) throw new UsageError("--minutes: it is for --tune");
      requireCard(options, card);
      if (card !== null) {
        if (config === undefined || options.model !== undefined) {
          const what = options.model === undefined ? "which configuration?" : "without --model";
          throw new UsageError(`a plan for a card is of a run: ${what}`, {
            advice: "For example: rgx doctor --plan my.yaml --gpu h100-80gb",
          });
        }
        const { doctorPlan } = await import("./doctor_plan.ts");
        setExit(await doctorPlan(config, overrides, card, options));
        return;
      }
      if (options.model !== undefined) {
        setExit(await (await import("./doctor_model.ts")).doctorModel(config, options));
        return;
      }
      if (options.device !== undefined && config === undefined) {
        throw new UsageError("--device: it is for a config, --model or --tune", {
          advice: "Without a config every device is measured: rgx doctor",
        });
      }
      setExit(await (await import("./doctor.ts")).doctor(config, overrides, options));
    });
}

/** A number above 0. */
function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("expected a number above 0");
}
