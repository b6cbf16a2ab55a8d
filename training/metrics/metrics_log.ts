/**
 * `metrics.jsonl`: one JSON object on each line, each step exactly once. Every checkpoint stores
 * the length of the file. On resume the file is cut back to that length, so that the steps which a
 * killed run wrote after its last checkpoint are not in it twice.
 */
import { appendLine, explainFileError } from "../../core/atomic_file.ts";

export class MetricsLog {
  #bytes: number;

  private constructor(
    readonly path: string,
    bytes: number,
    /** Bytes of earlier lines that are missing: the file was shorter than `truncateTo`. */
    readonly missingBytes: number,
  ) {
    this.#bytes = bytes;
  }

  /**
   * Opens the log, or creates it.
   * @param options.truncateTo length to cut the file back to; without it, only an incomplete last
   *   line is removed
   */
  static async open(path: string, options: { truncateTo?: number } = {}): Promise<MetricsLog> {
    const { truncateTo } = options;
    let content: Uint8Array;
    try {
      content = await Deno.readFile(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) {
        throw explainFileError(error, "read the metrics", path);
      }
      return new MetricsLog(path, 0, truncateTo ?? 0);
    }
    const wanted = Math.min(truncateTo ?? content.length, content.length);
    // A length that is not the end of a line belongs to another file: only whole lines are kept.
    const bytes = content.subarray(0, wanted).lastIndexOf(0x0a) + 1;
    if (bytes < content.length) {
      try {
        await Deno.truncate(path, bytes);
      } catch (error) {
        throw explainFileError(error, "cut back the metrics", path);
      }
    }
    return new MetricsLog(path, bytes, Math.max(0, (truncateTo ?? 0) - bytes));
  }

  /** Length of the file in bytes, which a checkpoint stores as metrics_bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Appends a record; NaN and infinities become null, since JSON cannot hold them.
   * @param options.sync wait until it is on the disk
   * @throws RgxError when the disk is full; the file then ends with the line before
   */
  async append(
    record: Readonly<Record<string, unknown>>,
    options: { sync?: boolean } = {},
  ): Promise<void> {
    this.#bytes = await appendLine(this.path, JSON.stringify(record), options);
  }

  /** Waits until all lines are on the disk. */
  async flush(): Promise<void> {
    if (this.#bytes === 0) return;
    using file = await Deno.open(this.path, { write: true });
    await file.sync();
  }
}
