/**
 * Looks at the loss of the supervised steps. A model that is worse than guessing gets texts that it
 * does not know: the tokenizer or the chat template is not its own, or it has just been destroyed.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { mean } from "../../core/statistics.ts";
import type { Advice } from "./finding.ts";

/** Number of steps whose mean loss is looked at. */
const STEPS = 3;

export class SupervisedDiagnosis {
  readonly #losses: number[] = [];
  #isReported = false;

  /**
   * @param vocabSize guessing among so many tokens has a loss of its logarithm
   * @param totalSteps of the supervised training
   */
  constructor(
    private readonly config: RunConfig,
    private readonly vocabSize: number,
    private readonly totalSteps: number,
  ) {}

  /** Takes the loss of a step, and returns new advice. */
  observe(step: number, loss: number): Advice[] {
    if (!Number.isFinite(loss)) return [];
    this.#losses.push(loss);
    const { init } = this.config.model, isEnd = step === this.totalSteps;
    // A model from a seed begins by guessing, so only its end counts.
    if (this.#isReported || this.#losses.length < STEPS || init !== null && !isEnd) return [];
    const now = mean(this.#losses.slice(-STEPS)), guessing = Math.log(this.vocabSize);
    if (!(now > guessing)) return [];
    this.#isReported = true;
    const seen =
      `The supervised loss is ${now.toFixed(2)}, above ${guessing.toFixed(2)}, that of ` +
      `guessing one of ${this.vocabSize} tokens`;
    const { sft } = this.config, lower = `sft.learning_rate=${short(sft!.learning_rate / 10)}`;
    if (init !== null || this.#losses[0]! < guessing) {
      const text = `${seen}: the steps were too large, and what the model knew is lost.`;
      return [{ finding: "supervised", text, tries: [lower] }];
    }
    return [{
      finding: "supervised",
      text: `${seen}: the model does not know texts of this form at all. The tokenizer or the ` +
        "chat template is probably another model's.",
      tries: this.#otherTexts(),
    }];
  }

  #otherTexts(): string[] {
    const { model, data } = this.config;
    return [
      ...(model.tokenizer_name_or_path === null ? [] : ["~model.tokenizer_name_or_path"]),
      ...(model.chat_template === null ? [] : ["~model.chat_template"]),
      data.prompt_format === "chat" ? "data.prompt_format=plain" : "data.prompt_format=chat",
    ];
  }
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
