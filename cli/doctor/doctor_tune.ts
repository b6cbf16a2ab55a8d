/**
 * `rgx doctor --tune [CONFIG]`: measures the kernels of a graphics card, each only after it has
 * shown that it is right there. The fastest are kept in the user's cache folder, and runs use them.
 */
import { loadConfig } from "../../configs/load.ts";
import { EXIT, RgxError, UsageError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import { choicesFolder, type Measurable, measurableOn } from "../../kernels/tuning/kept_choices.ts";
import type { TunedClass } from "../../kernels/tuning/tune_call.ts";
import { tune, type Tuned } from "../../kernels/tuning/tuner.ts";
import { assemble } from "../../training/assemble.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import { canRehearse } from "../../training/tuning/run_kernels.ts";
import { sampleCalls } from "../../training/tuning/sample_calls.ts";
import { type DeviceFlags, deviceNameOf, openDevice } from "../open_device.ts";
import { broken, log, print } from "../terminal/terminal.ts";
import type { FlagsOf } from "../flags.ts";

/** Time limit for all classes. */
const MINUTES = 5;

type TuneFlags = DeviceFlags & Pick<FlagsOf<"DOCTOR">, "json" | "minutes">;

interface DeviceReport extends Tuned {
  about: Measurable;
  folder: string | null;
  classes: TunedClass[];
}

/** Returns the exit code: 1 when a kernel is wrong on this card or crashes its driver. */
export async function doctorTune(
  config: string | undefined,
  overrides: string[],
  options: TuneFlags,
): Promise<number> {
  const say = options.json ? () => {} : print;
  const opened = await callsOn(config, overrides, options, deviceNameOf(options) !== "auto");
  const report = await tuneOn(opened, say, options);
  if (options.json) print(JSON.stringify(report, null, 1));
  return Object.keys(report.bad).length > 0 ? EXIT.failure : EXIT.ok;
}

interface Opened {
  about: Measurable;
  calls: RecordedCall[];
  card: number | null;
}

async function callsOn(
  config: string | undefined,
  overrides: string[],
  flags: DeviceFlags,
  isNamed: boolean,
): Promise<Opened> {
  const device = await openDevice(flags);
  try {
    if (!canRehearse(device)) {
      throw new UsageError(
        isNamed
          ? `--tune: ${device.name} has no choice of kernels`
          : "--tune measures a graphics card, and there is none here",
        { advice: "A CPU that emulates one can be measured, too: --device webgpu" },
      );
    }
    const { adapter } = device;
    const calls = config === undefined
      ? await sampleCalls(device)
      : await callsOf(config, overrides, device);
    return { about: measurableOn(device.name, adapter), calls, card: device.card ?? null };
  } finally {
    device.close();
  }
}

async function tuneOn(
  { about, calls, card }: Opened,
  say: (line: string) => void,
  { json, minutes = MINUTES }: TuneFlags,
): Promise<DeviceReport> {
  if (!json) log(`${about.device}, ${about.adapter.name}, ${about.driver}: ${calls.length} shapes`);
  const classes: TunedClass[] = [];
  const tuned = await tune(calls, {
    about,
    card,
    budgetMs: 60_000 * minutes,
    again: true,
    onWait: () => log("another process measures this kind of card, and is waited for"),
    onTuned: (found) => {
      classes.push(found);
      say(tunedLine(found));
    },
  });
  const folder = choicesFolder(about);
  for (const line of endLines(tuned, folder)) say(line);
  return { about, folder, classes, ...tuned };
}

/** The calls of a run with a configuration. */
async function callsOf(name: string, overrides: string[], device: Device): Promise<RecordedCall[]> {
  const loaded = await loadConfig(name, { overrides, env: Deno.env.toObject() });
  const parts = await assemble(loaded.config, device, { opensRewards: false });
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
  // A measurement that was ended early continues where it stopped.
  const before = known > 0 ? `, ${known} before` : "";
  const kept = folder === null ? "there is no cache folder to keep them" : `kept in ${folder}`;
  return [
    `${measured} shapes measured${before}${left > 0 ? `, ${left} not` : ""}; ${kept}`,
    ...notes.flatMap((note) => broken("stdout", `note: ${note}`)),
  ];
}
