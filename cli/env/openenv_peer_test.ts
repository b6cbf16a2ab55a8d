/**
 * Opt-in: OpenEnv's own server and client. RGX_TEST_OPENENV_PYTHON names a Python with
 * openenv-core. The echo server is what its command `openenv init` writes: the packages with its
 * servers (echo, reasoning_gym) are not on Python's index.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import type { Reply, State } from "../../rewards/environments/environment.ts";
import { environmentOf } from "../../rewards/environments/open_environments.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { served } from "./serving_testing.ts";

const python = Deno.env.get("RGX_TEST_OPENENV_PYTHON");
const ignore = needs(python !== undefined, NEEDED.python);

/** Writes OpenEnv's template of an environment, and serves it. */
const ECHO_SERVER = `
import pathlib, sys
import openenv, uvicorn
folder, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])
template = pathlib.Path(next(iter(openenv.__path__))) / "cli/templates/openenv_env"
names = {"__ENV_NAME__": "echo", "__ENV_CLASS_NAME__": "Echo", "__ENV_TITLE_NAME__": "Echo"}
def named(text):
    for name, value in names.items():
        text = text.replace(name, value)
    return text
for path in template.rglob("*.py"):
    to = folder / "echo" / named(str(path.relative_to(template)))
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(named(path.read_text()))
sys.path.insert(0, str(folder))
from echo.server.app import app
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
`;

Deno.test({
  name: "the echo server of OpenEnv's template is played",
  ignore,
  fn: () =>
    withFolder(async (folder) => {
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 }), { port } = listener.addr;
      listener.close();
      const args = ["-c", ECHO_SERVER, folder, String(port)];
      const server = new Deno.Command(python!, { args, stdout: "null", stderr: "null" }).spawn();
      const environment = environmentOf({ url: `ws://127.0.0.1:${port}` });
      try {
        const until = performance.now() + 60_000;
        while (!await fetch(`http://127.0.0.1:${port}/health`).then((r) => r.text(), () => "")) {
          assert.ok(performance.now() < until, "the server does not answer");
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        assert.equal((await environment.open()).step, true);
        const reset = { call: "reset", row: {}, seed: 3, example: 0 } as const;
        const [begun] = await environment.answer([reset], 60) as [Reply];
        assert.match(begun.content, /Echo environment ready!/);
        const step = async (content: string, state: State) => {
          const message = { role: "assistant", content };
          const [reply] = await environment.answer([{ call: "step", message, state }], 60);
          return reply as Reply;
        };
        const first = await step("hello", begun.state);
        assert.match(first.content, /hello/);
        assert.equal(first.reward, 0.5);
        const second = await step("four", first.state);
        assert.deepEqual([second.reward, second.done], [0.4, false]);
        // There is one place: another dialogue waits for it, and the first is asked again after it.
        const [other] = await environment.answer([{ ...reset, seed: 4 }], 60) as [Reply];
        assert.match(other.content, /ready/);
        assert.match((await step("again", second.state)).content, /again/);
      } finally {
        await environment.close();
        server.kill("SIGKILL");
        await server.status;
      }
    }),
});

const CLIENT = `
import json, sys
from openenv.core import GenericEnvClient
with GenericEnvClient(base_url=sys.argv[1]).sync() as client:
    said = [client.reset(seed=4)] + [client.step({"message": str(n)}) for n in (1, 4)]
print(json.dumps([[r.observation["message"], r.reward, r.done] for r in said]))
`;

Deno.test({
  name: "OpenEnv's client plays an environment that is served",
  ignore,
  fn: () =>
    withFolder((folder) =>
      served(
        folder,
        `{
          reset: (row, { seed }) => ({ observation: "Begin.", secret: seed }),
          step: ({ content }, { secret }) => Number(content) === secret
            ? { content: "right", reward: 1, done: true }
            : "higher",
        }`,
        5,
        async (port) => {
          const args = ["-c", CLIENT, `http://127.0.0.1:${port}`];
          const { stdout } = await new Deno.Command(python!, { args, stderr: "inherit" }).output();
          assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), [
            ["Begin.", null, false],
            ["higher", null, false],
            ["right", 1, true],
          ]);
        },
      )
    ),
});
