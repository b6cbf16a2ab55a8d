/**
 * An HTTP server that cuts the connections of clients that keep it waiting. `Deno.serve` has no
 * such limits: each connection with half a header, and each download of one byte a second, would
 * hold one of the process's files for ever. So a front takes the connections, waits for the whole
 * header, and passes the bytes to `Deno.serve` on a port of this machine.
 */

import { messageOf, RgxError, UsageError } from "../errors.ts";
import { atMost } from "../machine/running_time.ts";

export interface FrontOptions {
  hostname: string;
  /** 0 = any free port. */
  port: number;
  /** Seconds in which the header of a connection's first request must have come. */
  headSeconds?: number;
  /** Seconds without a byte in either direction after which a connection is cut. */
  idleSeconds: number;
  /** Seconds in which a client must take PIECE bytes of an answer. */
  takeSeconds?: number;
}

export interface Front {
  port: number;
  /** Takes no more connections, and ends. @param graceSeconds for the answers that are under way */
  shutdown(graceSeconds?: number): Promise<void>;
}

/** A client, and its connection to the server behind the front. */
interface Link {
  client: Deno.TcpConn;
  inner: Deno.TcpConn | null;
  /** Limits: without any byte, and without the client reading the sent bytes. */
  idle: number;
  take: number;
  /** A promise that settles when both connections are closed. */
  over: Promise<void>;
}

const HEAD_SECONDS = 20, TAKE_SECONDS = 60, CHECK_MS = 250, PIECE = 2 ** 14, MAX_HEAD = 2 ** 15;
/** Wait after a connection that could not be taken, mostly because all files are in use. */
const FULL_MS = 50;
/** The longest wait that a timer can have. */
const MAX_WAIT_MS = 2 ** 31 - 1;
const INNER = "127.0.0.1";
const decoder = new TextDecoder("latin1");

/** @throws as Deno.listen does */
export function serveHttp(
  { hostname, port, headSeconds = HEAD_SECONDS, idleSeconds, takeSeconds = TAKE_SECONDS }:
    FrontOptions,
  handler: (request: Request) => Response | Promise<Response>,
  onError?: (error: unknown) => Response,
): Front {
  const listener = Deno.listen({ hostname, port });
  const server = Deno.serve({
    hostname: INNER,
    port: 0,
    onListen() {},
    handler,
    ...(onError === undefined ? {} : { onError }),
  });
  const links = new Set<Link>();
  /** Whether connections are taken, and the time at which the last one is cut. */
  let isOpen = true, end = Infinity;
  const timer = setInterval(() => {
    const now = performance.now();
    for (const link of links) if (now > Math.min(link.idle, link.take, end)) cut(link);
  }, Math.min(CHECK_MS, headSeconds * 1000));
  const later = (seconds: number) => performance.now() + seconds * 1000;

  /** Passes bytes on until one side ends. `bytes` come first. */
  const pass = async (link: Link, from: Deno.TcpConn, to: Deno.TcpConn, bytes: Uint8Array) => {
    // Bodies of requests may have megabytes.
    const piece = new Uint8Array(to === link.client ? PIECE : 4 * PIECE);
    for (let count: number | null = 0; count !== null; count = await from.read(piece)) {
      if (count > 0) bytes = piece.subarray(0, count);
      link.idle = later(idleSeconds);
      if (to === link.client) link.take = later(takeSeconds);
      while (bytes.length > 0) bytes = bytes.subarray(await to.write(bytes));
      if (to === link.client) link.take = Infinity;
    }
  };
  const serve = async (link: Link) => {
    const { client } = link;
    try {
      const head = await readHead(client);
      if (head === null) return;
      const inner = link.inner = await Deno.connect({ hostname: INNER, port: server.addr.port });
      // Each token of a stream is a small packet. It must not wait for the next token.
      for (const one of [client, inner]) one.setNoDelay(true);
      const nothing = new Uint8Array();
      await Promise.race([pass(link, client, inner, head), pass(link, inner, client, nothing)]);
    } catch {
      // One side has left, or the link was cut.
    } finally {
      cut(link);
      links.delete(link);
    }
  };
  const taking = (async () => {
    while (isOpen) {
      try {
        const client = await listener.accept();
        const idle = later(headSeconds), over = Promise.resolve();
        const link: Link = { client, inner: null, idle, take: Infinity, over };
        links.add(link);
        link.over = serve(link);
      } catch {
        if (isOpen) await new Promise((resolve) => setTimeout(resolve, FULL_MS));
      }
    }
  })();
  return {
    port: listener.addr.port,
    async shutdown(graceSeconds = Infinity) {
      isOpen = false;
      listener.close();
      await taking;
      end = later(graceSeconds);
      // Without an inner connection no answer is under way.
      for (const link of links) if (link.inner === null) cut(link);
      await server.shutdown();
      // What the server has sent may still be on its way to a client, until the timer cuts it.
      // Deno 2.6 does not even then end a write, so this waits no longer.
      const over = Promise.all([...links].map(({ over }) => over));
      await atMost(Math.min(MAX_WAIT_MS, end - performance.now() + 2 * CHECK_MS), over);
      clearInterval(timer);
    },
  };
}

/** The bytes that have come when the first header is complete; null if the client left before. */
async function readHead(client: Deno.TcpConn): Promise<Uint8Array | null> {
  const bytes = new Uint8Array(MAX_HEAD);
  for (let size = 0; size < MAX_HEAD;) {
    const count = await client.read(bytes.subarray(size));
    if (count === null) return null;
    size += count;
    // Lines may end without \r, too.
    const newest = decoder.decode(bytes.subarray(Math.max(0, size - count - 3), size));
    if (/\n\r?\n/.test(newest)) return bytes.subarray(0, size);
  }
  return null;
}

function cut({ client, inner }: Link): void {
  for (const one of [client, inner]) {
    try {
      one?.close();
    } catch {
      // The connection was closed already.
    }
  }
}

/** The host of an address `http://HOST:PORT`: one of IPv6 stands in brackets. */
export function hostInUrl(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** Why a program of this machine cannot be a server at an address. */
export function listenError(hostname: string, port: number, cause: unknown): RgxError {
  if (cause instanceof Deno.errors.AddrInUse) {
    return new RgxError(`port ${port} of ${hostname} is in use`, {
      advice: "Choose another one with --port; 0 takes a free one.",
      cause,
    });
  }
  return new UsageError(`${hostname}:${port}: cannot listen there: ${messageOf(cause)}`, {
    advice: "--host is an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them. " +
      "Ports below 1024 often belong to the administrator.",
    cause,
  });
}
