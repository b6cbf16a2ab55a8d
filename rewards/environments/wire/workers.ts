/** Connections to programs or servers that answer calls, each one call at a time. */
import { messageOf, RgxError } from "../../../core/errors.ts";
import { Late } from "../../time_limit.ts";
import type { McpClient } from "./mcp_client.ts";

/** One of them. It is connected when it is needed, and again when it has ended. */
export class Worker {
  #client: McpClient | null = null;
  #last: Promise<unknown> = Promise.resolve();
  /** Calls that wait or are being answered. */
  waiting = 0;
  /** Dialogues that it has open. */
  sessions = 0;

  constructor(private readonly connect: () => Promise<McpClient>) {}

  /**
   * Does some work with the connection, after the work before.
   * @param on the only connection that will do
   * @throws what `work` throws; Late ends the connection; RgxError when `on` has ended
   */
  async run<T>(
    work: (client: McpClient) => Promise<T>,
    on: McpClient | null = null,
  ): Promise<T> {
    const before = this.#last, { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    this.waiting++;
    await before;
    try {
      if (on !== null && !this.isOn(on)) throw new RgxError("its program was started again");
      if (this.#client === null || this.#client.peer.ended !== null) {
        await this.end();
        this.#client = await this.connect();
      }
      return await work(this.#client);
    } catch (error) {
      // It may be busy with the call for ever.
      if (error instanceof Late) await this.end({ atOnce: true });
      throw error;
    } finally {
      this.waiting--;
      resolve();
    }
  }

  /** Whether this is its connection, and can be used. */
  isOn(client: McpClient): boolean {
    return client === this.#client && client.peer.ended === null;
  }

  async end(options?: { atOnce?: boolean }): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.close(options);
  }
}

/** The worker with the least to do, the first among equals. */
export function leastBusy(workers: readonly Worker[]): Worker {
  return workers.reduce((best, one) =>
    one.sessions + one.waiting < best.sessions + best.waiting ? one : best
  );
}

/** An error as an outcome. @throws what is no error for users */
export function failure(error: unknown): { error: string; late?: boolean } {
  if (!(error instanceof RgxError)) throw error;
  return error instanceof Late ? { error: error.message, late: true } : { error: messageOf(error) };
}
