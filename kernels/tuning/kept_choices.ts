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

/** Choices by class, and the candidates that were wrong or crashed by class and name. */
export interface KeptChoices {
  choices: Record<string, KeptChoice>;
  bad: Record<string, Record<string, string>>;
}

const FORMAT = 1;

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
  const nothing = { choices: {}, bad: {} }, path = pathOf(folder);
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
  let found: Record<string, unknown>;
  try {
    found = JSON.parse(text);
  } catch {
    return unusable("it is damaged");
  }
  if (found?.["format"] !== FORMAT) return unusable("it is of another version of rgx");
  if (JSON.stringify(found["about"]) !== JSON.stringify(about)) {
    return unusable("it is of another card, driver or version");
  }
  const { choices, bad } = found as unknown as KeptChoices;
  return isTable(choices, isChoice) && isTable(bad, isReasons)
    ? { choices, bad, note: null }
    : unusable("it is damaged");
}

/** Adds choices to those of the file. @throws RgxError when the file cannot be written */
export async function keepChoices(
  folder: string,
  about: Measurable,
  added: KeptChoices,
): Promise<void> {
  const known = await readChoices(folder, about), bad = { ...known.bad };
  for (const [name, reasons] of Object.entries(added.bad)) bad[name] = { ...bad[name], ...reasons };
  const choices = { ...known.choices, ...added.choices };
  const text = JSON.stringify({ format: FORMAT, about, choices, bad }, null, 1) + "\n";
  await writeFileAtomic(pathOf(folder), text);
}

function isTable<T>(value: unknown, isValue: (value: unknown) => value is T): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every(isValue);
}

const isReasons = (value: unknown): value is Record<string, string> => isTable(value, isText);

const isText = (value: unknown): value is string => typeof value === "string";

function isChoice(value: unknown): value is KeptChoice {
  const { kernel, rule } = (value ?? {}) as Partial<KeptChoice>;
  return isText(kernel) && isText(rule);
}
