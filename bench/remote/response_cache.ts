/**
 * Answers of remote models on disk, one JSON line each, so that asking the same again costs nothing. A line that
 * was cut off is none; a cache that cannot be read is an empty one.
 */
import { appendLine } from "../../core/atomic_file.ts";
import { sha256Hex } from "../../core/checksums.ts";
import type { ChatReply } from "./reply.ts";

export class ResponseCache {
  readonly #known = new Map<string, ChatReply>();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(readonly path: string) {}

  static async open(path: string): Promise<ResponseCache> {
    const cache = new ResponseCache(path);
    let text = "";
    try {
      text = await Deno.readTextFile(path);
    } catch {
      // nothing asked so far
    }
    for (const line of text.split("\n")) {
      try {
        const { key, reply } = JSON.parse(line);
        if (typeof key === "string" && Array.isArray(reply?.choices)) cache.#known.set(key, reply);
      } catch {
        // cut off when its program was killed
      }
    }
    return cache;
  }

  /** @param request all that the answer depends on */
  static key(request: unknown): string {
    return sha256Hex(JSON.stringify(request));
  }

  get(key: string): ChatReply | undefined {
    return this.#known.get(key);
  }

  /** Resolves when it is on the disk. @throws RgxError when the disk is full */
  set(key: string, reply: ChatReply): Promise<unknown> {
    this.#known.set(key, reply);
    const line = JSON.stringify({ key, reply });
    return this.#last = this.#last.catch(() => {}).then(() => appendLine(this.path, line));
  }
}
