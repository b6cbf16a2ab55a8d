/**
 * Stores every finished sample on disk at once, as a JSON line, so that a killed benchmark can be
 * resumed. A run appends to its own file, `samples_{stamp}.jsonl`; it creates the file at the
 * start, so that no other run in the folder takes the same name. A resume reads all of these files.
 * A sample is found by a hash of everything that it depends on. Lines that were cut off are
 * ignored.
 */
import { explainFileError } from "../../core/atomic_file.ts";
import { messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { type LocalTime, timeStamp } from "../../core/local_time.ts";
import { jsonObjectOrNull } from "../../core/json_file.ts";
import { isFile } from "../../core/paths.ts";
import { linesOf } from "../../core/text_file.ts";
import type { SampleResult } from "./result_file.ts";

const FILE = /^samples_.*\.jsonl$/;

/** A finished sample: a line of the file. */
export interface SampleLine {
  /** Hash of everything that the answer depends on, the model and the task included. */
  key: string;
  model: string;
  task: string;
  index: number;
  sample: number;
  prompt_tokens: number;
  device: string;
  /** The time that the chat template could write into the prompt; absent: it reads no clock. */
  prompt_time?: LocalTime;
  result: SampleResult;
}

/** Samples by their key, then by {@link sampleNumber}. */
type Known = Map<string, Map<number, SampleLine>>;

/** One number for a sample of a problem. */
export const sampleNumber = (index: number, sample: number) => index * 0x100000 + sample;

export class SampleStore {
  readonly #known: Known;
  #file: Deno.FsFile | null = null;
  readonly #encoder = new TextEncoder();
  /** Lines that are not yet written. */
  #waiting = "";
  #failure: unknown = null;

  private constructor(
    readonly path: string,
    /** Stamp in the names of all files of this run. */
    readonly stamp: string,
    known: Known,
  ) {
    this.#known = known;
  }

  /**
   * @param options.part end of the file's name, for one of several parts of a benchmark
   * @param options.resume whether to read the samples of earlier runs in the folder
   * @throws RgxError when the folder cannot be written to
   */
  static async open(
    folder: string,
    { part = "", resume }: { part?: string; resume: boolean },
  ): Promise<SampleStore> {
    const known: Known = new Map();
    if (await isFile(folder)) {
      throw new UsageError(`${folder}: it is a file, expected a folder for the results`, {
        advice: "Name another folder: --output-dir.",
      });
    }
    try {
      await Deno.mkdir(folder, { recursive: true });
      if (resume) {
        for await (const entry of Deno.readDir(folder)) {
          if (entry.isFile && FILE.test(entry.name)) {
            await readInto(`${folder}/${entry.name}`, known);
          }
        }
      }
      const { name, stamp } = await claimStamp(folder, "samples_", `${part}.jsonl`);
      return new SampleStore(`${folder}/${name}`, stamp, known);
    } catch (error) {
      const explained = explainFileError(error, "write the results", folder);
      if (explained !== error || error instanceof RgxError) throw explained;
      throw new RgxError(`${folder}: cannot write the results: ${messageOf(error)}`, {
        advice: "Name another folder: --output-dir.",
        cause: error,
      });
    }
  }

  get(key: string, index: number, sample: number): SampleLine | undefined {
    return this.#known.get(key)?.get(sampleNumber(index, sample));
  }

  /** The earliest time in the prompts of samples whose keys begin so; null = they have none. */
  promptTime(key: string): LocalTime | null {
    let earliest: LocalTime | null = null;
    for (const [known, samples] of this.#known) {
      if (!known.startsWith(key)) continue;
      for (const { prompt_time: time } of samples.values()) {
        if (time !== undefined && (earliest === null || time < earliest)) earliest = time;
      }
    }
    return earliest;
  }

  /** The error that stopped all writing, such as a full disk; else null. `close` throws it. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Writes a sample, together with all that are added in the same turn of the event loop. */
  add(line: SampleLine): void {
    remember(this.#known, line);
    if (this.#waiting === "") queueMicrotask(() => this.#write());
    this.#waiting += `${JSON.stringify(line)}\n`;
  }

  /** Writes the remaining lines. @throws RgxError when something could not be written */
  close(): void {
    this.#write();
    this.#file?.close();
    // A resume that finds all samples must not leave an empty file.
    if (this.#file === null) removeIfThere(this.path);
    if (this.#failure !== null) {
      throw explainFileError(this.#failure, "write the results", this.path);
    }
  }

  #write(): void {
    if (this.#waiting === "" || this.#failure !== null) return;
    const bytes = this.#encoder.encode(this.#waiting);
    this.#waiting = "";
    try {
      this.#file ??= Deno.openSync(this.path, { append: true, create: true });
      for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
    } catch (error) {
      this.#failure = error;
    }
  }
}

/** Whether a folder holds answers of an earlier benchmark. */
export async function hasSamples(folder: string): Promise<boolean> {
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (FILE.test(name) && (await Deno.stat(`${folder}/${name}`)).size > 0) return true;
    }
  } catch {
    // There is no such folder.
  }
  return false;
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // The file is already gone.
  }
}

function remember(known: Known, line: SampleLine): void {
  let samples = known.get(line.key);
  if (samples === undefined) known.set(line.key, samples = new Map());
  samples.set(sampleNumber(line.index, line.sample), line);
}

async function readInto(path: string, known: Known): Promise<void> {
  for (const text of linesOf(await Deno.readFile(path))) {
    // A line that is no JSON was cut off when the program was killed.
    const line: Partial<SampleLine> | null = jsonObjectOrNull(text);
    if (typeof line?.key !== "string" || line.result === undefined) continue;
    // Samples that failed are asked again.
    if (line.result.error && !line.result.too_long) continue;
    remember(known, line as SampleLine);
  }
}

/* The time stamp in the names of a benchmark's files; unique within the folder. */

/**
 * Makes the empty file `{prefix}{stamp}{suffix}` in a folder.
 * @returns its name and its stamp: the local time, or the next free second, since several programs
 *   may begin in the same second
 */
async function claimStamp(
  folder: string,
  prefix: string,
  suffix: string,
): Promise<{ name: string; stamp: string }> {
  const taken: string[] = [];
  for await (const { name } of Deno.readDir(folder)) taken.push(name);
  for (let at = Date.now();; at += 1000) {
    const stamp = timeStamp(new Date(at)), name = `${prefix}${stamp}${suffix}`;
    if (taken.some((name) => name.includes(stamp))) continue;
    try {
      (await Deno.open(`${folder}/${name}`, { write: true, createNew: true })).close();
      return { name, stamp };
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}
