/**
 * The kernels that were measured on a card, kept in the user's cache folder: one file for each
 * adapter, driver and version of rgx. A file that is damaged, or of something else, counts as none.
 * What a measurement finds is written as it is found: one that is killed loses one class at most.
 * Before a candidate runs, it is noted. One with which the measurement was ended twice is not tried
 * any more: a driver may take the whole machine with it.
 */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { messageOf } from "../../core/errors.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { fileName } from "../../core/paths.ts";
import { readIfThere } from "../../core/text_file.ts";
import { VERSION } from "../../core/version.ts";
import type { AdapterInfo } from "../device.ts";
import type { TunedClass } from "./tune_call.ts";

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

const nothingKept = (): KeptChoices => ({
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
  let found: Partial<KeptChoices> & { format?: unknown; about?: unknown };
  try {
    const text = await readIfThere(path);
    if (text === null) return { ...nothing, note: null };
    found = JSON.parse(text);
  } catch (error) {
    return unusable(error instanceof SyntaxError ? "it is damaged" : messageOf(error));
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

/** @throws an error that says why when the file cannot be written */
export async function keepChoices(
  folder: string,
  about: Measurable,
  kept: Partial<KeptChoices>,
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const text = JSON.stringify({ format: FORMAT, about, ...nothingKept(), ...kept }, null, 1);
  await writeFileAtomic(pathOf(folder), `${text}\n`);
}

/** How often the measurement may be ended with a candidate. */
const MAX_ENDED = 2;

/** The file of a card during a measurement, whose process alone writes it. */
export class CardFile {
  #kept = nothingKept();
  /** Classes whose choices count: those of the file, or of an unfinished measurement of all. */
  #known = new Set<string>();
  #isChanged = false;
  #writes = true;
  /** Number of classes that were measured now. */
  measured = 0;

  /**
   * @param folder the card's folder in the cache; null: nothing is kept
   * @param classes those that are asked for
   * @param again all are measured, but those that an unfinished measurement of all has done
   * @param notes gets what the user should know
   */
  constructor(
    private readonly folder: string | null,
    private readonly about: Measurable,
    private readonly classes: readonly string[],
    private readonly again: boolean,
    private readonly notes: string[],
  ) {}

  /** Of the classes that are asked for. */
  get choices(): KeptChoices["choices"] {
    return of(this.#kept.choices, this.classes.filter((name) => this.#known.has(name)));
  }

  get bad(): KeptChoices["bad"] {
    return of(this.#kept.bad, this.classes);
  }

  missing(): string[] {
    return this.classes.filter((name) => !this.#known.has(name));
  }

  async read(): Promise<void> {
    if (this.folder === null) return;
    const { note, ...kept } = await readChoices(this.folder, this.about);
    if (note !== null && !this.notes.includes(note)) this.notes.push(note);
    const names = this.again ? kept.unfinished ?? [] : Object.keys(kept.choices);
    this.#known = new Set(names.filter((name) => kept.choices[name] !== undefined));
    this.#kept = kept;
    if (this.again) kept.unfinished = [...this.#known];
  }

  /**
   * Counts the candidate with which the last measurement was ended. Only for who measures: before,
   * another process may be in the middle of one.
   */
  judgeLast(): void {
    const { running: last, ended } = this.#kept;
    if (last === null) return;
    const times = (ended[last.class]?.[last.candidate] ?? 0) + 1;
    ended[last.class] = { ...ended[last.class], [last.candidate]: times };
    this.#ends();
    if (times >= MAX_ENDED) {
      this.isBad(last, `the measurement was ended ${times} times while it was tried`);
    }
  }

  /** The candidate before it has come to its end. */
  begins({ class: name, candidate }: Trial): void {
    this.#kept.running = { class: name, candidate };
    this.#isChanged = true;
  }

  isBad({ class: name, candidate }: Trial, reason: string): void {
    this.notes.push(`${name}: the kernel "${candidate}" is not used on this card: ${reason}`);
    this.#kept.bad[name] = { ...this.#kept.bad[name], [candidate]: reason };
    this.#ends();
  }

  tuned({ class: name, choice, rule, candidates }: TunedClass): void {
    const msOf = (name: string) => candidates.find((other) => other.name === name)?.ms ?? null;
    const { choices, ended, unfinished } = this.#kept;
    choices[name] = { kernel: choice, ms: msOf(choice), rule, rule_ms: msOf(rule) };
    delete ended[name];
    this.#known.add(name);
    if (this.again) unfinished?.push(name);
    this.#ends();
    this.measured++;
  }

  /** The measurement came to its end. */
  async finish(): Promise<void> {
    if (this.again) this.#kept.unfinished = null;
    this.#ends();
    await this.write();
  }

  /** Writes what is new to the file. When that fails, the user is told once. */
  async write(): Promise<void> {
    if (this.folder === null || !this.#writes || !this.#isChanged) return;
    this.#isChanged = false;
    try {
      await keepChoices(this.folder, this.about, this.#kept);
    } catch (error) {
      this.#writes = false;
      this.notes.push(`the measured kernels are used, but not kept: ${messageOf(error)}`);
    }
  }

  #ends(): void {
    this.#kept.running = null;
    this.#isChanged = true;
  }
}

/** The part of a table with these names. */
const of = <T>(table: Record<string, T>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(table).filter(([name]) => names.includes(name)));
