/** For tests: a worker that sends bytes while the server's thread waits, and says how far it is. */
/// <reference lib="deno.worker" />

/** What the worker has done; main reads it without a turn of its event loop. */
export const STATE = { idle: 0, sent: 1, answered: 2, closed: 3 } as const;

/** An order: send a text over a new connection, or close the last one. */
export type Order = { port: number; text: string; state: Int32Array } | "close";

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  let connection: Deno.TcpConn | null = null, state: Int32Array = new Int32Array();
  const now = (value: number) => {
    Atomics.store(state, 0, value);
    Atomics.notify(state, 0);
  };
  self.onmessage = async ({ data }: MessageEvent<Order>) => {
    if (data === "close") {
      connection?.close();
      connection = null;
      return now(STATE.closed);
    }
    state = data.state;
    const mine = connection = await Deno.connect({ hostname: "127.0.0.1", port: data.port });
    await mine.write(new TextEncoder().encode(data.text));
    now(STATE.sent);
    const count = await mine.read(new Uint8Array(2000)).catch(() => null);
    if (count !== null && connection === mine) now(STATE.answered);
  };
}
