/**
 * The kernels that were measured on a card, kept in the user's cache folder: one file for each
 * adapter, driver and version of rgx. A file that is damaged, or of something else, counts as none.
 */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { messageOf } from "../../core/errors.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { fileName } from "../../core/paths.ts";
import { readIfThere } from "../../core/text_file.ts";
import { VERSION } from "../../core/version.ts";
import type { AdapterInfo } from "../device.ts";

/** What a measurement is valid for. */
export interface Measurable {
  rgx: string;
  device: string;
  adapter: AdapterInfo;
  /** The version of the driver, as far as it is known. */
  driver: string;
}

/** A kernel of a class, with its time and that of the rule's. */
export interface KeptChoice {
  kernel: string;
  /** Milliseconds of a call; null: it was not timed. */
  ms: number | null;
  rule: string;
  rule_ms: number | null;
}

/** A candidate of a class. */
export interface Trial {
  class: string;
  candidate: string;
}

/** What is known of the kernels of a card, also of a measurement that has not come to its end. */
export interface KeptChoices {
  /** By class. */
  choices: Record<string, KeptChoice>;
  /** Why candidates are wrong or crash, by class and name. */
  bad: Record<string, Record<string, string>>;
  /** The candidate that is tried now, or with which the measurement was ended; null: none. */
  running: Trial | null;
  /** How often measurements were ended with a candidate, by class and name. */
  ended: Record<string, Record<string, number>>;
  /** The classes of an unfinished measurement of all of them; null: none is unfinished. */
  unfinished: string[] | null;
}

export const nothingKept = (): KeptChoices => ({
  choices: {},
  bad: {},
  running: null,
  ended: {},
  unfinished: null,
});

const FORMAT = 2;

export function measurableOn(device: string, adapter: AdapterInfo): Measurable {
  // Deno's WebGPU compiles the kernels, and each version has its own.
  const by = device === "webgpu" ? `, Deno ${Deno.version.deno}` : "";
  return { rgx: VERSION, device, adapter, driver: `${driverVersion(adapter)}${by}` };
}

const NVIDIA = 4318;

/**
 * The driver's version: as Vulkan reports it, NVIDIA's own, else that of the system's kernel,
 * beside what the adapter's name says. WebGPU does not report it.
 */
function driverVersion({ vendor, driver }: AdapterInfo): string {
  if (driver !== undefined) return driver;
  if (vendor === NVIDIA) {
    try {
      const text = Deno.readTextFileSync("/proc/driver/nvidia/version");
      const found = /Kernel Module\D*([0-9][0-9.]+)/.exec(text);
      if (found !== null) return `nvidia ${found[1]}`;
    } catch {
      // Not on Linux, or not visible in this container.
    }
  }
  return `${Deno.build.os} ${Deno.osRelease()}`;
}

/** The folder for a card's measurements; null when the user has no cache folder. */
export function choicesFolder(about: Measurable, cache = userCache()): string | null {
  if (cache === null) return null;
  const key = sha256Hex(JSON.stringify(about)).slice(0, 12);
  return `${cache}/kernels/${fileName(about.adapter.name).slice(0, 60)}-${key}`;
}

const pathOf = (folder: string) => `${folder}/choices.json`;

/** What is kept, and a note where a file could not be used. Never fails. */
export async function readChoices(
  folder: string,
  about: Measurable,
): Promise<KeptChoices & { note: string | null }> {
  const nothing = nothingKept(), path = pathOf(folder);
  const unusable = (why: string) => ({
    ...nothing,
    note: `${path} is not used: ${why}; the kernels are measured again`,
  });
  let text: string | null;
  try {
    text = await readIfThere(path);
  } catch (error) {
    return unusable(messageOf(error));
  }
  if (text === null) return { ...nothing, note: null };
  let found: Partial<KeptChoices> & { format?: unknown; about?: unknown };
  try {
    found = JSON.parse(text);
  } catch {
    return unusable("it is damaged");
  }
  if (found?.format !== FORMAT) return unusable("it is of another version of rgx");
  if (JSON.stringify(found.about) !== JSON.stringify(about)) {
    return unusable("it is of another card, driver or version");
  }
  // Files of earlier states have no `running` and no `ended`.
  const { choices, bad, running, ended, unfinished } = { ...nothing, ...found };
  const isWhole = [choices, bad, ended].every((part) => typeof part === "object" && part !== null);
  return isWhole
    ? { choices, bad, running, ended, unfinished, note: null }
    : unusable("it is damaged");
}

/**
 * Adds to the file: choices and reasons beside those it has, the other parts in place of those of
 * the same classes.
 * @throws an error that says why when the file cannot be written
 */
export async function keepChoices(
  folder: string,
  about: Measurable,
  added: Partial<KeptChoices>,
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const { note: _, ...known } = await readChoices(folder, about), bad = { ...known.bad };
  for (const [name, reasons] of Object.entries(added.bad ?? {})) {
    bad[name] = { ...bad[name], ...reasons };
  }
  const choices = { ...known.choices, ...added.choices };
  const text = JSON.stringify({ format: FORMAT, about, ...known, ...added, choices, bad }, null, 1);
  await writeFileAtomic(pathOf(folder), `${text}\n`);
}
