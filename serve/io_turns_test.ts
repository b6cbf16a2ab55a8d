/** What reaches the server while it generates. Everything is counted in tokens, not in seconds. */
import assert from "node:assert/strict";
import { IoTurns } from "./model_host.ts";
import { type Order, STATE } from "./raw_client_testing.ts";
import { type TestServer, withServer } from "./testing.ts";

/** The request that runs, and the token at which something else happens. */
const LONG = { prompt: [3, 17, 5, 40], max_tokens: 60, ignore_eos: true }, AT = 5;
/**
 * Tokens after which the server has reacted: two turns of the event loop, and some more should the
 * machine deliver bytes late. A loop that never waits looks at the network at each 31st token.
 */
const WITHIN = 5;
/** Milliseconds for which a token waits for bytes that are on their way. */
const GRACE_MS = 50;

function post(body: object): string {
  const text = JSON.stringify(body);
  return `POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${text.length}` +
    `\r\n\r\n${text}`;
}

/** A client in another thread. Its methods stop this thread, so that no turn takes place. */
class Client implements Disposable {
  readonly #state = new Int32Array(new SharedArrayBuffer(4));
  readonly #worker = new Worker(import.meta.resolve("./raw_client_testing.ts"), {
    type: "module",
  });

  constructor(private readonly port: number) {}

  order(text: string): void {
    Atomics.store(this.#state, 0, STATE.idle);
    this.#worker.postMessage({ port: this.port, text, state: this.#state } satisfies Order);
  }

  close(): void {
    this.#worker.postMessage("close" satisfies Order);
    this.waitFor(STATE.closed);
  }

  /** @returns whether it has come so far */
  waitFor(state: number, ms = 60_000): boolean {
    const end = performance.now() + ms;
    for (;;) {
      const at = Atomics.load(this.#state, 0), left = end - performance.now();
      if (at >= state || left <= 0) return at >= state;
      Atomics.wait(this.#state, 0, at, left);
    }
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}

/** Calls `onToken` for each token of the next request. */
function watch({ host }: TestServer, onToken: (count: number, signal: AbortSignal) => void): void {
  const generate = host.generate.bind(host);
  host.generate = (model, request) => {
    host.generate = generate;
    let count = 0;
    return generate(model, {
      ...request,
      onToken(branch, token, logprob) {
        request.onToken?.(branch, token, logprob);
        onToken(++count, request.signal!);
      },
    });
  };
}

for (
  const [what, text] of [
    ["a look at its health", "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"],
    ["a request that is wrong", post({ prompt: "x", max_tokens: -1 })],
    ["another request", post({ ...LONG, max_tokens: 2, stream: true })],
  ] as const
) {
  Deno.test(`${what} is answered within a few tokens of a running request`, () =>
    withServer(
      async (server) => {
        using client = new Client(Number(new URL(server.url).port));
        let answered = Infinity;
        watch(server, (count) => {
          if (count === AT) {
            client.order(text);
            client.waitFor(STATE.sent);
          } else if (count > AT && answered === Infinity) {
            if (client.waitFor(STATE.answered, GRACE_MS)) answered = count - AT;
          }
        });
        const { usage } = await server.ask("/v1/completions", LONG);
        assert.equal(usage.completion_tokens, 60);
        assert.ok(answered <= WITHIN, `the answer came after ${answered} tokens`);
      },
      { host: { turnMs: 0 } },
    ));
}

Deno.test("a client that leaves is noticed within a few tokens of its own request", () =>
  withServer(
    async (server) => {
      using client = new Client(Number(new URL(server.url).port));
      const left = Promise.withResolvers<number>();
      let tokens = 0;
      watch(server, (count, signal) => {
        if (count === AT) {
          client.close();
          signal.addEventListener("abort", () => left.resolve(tokens - AT));
        }
        // Nothing wakes this thread: bytes that are under way get the time to come.
        if (count > AT && count <= AT + WITHIN) client.waitFor(Infinity, GRACE_MS / 5);
        if (count === LONG.max_tokens) left.resolve(Infinity);
        tokens = count;
      });
      client.order(post(LONG));
      const after = await left.promise;
      assert.ok(after <= WITHIN, `the server went on for ${after} tokens`);
    },
    { host: { turnMs: 0 } },
  ));

Deno.test("turns go on after their connection has broken", async () => {
  const turns = await IoTurns.open();
  await turns.turn();
  turns.close();
  await turns.turn();
  await turns.turn();
});

Deno.test("a client that leaves at any token of a stream harms nobody", () =>
  withServer(
    async (server) => {
      using client = new Client(Number(new URL(server.url).port));
      const tokens = 4;
      for (let at = 1; at <= tokens; at++) {
        const left = Promise.withResolvers<void>();
        watch(server, (count) => {
          if (count !== at) return;
          client.waitFor(STATE.answered, GRACE_MS);
          client.close();
          left.resolve();
        });
        client.order(post({ ...LONG, max_tokens: tokens, stream: true }));
        await left.promise;
        // Without an answer to this one, the server has ended.
        assert.equal((await server.ask("/v1/completions", LONG)).usage.completion_tokens, 60);
      }
      assert.deepEqual(server.defects, []);
    },
    { host: { turnMs: 0 } },
  ));
