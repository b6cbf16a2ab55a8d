/**
 * One step of supervised training (SFT) for the warm start: the cross-entropy of worked answers,
 * with the same forward and backward passes as GRPO. Prompt tokens are not trained on. The loss is
 * the mean over the tokens of the whole step, however many micro-batches it has.
 */
import { DROPOUT_PASS } from "../../core/philox.ts";
import type { Group } from "../../models/network/types.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { Entry } from "../../tasks/types.ts";
import type { GradientSum } from "./gradient_sum.ts";
import { occasionalPause } from "./yield_to_events.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";

export interface SupervisedResult {
  /** Mean negative log-likelihood per token. */
  loss: number;
  /** Mean entropy per token. */
  entropy: number;
  /** Tokens trained on: the answers with their end tokens. */
  tokens: number;
  promptTokens: number;
}

/**
 * Zeroes the model's gradients, then computes those of all entries.
 * @param options `firstPromptId`: number of the first entry in the whole warm start. With the seed
 *   it is the key of the dropout masks. `microBatchSize`: entries of a forward pass. `sum` adds up
 *   the micro-batches, which it deals to ranks. The gradients are those of the loss times
 *   `lossScale` (loss_scale.ts).
 */
export async function supervisedStep(
  model: LanguageModel,
  prompts: PromptEncoder,
  entries: readonly Entry[],
  options: {
    seed: number;
    firstPromptId: number;
    microBatchSize: number;
    sum: GradientSum;
    lossScale?: number;
  },
): Promise<SupervisedResult> {
  const groups: Group[] = entries.map((entry, i) => ({
    promptId: options.firstPromptId + i,
    promptIds: prompts.prompt(entry).ids,
    branches: [prompts.workedAnswer(entry)],
  }));
  const tokens = groups.reduce((sum, { branches }) => sum + branches[0]!.length, 0);
  const scale = 1 / Math.max(tokens, 1), { microBatchSize, lossScale = 1 } = options;
  const pause = occasionalPause();
  const parts = await options.sum.over(
    Math.ceil(groups.length / microBatchSize),
    async (index) => {
      const batch = groups.slice(index * microBatchSize, (index + 1) * microBatchSize);
      const { logp, entropy } = await model.forward(batch, {
        temperature: 1,
        train: true,
        dropout: { seed: options.seed, pass: DROPOUT_PASS.supervised },
      });
      const part = { loss: 0, entropy: 0 };
      for (let t = 0; t < logp.length; t++) {
        part.loss -= logp[t]! * scale;
        part.entropy += entropy[t]! * scale;
      }
      model.backward(new Float64Array(logp.length).fill(-scale * lossScale));
      await pause();
      return part;
    },
  );
  const total = (value: (part: typeof parts[number]) => number) =>
    parts.reduce((sum, part) => sum + value(part), 0);
  return {
    loss: total(({ loss }) => loss),
    entropy: total(({ entropy }) => entropy),
    tokens,
    promptTokens: groups.reduce((sum, group) => sum + group.promptIds.length, 0),
  };
}
