/** Addresses of servers, and where questions and the key may go. */
import assert from "node:assert/strict";
import { baseUrl } from "../../core/remote/address.ts";
import {
  answer,
  delta,
  failure,
  type Handler,
  stream,
  withServer,
} from "../../core/remote/testing.ts";
import { ask, asked, serving } from "./testing.ts";

const apiKeyEnv = "RGX_TEST_KEY";

async function withKey(key: string, work: () => Promise<void>): Promise<void> {
  Deno.env.set(apiKeyEnv, key);
  await work().finally(() => Deno.env.delete(apiKeyEnv));
}

Deno.test("the key is in no message, even when the server repeats it", async () => {
  const key = "sk-secret-1234";
  const cases: Handler[] = [
    ({ key }) => failure(401, `wrong key: ${key}`),
    ({ key }) => new Response(`Traceback ${key}`, { status: 400 }),
    ({ key }) => new Response(`oops ${key}`, { headers: { "content-type": "text/plain" } }),
    ({ key }) => stream([delta("a"), { error: { message: `no ${key}` } }]),
  ];
  await withKey(` ${key}\n`, async () => {
    for (const handler of cases) {
      await serving(handler, async (url, folder, requests) => {
        const warnings: string[] = [], onWarning = (text: string) => warnings.push(text);
        const cache = `${folder}/cache.jsonl`;
        const done = await ask(url, folder, { apiKeyEnv, cache, attempts: 3, onWarning });
        assert.equal(requests[0]!.key, `Bearer ${key}`);
        for (const { name } of Deno.readDirSync(folder)) {
          assert.ok(!Deno.readTextFileSync(`${folder}/${name}`).includes(key), name);
        }
        assert.ok(!JSON.stringify([done.result, done.events, warnings]).includes(key));
      });
    }
  });
  await withKey(
    "sk-secret\n1234",
    () =>
      assert.rejects(ask("http://127.0.0.1:9", "nowhere", { apiKeyEnv }), (error: Error) => {
        assert.match(error.message, /the key in RGX_TEST_KEY has characters that no key has/);
        return !error.message.includes("sk-secret");
      }),
  );
});

Deno.test("a message names the key's variable, but never a key given in its place", async () => {
  const none = { apiKeyEnv: "RGX_NO_SUCH_KEY" };
  const { done } = await asked(() => failure(401, "who is there?"), none);
  assert.match(
    done.result.failures[0]!.error,
    /401: who is there\? \(no key was sent: RGX_NO_SUCH_KEY is not set\)/,
  );
  await assert.rejects(
    ask("http://127.0.0.1:9", "nowhere", { apiKeyEnv: "sk-secret-1234" }),
    (error: Error) => {
      assert.match(error.message, /expected the name of an environment variable/);
      return !String(error.stack).includes("sk-secret");
    },
  );
  const listen = { port: 0, hostname: "127.0.0.1", onListen() {} };
  await using guarded = Deno.serve(listen, () => failure(401, 'say "please"'));
  await assert.rejects(
    ask(`http://127.0.0.1:${guarded.addr.port}`, "nowhere", none),
    /the key is refused \(401; .*\): say "please"$/,
  );
});

Deno.test("addresses may have /v1 or more than a host: Azure's query, a version, an endpoint", async () => {
  const plain = {
    "http://h:1": "http://h:1/v1",
    "http://h:1/": "http://h:1/v1",
    "http://h:1/v1/": "http://h:1/v1",
    "http://h:1/v1/chat/completions": "http://h:1/v1",
    "https://h/api/v2": "https://h/api/v2",
    "http://h/v1beta/openai/": "http://h/v1beta/openai",
    "http://h/v1/projects/p/endpoints/openapi": "http://h/v1/projects/p/endpoints/openapi",
    "http://h/inference/chat/completions": "http://h/inference",
    "http://h/openai/deployments/gpt?api-version=1": "http://h/openai/deployments/gpt",
    "http://me:secret@h/v1?token=secret#x": "http://h/v1",
    "http://[::1]:8000": "http://[::1]:8000/v1",
  };
  for (const [given, url] of Object.entries(plain)) assert.equal(baseUrl(given), url);
  assert.throws(() => baseUrl("localhost"), /not an address/);
  assert.throws(() => baseUrl("ftp://h/v1"), /expected http/);
  await withKey("azure-key", () =>
    serving(answer, async (url, folder, requests) => {
      const address = `${url}/openai/deployments/gpt?api-version=2024-06-01`;
      const done = await ask(address, folder, { apiKeyEnv });
      const { path, query, apiKey } = requests[0]!;
      assert.deepEqual(
        [path, query, apiKey],
        ["/openai/deployments/gpt/chat/completions", "?api-version=2024-06-01", "azure-key"],
      );
      assert.equal(done.remote!.url, `${url}/openai/deployments/gpt`);
    }));
});

Deno.test("a redirect is followed only on the same host", async () => {
  const to = (status: number, location: string) => () =>
    new Response(null, { status, headers: { location } });
  const { done, requests } = await asked((request) =>
    request.path.startsWith("/here") ? answer(request) : to(307, `/here${request.path}`)()
  );
  assert.deepEqual([done.exitCode, requests.length], [0, 10]);
  await withServer(answer, async (other, foreign) => {
    for (const [status, target] of [[301, "/elsewhere/v1"], [308, `${other}/v1`]] as const) {
      const { url, done, requests } = await asked(to(status, `${target}/chat/completions`));
      const where = target.startsWith("/") ? url + target : target;
      assert.equal(
        done.result.failures[0]!.error,
        `${url}/v1: ${status}: the server redirects to ${where}: is that its address?`,
      );
      assert.deepEqual([requests.length, foreign.length], [1, 0]);
    }
  });
});
