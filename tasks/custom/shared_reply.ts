/** An answer in shared memory, for which a thread can wait without its event loop. */
import { runningWait } from "../../core/machine/running_time.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";

/** [state, bytes of the answer], before the answer itself. */
const HEADER = 2 * Int32Array.BYTES_PER_ELEMENT;
const FIRST_BYTES = 2 ** 16, MAX_BYTES = 2 ** 28;

/** A call for the relay. */
export interface Request {
  /** The task's module. */
  url: string;
  /** null: only load the module. */
  call: ToWorker | null;
  /** Time limit of the call. */
  seconds: number;
  reply: SharedArrayBuffer;
}

export function createReply(): SharedArrayBuffer {
  return new SharedArrayBuffer(FIRST_BYTES, { maxByteLength: MAX_BYTES });
}

/** Says that no answer is there yet. */
export function clearReply(reply: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(reply, 0, 2), 0, 0);
}

/** Writes an answer and wakes the thread that waits. */
export function writeReply(reply: SharedArrayBuffer, answer: FromWorker): void {
  let bytes = new TextEncoder().encode(JSON.stringify(answer));
  if (bytes.length + HEADER > MAX_BYTES) {
    const message = `its answer has ${bytes.length} bytes, the maximum is ${MAX_BYTES - HEADER}`;
    bytes = new TextEncoder().encode(JSON.stringify({ type: "error", message }));
  }
  if (bytes.length + HEADER > reply.byteLength) reply.grow(bytes.length + HEADER);
  new Uint8Array(reply).set(bytes, HEADER);
  const header = new Int32Array(reply, 0, 2);
  header[1] = bytes.length;
  Atomics.store(header, 0, 1);
  Atomics.notify(header, 0);
}

/** Waits for the answer. The thread does nothing else meanwhile. @returns null after the time */
export function waitForReply(reply: SharedArrayBuffer, milliseconds: number): FromWorker | null {
  const header = new Int32Array(reply, 0, 2);
  if (runningWait(header, 0, 0, milliseconds) === "timed-out") return null;
  return readReply(reply);
}

export function readReply(reply: SharedArrayBuffer): FromWorker {
  const [, length] = new Int32Array(reply, 0, 2);
  // A decoder takes no shared memory, so this is a copy.
  return JSON.parse(new TextDecoder().decode(new Uint8Array(reply, HEADER, length!).slice()));
}
