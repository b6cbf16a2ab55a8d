/** Tests with real Workers that a reward from a file cannot leave its sandbox. */
import assert from "node:assert/strict";
import { messagesOf, scoresOf } from "../testing.ts";
import type { RewardFile } from "./reward_file.ts";

/** The values, the errors, and the reward's extra column, for completions that name what to try. */
async function tries(
  source: string,
  completions: readonly string[],
  file: Partial<RewardFile> = {},
) {
  const scores = await scoresOf(source, completions, { file });
  const values = scores.values.map(([value]) => value), errors = messagesOf(scores);
  return { values, errors, found: scores.extras.get("found") ?? [] };
}

/** A reward that evaluates its completion and puts the result, or the error, into a column. */
const EVALUATE = `export default async ({ completion, logExtra }) => {
    try {
      logExtra("found", String(await (0, eval)(completion)));
    } catch (error) {
      logExtra("found", "refused: " + error.message);
    }
    return 1;
  }`;

Deno.test("there is no WebAssembly, and no way to it", async () => {
  const paths = [
    "typeof WebAssembly",
    "typeof globalThis.WebAssembly",
    "typeof new Function('return globalThis')().WebAssembly",
    "typeof Worker",
    "typeof process",
    "typeof Deno",
    "typeof require",
    "typeof close + typeof postMessage",
  ];
  const { found } = await tries(EVALUATE, paths);
  assert.deepEqual([...found].slice(0, 7), new Array(7).fill("undefined"));
  assert.equal(found[7], "undefinedundefined");
  const text = "data:application/wasm;base64,AGFzbQEAAAA=";
  const imports = [
    `import("${text}")`,
    `import("node:vm")`,
    `imp\\u006frt("node:vm")`,
    `eval("im" + "port('node:vm')")`,
    `(() => {}).constructor("return im" + "port('node:vm')")()`,
    `(async () => {}).constructor("return im" + "port('node:vm')")()`,
    `Object.getPrototypeOf(async function () {}.constructor)("return im" + "port('node:vm')")()`,
    `(function* () {}).constructor("yield im" + "port('node:vm')")().next().value`,
    `setTimeout("globalThis.x = im" + "port('node:vm')", 0)`,
    `new Function("a = im" + "port('node:vm')", "return a")()`,
  ];
  const refused = await tries(EVALUATE, imports);
  for (const [i, result] of refused.found.entries()) {
    assert.match(String(result), /^refused/, imports[i]);
  }
});

Deno.test("evaluating arithmetic works", async () => {
  const { found } = await tries(EVALUATE, ["1 + 2 * 3", "new Function('a', 'return a * 2')(21)"]);
  assert.deepEqual([...found], ["7", "42"]);
  const source = "export default ({ completion }) => (function () {} instanceof Function) ? 1 : 0";
  assert.deepEqual((await tries(source, ["a"])).values, [1]);
});

Deno.test("files, environment, processes and the network are out of reach", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("1"),
  );
  try {
    const { port } = server.addr;
    const { found } = await tries(EVALUATE, [
      `fetch("http://127.0.0.1:${port}/").then((reply) => reply.text())`,
      `fetch("file:///etc/hosts").then((reply) => reply.text())`,
      `new Promise((done, fail) => {
         const socket = new WebSocket("ws://127.0.0.1:${port}/");
         socket.onerror = () => fail(new Error("no socket"));
         socket.onopen = () => done("open");
       })`,
      "Deno.readTextFile('/etc/hosts')",
      "Deno.env.get('PATH')",
      "new Deno.Command('true').output()",
      "process.env.PATH",
    ]);
    for (const result of found) assert.match(String(result), /^refused/);
    assert.match(String(found[0]), /net access|NotCapable|denied/i);
  } finally {
    await server.shutdown();
  }
});

Deno.test("the Worker's own permissions deny what is hidden", async () => {
  // Without the lock-down, to see that there are two walls.
  const code = `const tell = async (name, work) => {
      try { await work(); postMessage(name + " allowed"); }
      catch (error) { postMessage(name + " " + error.name); }
    };
    await tell("read", () => Deno.readTextFile("/etc/hosts"));
    await tell("write", () => Deno.writeTextFile("/tmp/x", ""));
    await tell("env", () => Deno.env.get("PATH"));
    await tell("run", () => new Deno.Command("true").output());
    await tell("ffi", () => Deno.dlopen("libc.so.6", {}));
    await tell("net", () => Deno.connect({ port: 9, hostname: "127.0.0.1" }));
    postMessage("end");`;
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(code)}`, {
    type: "module",
    deno: { permissions: "none" },
  } as WorkerOptions);
  const told: string[] = [];
  await new Promise<void>((done) => {
    worker.onmessage = ({ data }) => data === "end" ? done() : told.push(data);
  });
  worker.terminate();
  assert.deepEqual(
    told,
    ["read", "write", "env", "run", "ffi", "net"].map((name) => `${name} NotCapable`),
  );
});

Deno.test("only the hosts of net can be reached; failures are tried again", async () => {
  let calls = 0, together = 0, most = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    calls++;
    most = Math.max(most, ++together);
    await new Promise((done) => setTimeout(done, 50));
    together--;
    const first = request.url.endsWith("flaky") && calls === 1;
    return first ? new Response("busy", { status: 503 }) : new Response("0.5");
  });
  const source = (port: number, path: string) =>
    `export default async () => {
      const reply = await fetch("http://127.0.0.1:${port}/${path}");
      if (!reply.ok) throw new Error("status " + reply.status);
      return Number(await reply.text());
    }`;
  try {
    const { port } = server.addr, net = [`127.0.0.1:${port}`];
    const judged = await tries(source(port, ""), ["a", "b", "c", "d"], { net, concurrency: 2 });
    assert.deepEqual(judged.values, [0.5, 0.5, 0.5, 0.5]);
    assert.equal(most, 2);
    calls = 0;
    assert.deepEqual((await tries(source(port, "flaky"), ["a"], { net })).values, [0.5]);
    assert.equal(calls, 2);
    calls = 0;
    const once = await tries(source(port, "flaky"), ["a"], { net, retries: 0 });
    assert.deepEqual([once.values, calls], [[0], 1]);
    assert.match(once.errors[0]!, /^status 503/);
    const other = await tries(source(port, ""), ["a"], { net: ["127.0.0.2"] });
    assert.deepEqual(other.values, [0]);
    const [host] = net,
      refused = `may not connect to ${host}: it is not granted, as net: ["${host}"]`;
    assert.ok(other.errors[0]!.startsWith(`${refused} of the reward would`), other.errors[0]);
  } finally {
    await server.shutdown();
  }
});

Deno.test("of several values that are computed together, the one that hangs is found", async () => {
  const source = `export default async ({ completion }) => {
      await new Promise((done) => setTimeout(done, 20));
      if (completion === "loop") for (;;);
      return 1;
    }`;
  const together = { timeout: 0.3, file: { concurrency: 4 } };
  const { values } = await scoresOf(source, ["a", "b", "loop", "c", "d"], together);
  assert.deepEqual(values, [[1], [1], [0], [1], [1]]);
});
