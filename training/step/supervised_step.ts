/**
 * One step of supervised training (SFT) for the warm start: the cross-entropy of worked answers,
 * with the same forward and backward passes as GRPO. Prompt tokens are not trained on.
 */
import { DROPOUT_PASS } from "../../core/philox.ts";
import type { Group } from "../../models/network/types.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { Entry } from "../../tasks/types.ts";
import type { PromptEncoder } from "../../evaluation/prompt_encoder.ts";

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
 * Zeroes the model's gradients, then computes those of the batch.
 * @param options `firstPromptId`: number of the first entry in the whole warm start. With the seed
 *   it is the key of the dropout masks.
 */
export async function supervisedStep(
  model: LanguageModel,
  prompts: PromptEncoder,
  entries: readonly Entry[],
  options: { seed: number; firstPromptId: number },
): Promise<SupervisedResult> {
  const groups: Group[] = entries.map((entry, i) => ({
    promptId: options.firstPromptId + i,
    promptIds: prompts.prompt(entry).ids,
    branches: [prompts.workedAnswer(entry)],
  }));
  model.zeroGrad();
  const { logp, entropy } = await model.forward(groups, {
    temperature: 1,
    train: true,
    dropout: { seed: options.seed, pass: DROPOUT_PASS.supervised },
  });
  const tokens = logp.length, scale = 1 / Math.max(tokens, 1);
  let loss = 0, entropySum = 0;
  for (let t = 0; t < tokens; t++) {
    loss -= logp[t]! * scale;
    entropySum += entropy[t]! * scale;
  }
  model.backward(new Float64Array(tokens).fill(-scale));
  return {
    loss,
    entropy: entropySum,
    tokens,
    promptTokens: groups.reduce((sum, group) => sum + group.promptIds.length, 0),
  };
}
