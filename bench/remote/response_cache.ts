/**
 * A cache of remote models' answers on disk, one JSON line each, so that asking the same again
 * costs nothing. Lines that were cut off are ignored. A cache that cannot be read counts as empty,
 * with a warning.
 */
import { appendLine } from "../../core/atomic_file.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { messageOf } from "../../core/errors.ts";
import { linesOf } from "../../core/text_file.ts";
import type { ChatReply } from "./reply.ts";

export class ResponseCache {
  readonly #known = new Map<string, ChatReply>();
  #last: Promise<unknown> = Promise.resolve();
  /** Written before the next line: a line break, where the last line was cut off. */
  #before = "";
  #isBroken = false;

  private constructor(readonly path: string, readonly onWarning: (message: string) => void) {}

  static async open(path: string, onWarning: (message: string) => void): Promise<ResponseCache> {
    const cache = new ResponseCache(path, onWarning);
    let bytes = new Uint8Array();
    try {
      bytes = await Deno.readFile(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) {
        onWarning(`${path}: known answers cannot be read, all are asked for: ${messageOf(error)}`);
      }
    }
    for (const line of linesOf(bytes)) {
      try {
        const { key, reply } = JSON.parse(line);
        if (typeof key === "string" && isReply(reply)) cache.#known.set(key, reply);
      } catch {
        // The line was cut off when the program was killed.
      }
    }
    if (![undefined, 0x0a].includes(bytes.at(-1))) cache.#before = "\n";
    return cache;
  }

  /** @param request everything that the answer depends on */
  static key(request: unknown): string {
    return sha256Hex(JSON.stringify(request));
  }

  get(key: string): ChatReply | undefined {
    return this.#known.get(key);
  }

  /** Resolves when the answer is stored. A failure is only a warning, given once. */
  set(key: string, reply: ChatReply): Promise<unknown> {
    this.#known.set(key, reply);
    const line = this.#before + JSON.stringify({ key, reply });
    this.#before = "";
    return this.#last = this.#last.then(() => appendLine(this.path, line)).catch((error) => {
      if (!this.#isBroken) this.onWarning(`answers are not kept: ${messageOf(error)}`);
      this.#isBroken = true;
    });
  }
}

function isReply(reply: Partial<ChatReply> | null | undefined): reply is ChatReply {
  const { choices, promptTokens, completionTokens } = reply ?? {};
  return Array.isArray(choices) && choices.length > 0 &&
    choices.every((choice) => typeof choice?.text === "string") &&
    typeof promptTokens === "number" && typeof completionTokens === "number";
}
