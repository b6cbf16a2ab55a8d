/**
 * The kernels of a run on a graphics card: measured at its beginning, or known from the cache. The
 * checkpoints hold them, so that a resumed run keeps the bits of one that was not stopped.
 */
import type { Measurable } from "../../kernels/tuning/kept_choices.ts";
import { type ChosenKernels, type RunState, sameCard } from "../checkpoint/run_state.ts";
import type { TrainEvent } from "../run/events.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import type { TrainerOptions } from "../run/trainer_options.ts";
import { Interrupted } from "../../core/errors.ts";
import { DROPOUT_PASS } from "../../core/philox.ts";
import { rolloutOptions } from "../../bench/evaluation/sampling.ts";
import type { Device } from "../../kernels/device.ts";
import { workedTokens } from "../duration/time_estimate.ts";
import { typicalTokens } from "../memory/run_memory.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { RunSizes } from "../run/run_sizes.ts";

/** Max milliseconds of measurements at the beginning of a run, waiting for others included. */
const BUDGET_MS = 20_000;
/** A card that says nothing for this long hangs. */
const SILENCE_MS = 30_000;

/**
 * Sets the kernels of the device, and notes them in the state.
 * @param restored the state is that of a checkpoint
 * @param rehearse gives the calls of the run in which operations have a choice of kernels
 * @returns what was measured, and what else the user should know
 */
export async function chooseRunKernels(
  { device, tuneKernels }: Pick<TrainerOptions, "device" | "tuneKernels">,
  state: Pick<RunState, "kernels">,
  ranks: Ranks,
  restored: boolean,
  rehearse: () => Promise<RecordedCall[]>,
): Promise<{ event: TrainEvent | null; notes: string[] }> {
  const nothing = { event: null, notes: [] };
  if (!canRehearse(device)) return nothing;
  const { measurableOn } = await import("../../kernels/tuning/kept_choices.ts");
  const about = measurableOn(device.name, device.adapter);
  if (restored) {
    if (state.kernels === null) return nothing; // The run has followed the rules so far.
    if (sameCard(state.kernels.about, about)) {
      device.kernelChoices = state.kernels.choices;
      return nothing;
    }
  }
  const asked = tuneKernels ?? !device.adapter.software;
  if (!asked) {
    state.kernels = null;
    return { event: null, notes: restored ? [OTHER_CARD] : [] };
  }
  const { kernels, event, notes } = await ranks.first(() => measured(rehearse, device, about));
  // Another rank may have another kind of card, whose kernels follow the rules.
  state.kernels = { about, choices: sameCard(kernels.about, about) ? kernels.choices : {} };
  device.kernelChoices = state.kernels.choices;
  return { event, notes: restored ? [OTHER_CARD, ...notes] : notes };
}

interface Measurement {
  kernels: ChosenKernels;
  event: TrainEvent;
  notes: string[];
}

const OTHER_CARD = "the checkpoint is of another card, driver or version: its kernels are chosen " +
  "anew, and the bits differ from those of a run that was not stopped";

async function measured(
  rehearse: () => Promise<RecordedCall[]>,
  device: RehearsingDevice,
  about: Measurable,
): Promise<Measurement> {
  const { tune } = await import("../../kernels/tuning/tuner.ts");
  const start = performance.now();
  const calls = await rehearse();
  const { choices, measured, known, left, waitedMs, notes } = await tune(calls, {
    about,
    card: device.card ?? null,
    budgetMs: BUDGET_MS,
    silenceMs: SILENCE_MS,
  });
  const changed = Object.values(choices).filter(({ kernel, rule }) => kernel !== rule).length;
  const seconds = (performance.now() - start - waitedMs) / 1000;
  if (waitedMs >= 1000) {
    const waited = (waitedMs / 1000).toFixed(0);
    notes.unshift(`waited ${waited} s for another process that measures this kind of card`);
  }
  const names = Object.entries(choices).map(([name, { kernel }]) => [name, kernel]);
  return {
    kernels: { about, choices: Object.fromEntries(names) },
    event: { type: "kernels", measured, known, left, changed, seconds },
    notes,
  };
}

/** Completions end at different times: what share of them still decodes, in the shapes. */
const STILL_DECODING = [1, 1 / 4] as const;

/** A device of a graphics card. */
export type RehearsingDevice = Device & Required<Pick<Device, "rehearse" | "adapter">>;

export function canRehearse(device: Device): device is RehearsingDevice {
  return device.rehearse !== undefined && device.adapter !== undefined;
}

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
