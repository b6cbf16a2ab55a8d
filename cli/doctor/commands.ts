/** Flags and help of `rgx doctor`. */
import type { Command } from "commander";
import { UsageError } from "../../core/errors.ts";
import { examples } from "../flag_types.ts";
import { addCardFlags, cardFromFlags } from "../plans/card_flags.ts";

export function doctorCommand(program: Command, setExit: (code: number) => void): void {
  addCardFlags(program.command("doctor"))
    .description("what this machine (or this job) offers, whether a config fits, and what to fix")
    .argument("[config]", "a YAML file or the name of an embedded config: does it fit here?")
    .argument("[overrides...]", "key.path=value …")
    .option("--plan <config>", "with --gpu: would this config fit on that card, and how long?")
    .option(
      "--model <folder>",
      "instead: types of a model's weights, and errors of holding them otherwise",
    )
    .option("--device <name>", "that the model is looked at on: auto, webgpu, wasm or reference")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples(
        "rgx doctor",
        "rgx doctor --json",
        "rgx doctor quickstart training.max_steps=50",
        "rgx doctor --plan leg_counting_qwen7b --gpu h100-80gb",
        "rgx doctor --model HuggingFaceTB/SmolLM2-135M-Instruct",
      ) + "\n\nExit code 1 when the config does not fit.",
    )
    .action(async (first, further, options) => {
      const card = cardFromFlags(options, { plans: true, planFlag: "--plan CONFIG" });
      // With --plan the arguments are overrides.
      const [config, overrides] = options.plan === undefined
        ? [first, further]
        : [options.plan, first === undefined ? [] : [first, ...further]];
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
      setExit(await (await import("./doctor.ts")).doctor(config, overrides, options));
    });
}
