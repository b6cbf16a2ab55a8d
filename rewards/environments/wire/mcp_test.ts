/** Tools of MCP's servers at an address, in both forms of the protocol. */
import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import type { EnvironmentCall, Outcome, Reply } from "../environment.ts";
import { environmentOf } from "../open_environments.ts";

type Message = { id?: number; method: string; params: Record<string, unknown> };
const INPUT = { type: "object", properties: { text: { type: "string" } } };

/** A server of one form, which answers with JSON or events; it keeps what was sent to it. */
async function withServer(
  { isModern, events = false }: { isModern: boolean; events?: boolean },
  test: (url: string, seen: { headers: Headers; message: Message }[]) => Promise<void>,
): Promise<void> {
  const seen: { headers: Headers; message: Message }[] = [];
  let toEnd = 1;
  const answer = ({ method, params }: Message, headers: Headers): [object, number?] => {
    if (isModern && headers.get("mcp-protocol-version") !== "2026-07-28") {
      return [{ error: { code: -32022, message: "?", data: { supported: ["2026-07-28"] } } }, 400];
    }
    if (isModern && method === "server/discover") {
      return [{ result: { resultType: "complete", supportedVersions: ["2026-07-28"] } }];
    }
    if (!isModern && method === "initialize") {
      return [{ result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} } }];
    }
    if (!isModern && headers.get("mcp-session-id") !== "its-session") {
      return [{ error: { code: -32600, message: "no session" } }, 400];
    }
    if (method === "tools/list") {
      // Two pages.
      const name = params["cursor"] === undefined ? "echo" : "Grüße";
      const next = params["cursor"] === undefined ? { nextCursor: "2" } : {};
      return [{
        result: { tools: [{ name, description: "says it", inputSchema: INPUT }], ...next },
      }];
    }
    if (method !== "tools/call") {
      return [{ error: { code: -32601, message: `no ${method}` } }, isModern ? 404 : 200];
    }
    const { text } = params["arguments"] as { text: string };
    if (text === "ask") return [{ result: { resultType: "input_required", inputRequests: {} } }];
    if (text === "html") return [{}, 502];
    if (text === "end" && toEnd-- > 0) return [{ error: { code: 1, message: "gone" } }, 404];
    return [{
      result: { content: [{ type: "text", text }, { type: "image" }], isError: text === "" },
    }];
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const message = await request.json() as Message, { headers } = request;
    seen.push({ headers, message });
    if (message.id === undefined) return new Response(null, { status: 202 });
    const [said, status = 200] = answer(message, headers);
    if (status === 502) return new Response("<html>Bad Gateway</html>", { status });
    if (said === undefined) return new Response("", { status });
    const reply = { jsonrpc: "2.0", id: message.id, ...said };
    const session = message.method === "initialize" ? { "mcp-session-id": "its-session" } : {};
    if (!events || status !== 200) return Response.json(reply, { status, headers: session });
    const note = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
    const body = `: hello\n\ndata: ${JSON.stringify(note)}\n\nevent: message\r\ndata: ${
      JSON.stringify(reply)
    }\r\n\r\n`;
    return new Response(body, { headers: { ...session, "content-type": "text/event-stream" } });
  });
  try {
    await test(`http://127.0.0.1:${server.addr.port}/mcp`, seen);
  } finally {
    await server.shutdown();
  }
}

const say = (tool: string, text: string): EnvironmentCall => ({
  call: "run",
  tool,
  args: { text },
  state: {},
});
const errorOf = (outcome: Outcome | undefined) => (outcome as { error: string }).error;

for (const isModern of [true, false]) {
  for (const events of [true, false]) {
    const how = `${isModern ? "with a version in each request" : "with a handshake"}, ${
      events ? "events" : "JSON"
    }`;
    Deno.test(`a server of MCP at an address: ${how}`, async () => {
      await withServer({ isModern, events }, async (url, seen) => {
        Deno.env.set("RGX_TEST_KEY", "the-key");
        const environment = environmentOf({
          mcp: { url, api_key_env: "RGX_TEST_KEY", workers: 1 },
        });
        const { tools, step } = await environment.open();
        assert.equal(step, false);
        assert.deepEqual(tools.map(({ name }) => name), ["echo", "Grüße"]);
        const [said, failed, asked, html] = await environment.answer([
          say("Grüße", "hi"),
          say("echo", ""),
          say("echo", "ask"),
          say("echo", "html"),
        ], 5);
        assert.equal((said as Reply).content, "hi\n(image)");
        assert.equal(errorOf(failed), "\n(image)");
        assert.match(errorOf(asked), /asks for input/);
        assert.match(errorOf(html), /HTTP 502: <html>Bad Gateway/);
        const call = seen.find(({ message }) => message.method === "tools/call")!;
        assert.equal(call.headers.get("authorization"), "Bearer the-key");
        const version = isModern ? "2026-07-28" : "2025-11-25";
        assert.equal(call.headers.get("mcp-protocol-version"), version);
        if (isModern) {
          assert.equal(call.headers.get("mcp-name"), "=?base64?R3LDvMOfZQ==?=");
          const meta = call.message.params["_meta"] as Record<string, unknown>;
          assert.equal(meta["io.modelcontextprotocol/protocolVersion"], version);
          assert.deepEqual(meta["io.modelcontextprotocol/clientCapabilities"], {});
        } else {
          assert.ok(seen.some(({ message }) => message.method === "notifications/initialized"));
          // A session that has ended begins again.
          assert.match(errorOf((await environment.answer([say("echo", "end")], 5))[0]), /gone/);
          const [again] = await environment.answer([say("echo", "again")], 5);
          assert.equal((again as Reply).content, "again\n(image)");
        }
        await environment.close();
        Deno.env.delete("RGX_TEST_KEY");
        const keyless = environmentOf({ mcp: { url, api_key_env: "RGX_TEST_KEY" } });
        await assert.rejects(keyless.open(), /RGX_TEST_KEY with its key is not set/);
      });
    });
  }
}

Deno.test("an address where nobody speaks MCP is an error for the user", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("hello"),
  );
  const url = `http://127.0.0.1:${server.addr.port}/`;
  await assert.rejects(
    environmentOf({ mcp: { url } }).open(),
    refusal(/its answer is no message of JSON-RPC/, UsageError),
  );
  await server.shutdown();
  await assert.rejects(environmentOf({ mcp: { url } }).open(), /[Cc]onnect/);
});
