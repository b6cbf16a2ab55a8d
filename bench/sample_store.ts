/**
 * Every finished sample on disk at once, one JSON line each, so that a killed benchmark goes on where it was:
 * a run appends to a file of its own, `samples_{stamp}.jsonl`, and a resume reads all of them in the folder.
 * A sample is found again by a hash of all that it depends on; a line that was cut off is none.
 */
import { sha256Hex } from "../core/checksums.ts";
import { explainFileError } from "../core/atomic_file.ts";
import { VERSION } from "../core/version.ts";
import type { ModelRequest, SampleLine, TestSet } from "./types.ts";

const FILE = /^samples_.*\.jsonl$/;

/** Hash of a model, how it is asked, and a task. */
export function combinationKey(
  { name, settings, fingerprint }: ModelRequest,
  set: TestSet,
): string {
  // More samples, or more problems, are still the same samples.
  const { samples: _, ...sampling } = settings.sampling;
  const { from: __, ...prompt } = settings.prompt;
  const { taskName, parameters, seed, binary, shots } = set;
  return sha256Hex(JSON.stringify([
    VERSION,
    [name, fingerprint, prompt, sampling, settings.seed, settings.keepPromptTokens],
    [taskName, parameters, seed, binary, shots.map(({ question }) => question)],
  ])).slice(0, 32);
}

export class SampleStore {
  readonly #found: Map<string, SampleLine>;
  /** Made with the first line: a resume that finds everything leaves no empty file. */
  #file: Deno.FsFile | null = null;
  readonly #encoder = new TextEncoder();

  private constructor(readonly path: string, found: Map<string, SampleLine>) {
    this.#found = found;
  }

  /**
   * @param options.resume samples of earlier runs in the folder count
   * @throws RgxError when the folder cannot be written to
   */
  static async open(
    folder: string,
    name: string,
    options: { resume: boolean },
  ): Promise<SampleStore> {
    const found = new Map<string, SampleLine>();
    try {
      await Deno.mkdir(folder, { recursive: true });
      if (options.resume) {
        for await (const entry of Deno.readDir(folder)) {
          if (entry.isFile && FILE.test(entry.name)) {
            await readInto(`${folder}/${entry.name}`, found);
          }
        }
      }
      return new SampleStore(`${folder}/${name}`, found);
    } catch (error) {
      throw explainFileError(error, "write the results", folder);
    }
  }

  /** Samples that are known, earlier ones included. */
  get size(): number {
    return this.#found.size;
  }

  get(key: string, index: number, sample: number): SampleLine | undefined {
    return this.#found.get(`${key} ${index} ${sample}`);
  }

  /** On the disk when this returns. @throws RgxError when the disk is full */
  add(line: SampleLine): void {
    const bytes = this.#encoder.encode(JSON.stringify(line) + "\n");
    try {
      this.#file ??= Deno.openSync(this.path, { append: true, create: true });
      for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
    } catch (error) {
      throw explainFileError(error, "write the results", this.path);
    }
    this.#found.set(`${line.key} ${line.index} ${line.sample}`, line);
  }

  close(): void {
    this.#file?.close();
  }
}

async function readInto(path: string, found: Map<string, SampleLine>): Promise<void> {
  for (const text of (await Deno.readTextFile(path)).split("\n")) {
    let line: Partial<SampleLine> | null;
    try {
      line = JSON.parse(text);
    } catch {
      continue; // cut off when its program was killed
    }
    if (typeof line?.key !== "string" || line.result === undefined) continue;
    // Failures are tried again.
    if (line.result.error && !line.result.too_long) continue;
    found.set(`${line.key} ${line.index} ${line.sample}`, line as SampleLine);
  }
}
