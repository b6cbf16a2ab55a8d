/** Addresses of servers, and where questions and the key may go. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { baseUrl } from "../../core/remote/address.ts";
import {
  answer,
  delta,
  failure,
  type Handler,
  stream,
  withServer,
} from "../../core/remote/testing.ts";
import { ask } from "./testing.ts";

const sse = (text: string, type = "text/event-stream") =>
  new Response(text, { headers: { "content-type": type } });

Deno.test("the key is in no message, even when the server repeats it", async () => {
  const key = "sk-secret-1234";
  Deno.env.set("RGX_TEST_KEY", ` ${key}\n`);
  const cases: Handler[] = [
    ({ key }) => failure(401, `wrong key: ${key}`),
    ({ key }) => new Response(`Traceback ${key}`, { status: 400 }),
    ({ key }) => sse(`oops ${key}`, "text/plain"),
    ({ key }) => stream([delta("a"), { error: { message: `no ${key}` } }]),
  ];
  try {
    for (const handler of cases) {
      await withServer(handler, (url, requests) =>
        withFolder(async (folder) => {
          const warnings: string[] = [];
          const onWarning = (text: string) => warnings.push(text);
          const apiKeyEnv = "RGX_TEST_KEY", cache = `${folder}/cache.jsonl`;
          const done = await ask(url, folder, { apiKeyEnv, cache, attempts: 3, onWarning });
          assert.equal(requests[0]!.key, `Bearer ${key}`);
          for (const { name } of Deno.readDirSync(folder)) {
            assert.ok(!Deno.readTextFileSync(`${folder}/${name}`).includes(key), name);
          }
          assert.ok(!JSON.stringify([done.result, done.events, warnings]).includes(key));
        }));
    }
    Deno.env.set("RGX_TEST_KEY", "sk-secret\n1234");
    await assert.rejects(
      ask("http://127.0.0.1:9", "nowhere", { apiKeyEnv: "RGX_TEST_KEY" }),
      (error: Error) => {
        assert.match(error.message, /the key in RGX_TEST_KEY has characters that no key has/);
        return !error.message.includes("sk-secret");
      },
    );
  } finally {
    Deno.env.delete("RGX_TEST_KEY");
  }
});

Deno.test("a message names the key's variable, but never a key given in its place", async () => {
  await withServer(() => failure(401, "who is there?"), (url) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { apiKeyEnv: "RGX_NO_SUCH_KEY" });
      assert.match(
        done.result.failures[0]!.error,
        /401: who is there\? \(no key was sent: RGX_NO_SUCH_KEY is not set\)/,
      );
      await assert.rejects(ask(url, folder, { apiKeyEnv: "sk-secret-1234" }), (error: Error) => {
        assert.match(error.message, /expected the name of an environment variable/);
        return !String(error.stack).includes("sk-secret");
      });
    }));
  const guarded = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => failure(401, 'say "please"'),
  );
  try {
    await assert.rejects(
      ask(`http://127.0.0.1:${guarded.addr.port}`, "nowhere", { apiKeyEnv: "RGX_NO_SUCH_KEY" }),
      /the key is refused \(401; .*\): say "please"$/,
    );
  } finally {
    await guarded.shutdown();
  }
});

Deno.test("addresses with more than a host: Azure's query, a version, an endpoint", async () => {
  const plain = {
    "http://h/v1beta/openai/": "http://h/v1beta/openai",
    "http://h/v1/projects/p/endpoints/openapi": "http://h/v1/projects/p/endpoints/openapi",
    "http://h/inference/chat/completions": "http://h/inference",
    "http://h/openai/deployments/gpt?api-version=1": "http://h/openai/deployments/gpt",
    "http://me:secret@h/v1?token=secret#x": "http://h/v1",
    "http://[::1]:8000": "http://[::1]:8000/v1",
  };
  for (const [given, url] of Object.entries(plain)) assert.equal(baseUrl(given), url);
  Deno.env.set("RGX_TEST_KEY", "azure-key");
  try {
    await withServer(answer, (url, requests) =>
      withFolder(async (folder) => {
        const address = `${url}/openai/deployments/gpt?api-version=2024-06-01`;
        const done = await ask(address, folder, { apiKeyEnv: "RGX_TEST_KEY" });
        assert.equal(requests[0]!.path, "/openai/deployments/gpt/chat/completions");
        assert.equal(requests[0]!.query, "?api-version=2024-06-01");
        assert.equal(requests[0]!.apiKey, "azure-key");
        assert.equal(done.remote!.url, `${url}/openai/deployments/gpt`);
      }));
  } finally {
    Deno.env.delete("RGX_TEST_KEY");
  }
});

Deno.test("a redirect is followed only on the same host", async () => {
  const to = (status: number, location: string) => () =>
    new Response(null, { status, headers: { location } });
  await withServer(
    (request) =>
      request.path.startsWith("/here") ? answer(request) : to(307, `/here${request.path}`)(),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder);
        assert.deepEqual([done.exitCode, requests.length], [0, 10]);
      }),
  );
  const foreign: string[] = [];
  await withServer(
    (request) => (foreign.push(request.path), answer(request)),
    async (other) => {
      for (
        const [status, target] of [[301, "/elsewhere/v1"], [308, `${other}/v1`]] as const
      ) {
        await withServer(
          to(status, `${target}/chat/completions`),
          (url, requests) =>
            withFolder(async (folder) => {
              const done = await ask(url, folder);
              const where = target.startsWith("/") ? url + target : target;
              const message =
                `${url}/v1: ${status}: the server redirects to ${where}: is that its address?`;
              assert.equal(done.result.failures[0]!.error, message);
              assert.deepEqual([requests.length, foreign], [1, []]);
            }),
        );
      }
    },
  );
});
