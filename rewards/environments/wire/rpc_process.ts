/** JSON-RPC 2.0 with a program, one message a line: MCP's transport by stdin and stdout. */
import { RgxError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { LineProcess } from "../../../core/machine/line_process.ts";
import { runningTimeout } from "../../../core/machine/running_time.ts";
import { Late } from "../../time_limit.ts";

/** The other end of JSON-RPC. */
export interface Peer {
  /** Why no request can be sent any more; null: one can. */
  readonly ended: string | null;
  /** @throws RpcError for an error that was answered; Late; RgxError when the other end is gone */
  request(method: string, params: Params, seconds: number): Promise<unknown>;
  notify(method: string): void;
  close(options?: { atOnce?: boolean }): Promise<void>;
}

export type Params = Record<string, unknown>;

export class RpcError extends RgxError {
  constructor(message: string, readonly code: number, readonly data: unknown = null) {
    super(message);
  }
}

export const NO_METHOD = -32601;

interface Pending {
  resolve(result: unknown): void;
  reject(error: RgxError): void;
}

/** Lines that were no answer and are kept for messages. */
const STRAYS_KEPT = 3;

export class RpcProcess implements Peer {
  readonly #process: LineProcess;
  readonly #pending = new Map<string, Pending>();
  #requests = 0;
  /** What it wrote that answers nothing, in words. It changes no result. */
  readonly strays: string[] = [];

  /** @throws UsageError when the program cannot be started */
  constructor(command: readonly string[]) {
    this.#process = new LineProcess(command, (lines, ended) => {
      for (const line of lines) this.#take(line);
      if (ended === null) return;
      for (const { reject } of this.#pending.values()) reject(new RgxError(this.#explained(ended)));
      this.#pending.clear();
    });
  }

  get ended(): string | null {
    return this.#process.ended;
  }

  async request(method: string, params: Params, seconds: number): Promise<unknown> {
    if (this.ended !== null) throw new RgxError(this.#explained(this.ended));
    const id = ++this.#requests, { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(String(id), { resolve, reject });
    this.#process.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const stop = runningTimeout(() => {
      this.#pending.delete(String(id));
      reject(new Late(this.#explained(`gave no answer to ${method} within ${seconds} s`)));
    }, seconds * 1000);
    return await promise.finally(stop);
  }

  notify(method: string): void {
    this.#process.send(JSON.stringify({ jsonrpc: "2.0", method, params: {} }));
  }

  async close(options?: { atOnce?: boolean }): Promise<void> {
    await this.#process.close(options);
    for (const { reject } of this.#pending.values()) reject(new RgxError("it was ended"));
    this.#pending.clear();
  }

  #explained(what: string): string {
    return this.strays.length === 0 ? what : `${what}; ${this.strays.join("; ")}`;
  }

  #stray(what: string): void {
    if (this.strays.length < STRAYS_KEPT) this.strays.push(what);
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    let read: unknown;
    try {
      read = JSON.parse(line);
    } catch {
      read = null;
    }
    // Some versions of MCP allow lists of messages.
    const messages = Array.isArray(read) ? read : [read];
    for (const message of messages) {
      if (isRecord(message)) this.#takeMessage(message);
      else {
        const text = line.length > 200 ? `${line.slice(0, 200)}…` : line;
        this.#stray(`it wrote ${JSON.stringify(text)} to its stdout, which is for messages only`);
      }
    }
  }

  #takeMessage(message: Record<string, unknown>): void {
    const { id, method } = message;
    if (typeof method === "string") {
      // A notification needs no answer, and of its requests only this one has one.
      if (id === undefined) return;
      const answer = method === "ping"
        ? { result: {} }
        : { error: { code: NO_METHOD, message: `rgx has no ${method}` } };
      return this.#process.send(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    }
    const pending = this.#pending.get(String(id));
    if (pending === undefined) {
      const isKnown = Number.isInteger(Number(id)) && Number(id) > 0 &&
        Number(id) <= this.#requests;
      const how = isKnown ? "twice, or too late" : "which was not sent";
      return this.#stray(`it answered request ${JSON.stringify(id ?? null)}, ${how}`);
    }
    this.#pending.delete(String(id));
    try {
      pending.resolve(resultOf(message));
    } catch (error) {
      pending.reject(error as RgxError);
    }
  }
}

/** The result of an answer. @throws RpcError for its error; RgxError for one that has neither */
export function resultOf({ result, error }: Record<string, unknown>): unknown {
  if (error === undefined) {
    if (result !== undefined) return result;
    throw new RgxError("answered with neither result nor error");
  }
  const { message, code, data } = isRecord(error) ? error : { message: error };
  const text = typeof message === "string" ? message : JSON.stringify(message ?? error);
  throw new RpcError(text, typeof code === "number" ? code : 0, data);
}
