/**
 * `rgx doctor --tune [CONFIG]`: measures the kernels of a graphics card, each only after it has
 * shown that it is right there. The fastest are kept in the user's cache folder, and runs use them.
 */
import { loadConfig } from "../../configs/load.ts";
import { EXIT, RgxError, UsageError } from "../../core/errors.ts";
import type { Subgroups } from "../../kernels/devices/webgpu/subgroups.ts";
import type { Device } from "../../kernels/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import { choicesFolder, measurableOn } from "../../kernels/tuning/kept_choices.ts";
import { sampleCalls } from "../../kernels/tuning/sample_calls.ts";
import type { TunedClass } from "../../kernels/tuning/tune_call.ts";
import { tune, type Tuned } from "../../kernels/tuning/tuner.ts";
import { assemble } from "../../training/assemble.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import { canRehearse } from "../../training/tuning/rehearse_run.ts";
import { type DeviceFlags, openDevice } from "../open_device.ts";
import { broken, log, print } from "../terminal/terminal.ts";

/** For all classes together. */
const MINUTES = 5;

/** Returns the exit code: 1 when a kernel is wrong on this card or crashes its driver. */
export async function doctorTune(
  config: string | undefined,
  overrides: string[],
  options: DeviceFlags & { json?: boolean; minutes?: number },
): Promise<number> {
  const device = await openDevice(options);
  let about: ReturnType<typeof measurableOn>, calls: RecordedCall[];
  try {
    if (!canRehearse(device)) {
      throw new UsageError(`--tune: ${device.name} has no choice of kernels`, {
        advice: "It measures a graphics card: --device webgpu",
      });
    }
    const { adapter } = device;
    if (adapter.software && options.device === undefined) {
      throw new UsageError(`--tune: a CPU emulates the adapter ${adapter.name}`, {
        advice: "Its times say nothing of a card. To measure it anyway: --device webgpu",
      });
    }
    about = measurableOn(device.name, adapter);
    calls = config === undefined
      ? await sampleCalls(device, adapter.software)
      : await callsOf(config, overrides, device);
  } finally {
    device.close();
  }
  if (!options.json) log(`${about.adapter.name}, ${about.driver}: ${calls.length} shapes`);
  const classes: TunedClass[] = [];
  let subgroups: Subgroups | null = null;
  const tuned = await tune(calls, {
    about,
    card: device.card ?? null,
    budgetMs: 60_000 * (options.minutes ?? MINUTES),
    again: true,
    onSubgroups: (found) => {
      subgroups = found;
      if (!options.json) print(subgroupLine(found));
    },
    onTuned: (found) => {
      classes.push(found);
      if (!options.json) print(tunedLine(found));
    },
  });
  const folder = choicesFolder(about);
  if (options.json) print(JSON.stringify({ about, folder, subgroups, classes, ...tuned }, null, 1));
  else for (const line of endLines(tuned, folder)) print(line);
  return Object.keys(tuned.bad).length > 0 ? EXIT.failure : EXIT.ok;
}

/** The calls of a run with a configuration. */
async function callsOf(name: string, overrides: string[], device: Device): Promise<RecordedCall[]> {
  const loaded = await loadConfig(name, { overrides, env: Deno.env.toObject() });
  const parts = await assemble(loaded.config, device);
  try {
    const { config, yaml } = loaded;
    const trainer = new GrpoTrainer({ config, configText: yaml, device, ...parts });
    const calls = await trainer.rehearse();
    if (calls.length === 0) throw new RgxError(`${name}: its run has no choice of kernels`);
    return calls;
  } finally {
    await parts.rubric.close();
    parts.model.dispose();
  }
}

const subgroupLine = (found: Subgroups) =>
  "lanes" in found
    ? `subgroups of ${found.lanes} invocations`
    : `kernels with subgroups are not tried: ${found.reason}`;

function tunedLine({ class: name, choice, rule, candidates }: TunedClass): string {
  const msOf = (kernel: string) => candidates.find((other) => other.name === kernel)?.ms ?? null;
  const best = msOf(choice), ruled = msOf(rule);
  const gain = choice === rule || best === null || ruled === null
    ? ""
    : `, ${(ruled / best).toFixed(2)} × as fast as ${rule}`;
  const wrong = candidates.filter((other) => other.wrong !== null).length;
  return `${name.padEnd(44)} ${choice} ${best === null ? "" : `${best.toFixed(3)} ms`}${gain}` +
    `${wrong > 0 ? `; ${wrong} of ${candidates.length} kernels are not used` : ""}`;
}

function endLines({ measured, known, left, notes }: Tuned, folder: string | null): string[] {
  // A measurement that was ended goes on where it was.
  const before = known > 0 ? `, ${known} before` : "";
  const kept = folder === null ? "there is no cache folder to keep them" : `kept in ${folder}`;
  return [
    `${measured} shapes measured${before}${left > 0 ? `, ${left} not` : ""}; ${kept}`,
    ...notes.flatMap((note) => broken("stdout", `note: ${note}`)),
  ];
}
