/**
 * `rgx doctor --tune [CONFIG]`: measures the kernels of a graphics card, each only after it has
 * shown that it is right there. The fastest are kept in the user's cache folder, and runs use them.
 */
import { loadConfig } from "../../configs/load.ts";
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import { vulkanAdapter } from "../../kernels/devices/vulkan/device.ts";
import { graphicsAdapter } from "../../kernels/mod.ts";
import { compareDevices } from "../../kernels/tuning/compare_devices.ts";
import {
  choicesFolder,
  type KeptRace,
  type Measurable,
  measurableOn,
} from "../../kernels/tuning/kept_choices.ts";
import { isSameCard } from "../../kernels/tuning/preferred_device.ts";
import { sampleCalls } from "../../kernels/tuning/sample_calls.ts";
import type { TunedClass } from "../../kernels/tuning/tune_call.ts";
import { tune, type Tuned } from "../../kernels/tuning/tuner.ts";
import { assemble } from "../../training/assemble.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import { canRehearse } from "../../training/tuning/run_kernels.ts";
import { type DeviceFlags, deviceNameOf, openDevice } from "../open_device.ts";
import { broken, log, print } from "../terminal/terminal.ts";
import type { Flags } from "../flags.ts";
import type { DOCTOR } from "../flag_tables.ts";

/** Time limit for all classes of a device; a part of it is for comparing vulkan with webgpu. */
const MINUTES = 5, RACE_SHARE = 0.2;

type TuneFlags = DeviceFlags & Pick<Flags<typeof DOCTOR>, "json" | "minutes">;

/** The kernels that were measured on one device. */
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
  const asked = deviceNameOf(options), say = options.json ? () => {} : print;
  const isNamed = asked !== "auto";
  const { names, missing } = isNamed ? { names: [asked], missing: null } : await devicesOfCard();
  const devices: DeviceReport[] = [];
  let calls: RecordedCall[] = [], card: number | null = null;
  for (const device of names) {
    const opened = await callsOn(config, overrides, { ...options, device }, isNamed);
    ({ calls, card } = opened);
    devices.push(await tuneOn(opened, say, options));
  }
  const vulkan = devices.find(({ about }) => about.device === "vulkan")?.about;
  const budgetMs = RACE_SHARE * 60_000 * (options.minutes ?? MINUTES);
  const { race, text } = vulkan === undefined
    ? { race: null, text: missing }
    : await compared(calls, vulkan, card, budgetMs);
  if (text !== null) say(text);
  if (options.json) print(JSON.stringify({ devices, race, comparison: text }, null, 1));
  return devices.some(({ bad }) => Object.keys(bad).length > 0) ? EXIT.failure : EXIT.ok;
}

/** The devices of the first card, and why there is only one. */
async function devicesOfCard(): Promise<{ names: string[]; missing: string | null }> {
  const adapter = await graphicsAdapter();
  if (adapter === null || adapter.software) return { names: ["auto"], missing: null };
  try {
    const other = vulkanAdapter();
    if (isSameCard(adapter, other)) return { names: ["webgpu", "vulkan"], missing: null };
    return { names: ["webgpu"], missing: `vulkan's first card is another: ${other.name}` };
  } catch (error) {
    const [why] = messageOf(error).split("\n");
    return { names: ["webgpu"], missing: `vulkan was not measured: ${why}` };
  }
}

/** How vulkan compares with webgpu on the card that it was tuned on. */
async function compared(
  calls: RecordedCall[],
  vulkan: Measurable,
  card: number | null,
  budgetMs: number,
): Promise<{ race: KeptRace | null; text: string }> {
  const adapter = await graphicsAdapter();
  if (adapter === null || !isSameCard(adapter, vulkan.adapter)) {
    return { race: null, text: "webgpu does not offer this card" };
  }
  const webgpu = measurableOn("webgpu", adapter);
  return await compareDevices(calls, { webgpu, vulkan, card, budgetMs });
}

interface Opened {
  about: Measurable;
  calls: RecordedCall[];
  card: number | null;
}

/** The calls to measure on a device. */
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
      ? await sampleCalls(device, adapter.software)
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
