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
import { canRehearse, type RehearsingDevice } from "./rehearse_run.ts";

/** Max milliseconds of measurements at the beginning of a run, waiting for others included. */
const BUDGET_MS = 20_000;
/** A card that says nothing for this long hangs. */
const SILENCE_MS = 30_000;

/**
 * Sets the kernels of the device, and notes them in the state.
 * @param restored the state is that of a checkpoint
 * @param rehearse gives the calls of the run in which operations have a choice of kernels
 * @returns the event that says what was measured, and what else the user should know
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
