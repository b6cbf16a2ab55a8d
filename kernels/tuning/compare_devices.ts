/**
 * Measures `vulkan` beside `webgpu` on a card, after they were tuned (race.ts). The result stands
 * in the file of vulkan's kernels; preferred_device.ts says what follows from it.
 */
import { messageOf } from "../../core/errors.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import {
  choicesFolder,
  keepChoices,
  type KeptRace,
  type Measurable,
  readChoices,
} from "./kept_choices.ts";
import { judgement } from "./preferred_device.ts";
import { type ProcessOptions, runProcess } from "./process.ts";
import type { RaceJob } from "./race.ts";
import { byWork } from "./tuner.ts";

export interface RaceOptions extends ProcessOptions {
  webgpu: Measurable;
  vulkan: Measurable;
  card: number | null;
  budgetMs: number;
}

/**
 * Measures calls on both devices and keeps the result.
 * @returns what to say about it
 */
export async function compareDevices(
  calls: readonly RecordedCall[],
  { webgpu, vulkan, card, budgetMs, ...process }: RaceOptions,
): Promise<{ race: KeptRace | null; text: string }> {
  const choicesOf = async (about: Measurable) => {
    const folder = choicesFolder(about);
    if (folder === null) return {};
    const { choices } = await readChoices(folder, about);
    return Object.fromEntries(Object.entries(choices).map(([name, { kernel }]) => [name, kernel]));
  };
  const choices = { webgpu: await choicesOf(webgpu), vulkan: await choicesOf(vulkan) };
  const job: RaceJob = { card, calls: byWork(calls), choices, budgetMs };
  const race: KeptRace = {
    webgpu,
    shapes: 0,
    of: calls.length,
    webgpu_ms: 0,
    vulkan_ms: 0,
    wrong: null,
  };
  const ended = await runProcess(job, process, (lines) => {
    for (const line of lines) {
      if (line.event !== "raced") continue;
      race.shapes++;
      race.webgpu_ms += line.count * line.ms.webgpu;
      race.vulkan_ms += line.count * line.ms.vulkan;
      race.wrong ??= line.wrong === null ? null : `${line.class}: ${line.wrong}`;
    }
    return Promise.resolve();
  });
  const kept = ended === null ? race : null, folder = choicesFolder(vulkan);
  let note = "";
  if (folder !== null) {
    await keepChoices(folder, vulkan, { race: kept }).catch((error) => {
      note = `; it is not kept: ${messageOf(error)}`;
    });
  }
  const text = kept === null
    ? `vulkan and webgpu were not compared: ${ended}`
    : judgement(kept).why;
  return { race: kept, text: `${text}${note}` };
}
