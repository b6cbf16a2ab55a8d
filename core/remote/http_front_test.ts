/** What clients that keep a server waiting get, and what the others notice of them. */
import assert from "node:assert/strict";
import { type Front, type FrontOptions, serveHttp } from "./http_front.ts";

const LARGE = 2 ** 24;

async function withFront(
  limits: Partial<FrontOptions>,
  work: (front: Front, url: string) => Promise<void>,
): Promise<void> {
  const front = serveHttp(
    { hostname: "127.0.0.1", port: 0, idleSeconds: 60, ...limits },
    async (request) => {
      const text = await request.text().catch(() => "cut");
      if (!request.url.endsWith("/large")) return new Response(text);
      return new Response(new Uint8Array(LARGE));
    },
  );
  try {
    await work(front, `http://127.0.0.1:${front.port}`);
  } finally {
    await front.shutdown(0);
  }
}

/** Sends bytes and waits until the server closes the connection. */
async function untilCut(port: number, text: string): Promise<void> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  if (text !== "") await connection.write(new TextEncoder().encode(text));
  const piece = new Uint8Array(100);
  try {
    while (await connection.read(piece) !== null);
  } catch (error) {
    assert.ok(error instanceof Deno.errors.ConnectionReset);
  }
  connection.close();
}

async function echo(url: string, body: string): Promise<void> {
  const response = await fetch(url, { method: "POST", body });
  assert.equal(await response.text(), body);
}

Deno.test("connections with half a header are cut, and others get their answers", () =>
  withFront({ headSeconds: 0.2 }, async ({ port }, url) => {
    const halves = ["", "G", "POST / HTTP/1.1\r\nhost: local", "x".repeat(1000)];
    const cut = Array.from({ length: 40 }, (_, i) => untilCut(port, halves[i % halves.length]!));
    for (const length of [0, 1, 100_000, 2_000_000]) await echo(url, "b".repeat(length));
    await Promise.all(cut);
    await untilCut(port, `GET / HTTP/1.1\r\nx: ${"x".repeat(2 ** 16)}`);
    await echo(url, "again");
  }));

Deno.test("a connection without a byte for too long is cut, also with a whole header", () =>
  withFront({ idleSeconds: 0.2 }, async ({ port }, url) => {
    await untilCut(port, "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nhalf");
    await echo(url, "whole");
  }));

/** Asks for a large answer and takes its first byte. */
async function begin(port: number): Promise<Deno.TcpConn> {
  const slow = await Deno.connect({ hostname: "127.0.0.1", port });
  await slow.write(
    new TextEncoder().encode("GET /large HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
  );
  await slow.read(new Uint8Array(1));
  return slow;
}

/** The rest of what a connection holds. */
async function rest(connection: Deno.TcpConn): Promise<number> {
  const piece = new Uint8Array(2 ** 16);
  let size = 0;
  for (;;) {
    const count = await connection.read(piece).catch(() => null);
    if (count === null) break;
    size += count;
  }
  connection.close();
  return size;
}

Deno.test("a client that does not take its answer is cut, and an end does not wait for it", async () => {
  await withFront({ takeSeconds: 0.2 }, async ({ port }, url) => {
    const slow = await begin(port);
    await echo(url, "others");
    await new Promise((resolve) => setTimeout(resolve, 800));
    assert.ok(await rest(slow) < LARGE);
    assert.ok(await rest(await begin(port)) >= LARGE - 1, "who takes it gets all of it");
  });
  const connections: Deno.TcpConn[] = [];
  await withFront({}, async (front) => {
    connections.push(await begin(front.port));
    await front.shutdown(0.1);
    await assert.rejects(Deno.connect({ hostname: "127.0.0.1", port: front.port }));
    front.shutdown = () => Promise.resolve();
  });
  assert.ok(await rest(connections[0]!) < LARGE);
});
