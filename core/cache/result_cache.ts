/**
 * A cache of results on disk, one JSON line each, so that asking for the same again costs nothing.
 * The key is a hash of everything that a result depends on. Lines that were cut off are ignored. A
 * cache that cannot be read counts as empty, with a warning. Several processes may add to one file.
 * Each process knows the results that the file had when it was opened, and its own.
 */
import { appendLine } from "../atomic_file.ts";
import { sha256Hex } from "../checksums.ts";
import { messageOf } from "../errors.ts";
import { jsonObjectOrNull } from "../json_file.ts";
import { linesOf } from "../text_file.ts";

export class ResultCache<T> {
  readonly #known = new Map<string, T>();
  #last: Promise<unknown> = Promise.resolve();
  /** A text to write before the next line: a line break if the last line was cut off. */
  #before = "";
  #isBroken = false;

  private constructor(readonly path: string, readonly onWarning: (message: string) => void) {}

  /** @param isResult whether a value of the file is a result; other lines are ignored */
  static async open<T>(
    path: string,
    isResult: (value: unknown) => value is T,
    onWarning: (message: string) => void,
  ): Promise<ResultCache<T>> {
    const cache = new ResultCache<T>(path, onWarning);
    let bytes = new Uint8Array();
    try {
      bytes = await Deno.readFile(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) {
        onWarning(`${path}: known answers cannot be read, all are asked for: ${messageOf(error)}`);
      }
    }
    for (const line of linesOf(bytes)) {
      // A line that is no JSON was cut off when the program was killed.
      const { key, reply } = jsonObjectOrNull(line) ?? {};
      if (typeof key === "string" && isResult(reply)) cache.#known.set(key, reply);
    }
    if (![undefined, 0x0a].includes(bytes.at(-1))) cache.#before = "\n";
    return cache;
  }

  /** @param request everything that the result depends on */
  static key(request: unknown): string {
    return sha256Hex(JSON.stringify(request));
  }

  get(key: string): T | undefined {
    return this.#known.get(key);
  }

  /** Resolves when the result is stored. A failure is only a warning, given once. */
  set(key: string, reply: T): Promise<unknown> {
    this.#known.set(key, reply);
    const line = this.#before + JSON.stringify({ key, reply });
    this.#before = "";
    return this.#last = this.#last.then(() => appendLine(this.path, line)).catch((error) => {
      if (!this.#isBroken) this.onWarning(`answers are not kept: ${messageOf(error)}`);
      this.#isBroken = true;
    });
  }
}
