/** The port of agents, where one does not wait for its answer. */
import assert from "node:assert/strict";
import { AgentPort } from "./agent_port.ts";

Deno.test("a port closes after an agent that has left its request", async () => {
  const port = new AgentPort(), left = new AbortController();
  const env = port.admit("key", () => left.abort());
  const request = fetch(`${env["OPENAI_BASE_URL"]}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${env["OPENAI_API_KEY"]}` },
    body: "{}",
    signal: left.signal,
  });
  await assert.rejects(request, { name: "AbortError" });
  await port.close();
});
