/**
 * A user's task in a process of its own, called as if it were a function: entries and scores are
 * needed one at a time, in the middle of other work.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { RgxError } from "../../core/errors.ts";
import type { FromWorker, TaskCall, TaskCard } from "./protocol.ts";
import { clearReply, createReply, readReply, type Request, waitForReply } from "./shared_reply.ts";

/** Time limit of a call, in seconds. */
const CALL_SECONDS = 10;
/** More than starting and loading take by their own limits. */
const EXTRA_SECONDS = 60;

export class TaskProcess {
  readonly #relay: Worker;
  readonly #reply = createReply();

  /** @param url the task's module as a `data:` URL */
  constructor(
    private readonly path: string,
    private readonly url: string,
    private readonly seconds = CALL_SECONDS,
  ) {
    this.#relay = new Worker(new URL("./relay.ts", import.meta.url));
    this.#relay.unref();
  }

  /** Loads the module. @throws RgxError when that fails */
  async load(): Promise<TaskCard> {
    this.#relay.ref();
    const replied = once(this.#relay, "message");
    this.#post(null);
    await replied;
    this.#relay.unref();
    const loaded = readReply(this.#reply);
    if (loaded.type === "loaded") return loaded.task;
    throw new RgxError("message" in loaded ? loaded.message : "it did not load");
  }

  /** @throws RgxError with the reason when the task throws or takes too long */
  call(call: TaskCall): Extract<FromWorker, { type: "result" }> {
    clearReply(this.#reply);
    this.#post({ type: "call", call });
    const answer = waitForReply(this.#reply, 1000 * (this.seconds + EXTRA_SECONDS));
    if (answer?.type === "result") return answer;
    const why = answer !== null && "message" in answer ? answer.message : "no answer came";
    throw new RgxError(`${this.path}: ${call.call}: ${why}`);
  }

  async close(): Promise<void> {
    await this.#relay.terminate();
  }

  #post(call: Request["call"]): void {
    const { url, seconds } = this, request: Request = { url, call, seconds, reply: this.#reply };
    this.#relay.postMessage(request);
  }
}
