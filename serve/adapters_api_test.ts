/** Adapters come and go while the server runs; a request keeps the one that it began with. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { eventsOf, type Reply, test, type TestServer, withServer } from "./testing.ts";

const PROMPT = [3, 17, 5, 40], ADAPTERS = ["one", "three"];
const BODY = {
  prompt: PROMPT,
  max_tokens: 20,
  seed: 7,
  logprobs: 0,
  return_token_ids: true,
  ignore_eos: true,
};

/** Loads adapters by the names of their folders, or unloads them. */
async function all(names: readonly string[], what: "load" | "unload", server: TestServer) {
  for (const lora_name of names) {
    const lora_path = `${server.folder}/${lora_name}`;
    const done = await server.post(`/v1/${what}_lora_adapter`, { lora_name, lora_path });
    const said = what === "load" ? "added" : "removed";
    assert.equal(await done.text(), `Success: LoRA adapter '${lora_name}' ${said} successfully.`);
  }
}

Deno.test("several adapters answer together, each as it does alone, in bfloat16 too", () =>
  withServer(async (server) => {
    const { url, ask, host, load } = server;
    assert.equal((await (await fetch(`${url}/version`)).json()).compute_dtype, "bfloat16");
    await all(ADAPTERS, "load", server);
    const models = ["base", ...ADAPTERS];
    const { data } = await (await fetch(`${url}/v1/models`)).json();
    assert.deepEqual(data.map(({ id, parent }: Reply) => [id, parent]), [
      ["base", null],
      ["one", "base"],
      ["three", "base"],
    ]);
    const expected: unknown[] = [];
    for (const name of models) {
      const { model } = await load(name === "base" ? undefined : name);
      const options = { maxNewTokens: 20, temperature: 1, seed: 7, eosIds: [] };
      const [group] = await model.generate([{ promptId: 0, promptIds: PROMPT, n: 1 }], options);
      expected.push([group![0]!.ids, group![0]!.logprobs]);
    }
    assert.notDeepEqual(expected[1], expected[2]);
    const asked = [0, 1, 2, 2, 1, 0, 1];
    const found = await Promise.all(
      asked.map((m) => ask("/v1/completions", { ...BODY, model: models[m] })),
    );
    assert.deepEqual(
      found.map(({ choices: [one] }) => [one.token_ids, one.logprobs.token_logprobs]),
      asked.map((m) => expected[m]),
    );
    assert.deepEqual(found.map(({ model }) => model), asked.map((m) => models[m]));
    await all(ADAPTERS, "unload", server);
    assert.deepEqual(host.models.map(({ id }) => id), ["base"]);
    const gone = await server.post("/v1/completions", { ...BODY, model: "one" });
    assert.equal(gone.status, 404);
    assert.equal((await gone.json()).error.code, "model_not_found");
  }, { computeDtype: "bfloat16" }));

test.withServer("a request keeps its adapter when it is replaced or unloaded meanwhile", async ({ ask, post, folder }) => {
  const load = (name: string, more = {}) =>
    post("/v1/load_lora_adapter", { lora_name: "mine", lora_path: `${folder}/${name}`, ...more })
      .then(async (response) => (await response.text(), response.status));
  assert.equal(await load("one"), 200);
  const body = { ...BODY, model: "mine", max_tokens: 200 };
  const [one] = (await ask("/v1/completions", body)).choices;
  const stream = await post("/v1/completions", { ...body, stream: true });
  // The stream has begun: its response is there.
  assert.equal(await load("three"), 400);
  assert.equal(await load("three", { load_inplace: true }), 200);
  const [two] = (await ask("/v1/completions", body)).choices;
  const other = await post("/v1/completions", { ...body, stream: true });
  await (await post("/v1/unload_lora_adapter", { lora_name: "mine" })).body?.cancel();
  const ids = (events: Reply[]) => events.flatMap(({ choices: [c] }) => c.token_ids ?? []);
  assert.deepEqual(ids(await eventsOf(stream)), one.token_ids);
  assert.deepEqual(ids(await eventsOf(other)), two.token_ids);
  assert.notDeepEqual(one.token_ids, two.token_ids);
  assert.equal((await post("/v1/unload_lora_adapter", { lora_name: "mine" })).status, 404);
});

test.withServer("an adapter can come in the request", async ({ ask, post, folder, load }) => {
  const files = Object.fromEntries(
    ["adapter_config.json", "adapter_model.safetensors"].map((name) =>
      [name, Buffer.from(Deno.readFileSync(`${folder}/one/${name}`)).toString("base64")] as const
    ),
  );
  const sent = await post("/v1/load_lora_adapter", { lora_name: "sent", lora_files: files });
  assert.equal(sent.status, 200, await sent.text());
  const { model } = await load("one");
  const options = { maxNewTokens: 20, temperature: 1, seed: 7, eosIds: [] };
  const [group] = await model.generate([{ promptId: 0, promptIds: PROMPT, n: 1 }], options);
  const { choices: [choice] } = await ask("/v1/completions", { ...BODY, model: "sent" });
  assert.deepEqual(choice.token_ids, group![0]!.ids);
  const config = JSON.parse(Deno.readTextFileSync(`${folder}/one/adapter_config.json`));
  // V8 alone would try this pattern for years.
  const hangs = JSON.stringify({ ...config, target_modules: "([a-z_.0-9]+)+X" });
  for (
    const change of [
      { "adapter_model.safetensors": "AAAA" },
      { "adapter_config.json": Buffer.from(hangs).toString("base64") },
    ]
  ) {
    const lora_files = { ...files, ...change };
    const refused = await post("/v1/load_lora_adapter", { lora_name: "x", lora_files });
    assert.equal(refused.status, 400);
    await refused.body?.cancel();
  }
});

Deno.test("adapters are loaded only from the named folders, and only if it is switched on", async () => {
  await withServer(async ({ ask, folder }) => {
    const load = (lora_path: string) => ask("/v1/load_lora_adapter", { lora_name: "x", lora_path });
    await Deno.symlink(`${folder}/one`, `${folder}/base/link`);
    const places = [
      `${folder}/one`,
      `${folder}/base/../one`,
      `${folder}/base/link`,
      "/nowhere",
      "",
    ];
    for (const path of [...places, "\0"]) {
      const { error } = await load(path);
      assert.match(error.message, /not below a folder of --allow-adapter-loading/, path);
    }
    // The folder itself is no adapter, and one below it without files is refused as such.
    await Deno.mkdir(`${folder}/base/empty`);
    assert.match((await load(`${folder}/base/empty`)).error.message, /adapter_config\.json/);
    for (const path of ["/v1/load_lora_adapter", "/v1/unload_lora_adapter"]) {
      for (const lora_name of [undefined, "", 5, "base", "x".repeat(300)]) {
        const { error } = await ask(path, { lora_name, lora_path: `${folder}/base/empty` });
        assert.equal(error.param, "lora_name", `${path} ${lora_name}`);
      }
    }
  }, { adapterFolders: ["base"] });
  await withServer(async ({ post, folder }) => {
    const body = { lora_name: "x", lora_path: `${folder}/one` };
    const refused = await post("/v1/load_lora_adapter", body);
    assert.equal(refused.status, 404);
    assert.match(await refused.text(), /--allow-adapter-loading/);
  }, { adapterFolders: [] });
});

test.withServer("an adapter that is unloaded gives its memory back", async (server) => {
  const { device } = server.host.base.loaded.model, held: number[] = [];
  for (let round = 0; round < 4; round++) {
    await all(ADAPTERS, "load", server);
    await Promise.all(
      ["base", ...ADAPTERS].map((model) => server.ask("/v1/completions", { ...BODY, model })),
    );
    await all(ADAPTERS, "unload", server);
    held.push(device.allocatedBytes);
  }
  assert.deepEqual(held.slice(2), [held[1], held[1]]);
});
