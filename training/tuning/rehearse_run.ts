/**
 * The shapes of a run's operations: passes and generations of the sizes that it will have, on a
 * device that only notes them. Nothing is computed, so this takes a moment.
 */
import { Interrupted } from "../../core/errors.ts";
import { DROPOUT_PASS } from "../../core/philox.ts";
import { rolloutOptions } from "../../bench/evaluation/sampling.ts";
import type { Device } from "../../kernels/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import { workedTokens } from "../duration/time_estimate.ts";
import { typicalTokens } from "../memory/run_memory.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { RunSizes } from "../run/run_sizes.ts";
import type { TrainerOptions } from "../run/trainer_options.ts";

/** Completions end at different times: what share of them still decodes, in the shapes. */
const STILL_DECODING = [1, 1 / 4] as const;

/** A device of a graphics card. */
export type RehearsingDevice = Device & Required<Pick<Device, "rehearse" | "adapter">>;

export function canRehearse(device: Device): device is RehearsingDevice {
  return device.rehearse !== undefined && device.adapter !== undefined;
}

/** The calls of a run in which operations have a choice of kernels. */
export async function rehearseRun(
  { config, model, problems, phases }: TrainerOptions,
  device: RehearsingDevice,
  sizes: RunSizes,
  prompts: PromptEncoder,
  shouldStop: () => boolean,
): Promise<RecordedCall[]> {
  const supervisedOnly = phases === "sft";
  const ids = prompts.prompt(problems.trainEntry(0)).ids;
  const answer = workedTokens({
    config,
    ...typicalTokens(prompts, problems, sizes.trainProblems),
  });
  const rows = (supervisedOnly ? config.sft ?? config.training : config.training)
    .per_device_train_batch_size;
  const lanes = supervisedOnly
    ? Math.min(config.eval.batch_size, problems.heldOut.length)
    : sizes.rowsPerGeneration;
  const sampling = rolloutOptions(config.training, prompts, shouldStop);
  /** One micro-batch, with the gradient and without. */
  const passes = async (length: number) => {
    const perPrompt = supervisedOnly ? 1 : config.training.num_generations;
    const groups = Array.from({ length: Math.ceil(rows / perPrompt) }, (_, i) => ({
      promptId: i,
      promptIds: ids,
      branches: Array.from(
        { length: Math.min(perPrompt, rows - i * perPrompt) },
        () => Array<number>(length).fill(ids[0]!),
      ),
    }));
    const dropout = { seed: sampling.seed, pass: DROPOUT_PASS.grpo };
    await model.forward(groups, { temperature: 1, train: false });
    const { logp } = await model.forward(groups, { temperature: 1, train: true, dropout });
    model.backward(new Float64Array(logp.length).fill(1e-3));
    model.zeroGrad();
  };
  const generation = async (branches: number) => {
    const perPrompt = Math.min(branches, config.training.num_generations);
    const requests = Array.from({ length: Math.ceil(branches / perPrompt) }, (_, i) => ({
      promptId: i,
      promptIds: ids,
      n: Math.min(perPrompt, branches - i * perPrompt),
    }));
    // The first token is of the pass over the prompts; those after it are decoded.
    const stopWhen = (ids: readonly number[]) => ids.length > 1;
    await model.generate(requests, { ...sampling, minNewTokens: 0, eosIds: [], stopWhen });
  };
  return await device.rehearse(async () => {
    try {
      await passes(answer);
      await passes(config.training.max_completion_length);
      for (const share of STILL_DECODING) {
        if (lanes > 0) await generation(Math.ceil(lanes * share));
      }
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
    }
  });
}
