/** Answers that are sent as server-sent events while they come. */
import { setImmediate } from "node:timers";
import type { ApiError } from "./api_error.ts";

/** A comment line this often keeps proxies from closing an idle connection. */
const PING_MS = 15_000;

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** Sends one event. */
export type Send = (event: object) => void;

/**
 * Streams what `produce` sends. The answer begins with the first event, or with the end, so that an
 * error before it has its own status. A failure afterwards is the last event. `[DONE]` ends a whole
 * stream.
 * @param leave called when the client closes the connection
 * @param explain the answer to an error
 * @param onEnd called when the stream has ended, however that was
 * @throws what `produce` throws before its first event
 */
export async function eventStream(
  produce: (send: Send) => Promise<void>,
  leave: () => void,
  explain: (error: unknown) => ApiError,
  onEnd: () => void,
): Promise<Response> {
  const encoder = new TextEncoder();
  let control: ReadableStreamDefaultController<Uint8Array> | null = null;
  let isOpen = true, unsent = "";
  const flush = () => {
    if (isOpen && unsent !== "") control!.enqueue(encoder.encode(unsent));
    unsent = "";
  };
  /** Events of one turn of the event loop are sent together: each write costs more than they do. */
  const write = (text: string) => {
    if (control !== null && unsent === "") setImmediate(flush);
    unsent += text;
  };
  const begun = Promise.withResolvers<void>();
  let hasBegun = false;
  const work = produce((event) => {
    // Events of /v1/responses have their names on a line of their own, too.
    const name = "type" in event ? `event: ${event.type}\n` : "";
    write(`${name}data: ${JSON.stringify(event)}\n\n`);
    hasBegun = true;
    begun.resolve();
  });
  const ended = work.then(() => write("data: [DONE]\n\n"), (error) => {
    if (!hasBegun) throw error;
    write(`data: ${JSON.stringify(explain(error).body)}\n\n`);
  });
  await Promise.race([begun.promise, ended]);
  let ping: ReturnType<typeof setInterval>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      control = controller;
      flush();
      ping = setInterval(() => write(": ping\n\n"), PING_MS);
      const close = () => {
        clearInterval(ping);
        flush();
        // Writing may have shown that the client has left.
        if (!isOpen) return;
        isOpen = false;
        controller.close();
        onEnd();
      };
      ended.then(close, close);
    },
    cancel() {
      isOpen = false;
      clearInterval(ping);
      leave();
      onEnd();
    },
  });
  return new Response(body, { headers: HEADERS });
}
