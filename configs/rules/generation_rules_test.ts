import assert from "node:assert/strict";
import { assertErrors, errorsOf, load, MINIMAL } from "../testing.ts";

const SERVED = "lora: {r: 4}\ngeneration: {backend: openai, base_url: http://host:8000";

Deno.test("sampling on servers needs an address and an adapter", async () => {
  const lines = await errorsOf(`${MINIMAL}generation: {backend: openai}\n`);
  assert.match(lines.join("\n"), /generation\.backend: openai needs generation\.base_url/);
  assert.match(lines.join("\n"), /generation\.backend: openai sends the adapter of the run/);
  assert.match(
    (await errorsOf(`${MINIMAL}lora: {r: 4}\ngeneration: {backend: openai, base_url: host}\n`))[0]!,
    /generation\.base_url: .*an address such as http:\/\/HOST:8000/,
  );
});

/** YAML after MINIMAL, and deeper its error. */
const IN_PROCESS = `
generation: {base_url: http://host}
  …has no effect with generation.backend in_process…
generation: {max_staleness: 1}
  …has no effect with generation.backend in_process…
generation: {api_key_env: KEY}
  …has no effect with generation.backend in_process…
generation: {server_timeout: 5}
  …has no effect with generation.backend in_process…
`;

/** Beside max_staleness, which excludes what makes the next prompts depend on scores. */
const STALE = `
dynamic_sampling: true
  …excludes dynamic_sampling…
num_iterations: 2
  …each step must have its own generation…
steps_per_generation: 4
  …each step must have its own generation…
curriculum: {enabled: true}
  …excludes curriculum…
`;

/** The bounds of the sampler's ratio, as in TRL. */
const BOUNDS = String.raw`
vllm_importance_sampling_clip_min: 3.5
  …3.5 is not below vllm_importance_sampling_clip_max 3…
vllm_importance_sampling_mode: token_truncate\nvllm_importance_sampling_clip_max: null
  …token_truncate needs a bound…
loss_type: vespo
  …vespo needs token_truncate or token_mask, found sequence_mask…
`;

Deno.test("keys that servers or the process itself exclude are refused", async () => {
  await assertErrors(IN_PROCESS);
  await assertErrors(STALE, `${MINIMAL}${SERVED}, max_staleness: 1}\n`);
  await assertErrors(BOUNDS, `${MINIMAL}${SERVED}}\n`);
  const { generation } = (await load(`${MINIMAL}${SERVED}, max_staleness: 2}\n`)).config;
  assert.deepEqual([generation.max_staleness, generation.base_url], [2, ["http://host:8000"]]);
});

Deno.test("TRL's keys of a vLLM server are those of section generation", async () => {
  const base = `${MINIMAL}lora: {r: 4}\nuse_vllm: true\n`;
  const served = async (more: string) => (await load(base + more)).config.generation;
  assert.deepEqual(await served("vllm_mode: server\n"), {
    backend: "openai",
    base_url: ["http://127.0.0.1:8000"],
    api_key_env: null,
    server_timeout: 240,
    max_staleness: 0,
    activations: "float32",
    kv_cache_dtype: "float32",
  });
  const more = "vllm_mode: server\nvllm_server_host: node7\nvllm_server_port: 9000\n" +
    "vllm_server_timeout: 60\n";
  const { base_url, server_timeout } = await served(more);
  assert.deepEqual([base_url, server_timeout], [["http://node7:9000"], 60]);
  const url = "vllm_server_base_url: https://there/v1\n";
  assert.deepEqual((await served(more + url)).base_url, ["https://there/v1"]);
  for (const mode of ["", "vllm_mode: colocate\n"]) {
    const { notes, config } = await load(base + mode);
    assert.equal(config.generation.backend, "in_process");
    assert.match(notes.join("\n"), /use_vllm: accepted, .* as vllm_mode colocate does in TRL/);
  }
  const { notes, config } = await load(`${MINIMAL}vllm_mode: server\nvllm_server_host: node7\n`);
  assert.equal(config.generation.backend, "in_process");
  assert.equal(notes.filter((note) => /only matters with use_vllm/.test(note)).length, 2);
});
