/**
 * Runs whose completions come from servers: the same bits as in one process, also when a server is
 * killed, and what happens when servers are down, refuse, or serve something else.
 */
import assert from "node:assert/strict";
import { writeEnvironment } from "../../bench/dialogue/testing.ts";
import { type ConfigChanges, tinyRunConfig, warningsOf } from "../testing.ts";
import { withServers } from "./run_testing.ts";
import { failure } from "./server_testing.ts";

const STEPS = 4;

const openai = (base_url: string[], more: ConfigChanges["generation"] = {}): ConfigChanges => ({
  generation: { backend: "openai", base_url, server_timeout: 20, ...more },
});

Deno.test("with servers of this program, a run has the bits of a run in one process", () =>
  withServers(async ({ start, run, outcome, alone }) => {
    const one = await start(), two = await start();
    const finished = await run("served", openai([one.url, `${two.url}/v1`]));
    assert.equal(finished.summary.status, "completed");
    assert.deepEqual(await outcome("served"), await alone());
    // Both have worked, each step with an adapter of its own, and none is left behind.
    for (const { requests, adapters } of [one, two]) {
      assert.ok(requests.length > 0);
      assert.equal(new Set(requests.map(({ model }) => model)).size, STEPS);
      assert.equal(adapters.size, 0);
    }
    assert.equal(one.requests.length + two.requests.length, STEPS * 4);
    assert.deepEqual(warningsOf(finished), []);
  }));

Deno.test("dialogues with servers have the bits of dialogues in one process", () =>
  withServers(async ({ start, run, outcome, at }) => {
    const environment = await writeEnvironment(
      at(""),
      `{ step: ({ content }) => ({ content: "go on", reward: content.length % 3 }) }`,
    );
    const talk = { environment, multi_turn: { max_turn_tokens: 8, max_assistant_turns: 3 } };
    await run("alone", talk);
    const one = await start(), two = await start();
    const finished = await run("served", { ...talk, ...openai([one.url, two.url]) });
    assert.deepEqual(await outcome("served"), await outcome("alone"));
    const { metrics } = await outcome("served");
    assert.ok(metrics.some((line) => Number(line["num_turns/max"]) > 2));
    for (const { requests } of [one, two]) assert.ok(requests.length > STEPS);
    assert.deepEqual(warningsOf(finished), []);
  }));

Deno.test("a prompt that a server fails on goes to another one, with the same bits", () =>
  withServers(async ({ start, run, outcome, alone }) => {
    const good = await start(), bad = await start();
    bad.before = (path, count) =>
      path === "/v1/completions" && count % 3 === 0
        ? failure(500, "out of luck")
        : path === "/v1/completions" && count % 3 === 1
        ? failure(429, "busy", { "retry-after-ms": "5" })
        : null;
    const finished = await run("served", openai([good.url, bad.url]));
    assert.deepEqual(await outcome("served"), await alone());
    assert.ok(warningsOf(finished).some((text) => /is down \(500: out of luck\)/.test(text)));
  }));

/** How the only server fails from its tenth request on, and what the run says. */
const OUTAGES: [what: string, answer: () => Response, said: RegExp][] = [
  ["is down", () => failure(503, "shutting down"), /no server of generation.base_url/],
  ["refuses", () => failure(401, "who are you?"), /no server .* is left \(.*who are you\?/],
];

for (const [what, answer, said] of OUTAGES) {
  Deno.test(`when the last server ${what}, the run stops with a checkpoint and goes on later`, () =>
    withServers(async ({ start, run, outcome, alone }) => {
      const server = await start(), served = openai([server.url], { server_timeout: 0.05 });
      server.before = (path) =>
        path === "/v1/completions" && server.requests.length >= 10 ? answer() : null;
      const stopped = await run("served", served);
      assert.equal(stopped.summary.status, "stopped");
      assert.ok(warningsOf(stopped).some((text) => said.test(text)));
      assert.ok(stopped.summary.checkpoint !== null);
      server.before = () => null;
      const finished = await run("served", served, { resume: true });
      assert.equal(finished.summary.status, "completed");
      assert.deepEqual(await outcome("served"), await alone());
    }));
}

Deno.test("another server gets adapters by path, and the loss is corrected for it", () =>
  withServers(async ({ at, start, run, outcome }) => {
    const server = await start({ foreign: true });
    await run("served", openai([server.url]));
    const { metrics } = await outcome("served");
    const logged = metrics.find((line) => "loss" in line)!;
    for (const name of ["min", "mean", "max"]) {
      const ratio = logged[`sampling/importance_sampling_ratio/${name}`] as number;
      assert.ok(Math.abs(ratio - 1) < 1e-3, `${name} ${ratio}`);
    }
    assert.equal(new Set(server.requests.map(({ seed }) => seed)).size, server.requests.length);
    // The folders that the server read are gone.
    assert.deepEqual([...Deno.readDirSync(`${at("served")}/rollout_adapters`)], []);
    assert.ok(tinyRunConfig("").training.vllm_importance_sampling_correction);
  }));

Deno.test("a server that comes back and takes no adapters is left out, with the same bits", () =>
  withServers(async ({ start, run, outcome, alone }) => {
    const good = await start(), bad = await start();
    let restarted = false;
    bad.before = (path) => {
      restarted ||= path === "/v1/completions" && bad.requests.length === 4;
      if (!restarted) return null;
      if (path.endsWith("load_lora_adapter")) return failure(403, "not allowed here");
      return path === "/v1/completions" ? failure(404, "The model does not exist.") : null;
    };
    const finished = await run("served", openai([good.url, bad.url]));
    assert.ok(restarted);
    assert.equal(finished.summary.status, "completed");
    assert.deepEqual(await outcome("served"), await alone());
    assert.ok(
      warningsOf(finished).some((text) => /403: not allowed here.* without this server/.test(text)),
    );
  }));

Deno.test("a server that comes back with other weights is left out, with the same bits", () =>
  withServers(async ({ start, run, outcome, alone }) => {
    const good = await start(), bad = await start();
    let restart: "no" | "now" | "done" = "no";
    bad.before = (path) => {
      if (path.endsWith("load_lora_adapter") && restart === "now") restart = "done";
      if (path !== "/v1/completions") return null;
      if (restart === "no" && bad.requests.length === 3) restart = "now";
      if (restart === "done") return otherModel();
      return restart === "now" ? failure(404, "The model does not exist.") : null;
    };
    const finished = await run("served", openai([good.url, bad.url]));
    assert.equal(restart, "done");
    assert.deepEqual(await outcome("served"), await alone());
    assert.ok(
      warningsOf(finished).some((text) =>
        /differ from the trainer.* without this server/.test(text)
      ),
    );
  }));

/** Completions with log-probabilities that the trained model does not have. */
function otherModel(): Response {
  const ids = [40, 41, 42], logprobs = [-9, -9, -9];
  const choice = {
    finish_reason: "length",
    token_ids: ids,
    logprobs: { token_logprobs: logprobs },
  };
  return Response.json({ choices: [0, 1, 2, 3].map((index) => ({ ...choice, index })) });
}

Deno.test("a server of another model is refused before the first step", () =>
  withServers(async ({ start, run, outcome }) => {
    const server = await start();
    server.before = (path) => path === "/v1/completions" ? otherModel() : null;
    await assert.rejects(run("served", openai([server.url])), /differ from the trainer's by/);
    assert.equal(await outcome("served").catch(() => null), null);
  }));

Deno.test("a server that takes no adapters, or refuses a request, ends the run with its words", () =>
  withServers(async ({ start, run }) => {
    const server = await start();
    server.before = (path) => path.endsWith("load_lora_adapter") ? failure(404, "no") : null;
    await assert.rejects(run("a", openai([server.url])), /does not take the adapter \(404: no\)/);
    server.before = (path) => path.endsWith("completions") ? failure(400, "n is too large") : null;
    await assert.rejects(run("b", openai([server.url])), /400: n is too large/);
    server.before = () => failure(401, "who are you?");
    await assert.rejects(run("c", openai([server.url])), /401: who are you\?/);
  }));
