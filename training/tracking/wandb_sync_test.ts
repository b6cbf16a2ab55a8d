/**
 * Opt-in: `wandb sync` of a new version uploads what is written, to a small server in place of
 * W&B's. RGX_TEST_WANDB_PYTHON is a Python that has wandb (checked with 0.31).
 */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { openTracker } from "../run/run_tracking.ts";
import { POINT, withTracked } from "./testing.ts";

const python = Deno.env.get("RGX_TEST_WANDB_PYTHON");

// deno-lint-ignore no-explicit-any -- W&B's messages
type Message = any;

/** What a server of W&B answers, as far as an upload needs it. */
function answer(path: string, body: Message): unknown {
  if (!path.endsWith("/graphql")) return { exitcode: null, limits: {} };
  if (!/upsertBucket/i.test(body.query)) {
    return { data: { createRunFiles: { runID: "x", uploadHeaders: [], files: [] } } };
  }
  const { name, displayName } = body.variables;
  const project = { id: "p", name: "my-project", entity: { id: "e", name: "me" } };
  const bucket = { id: "x", name, displayName, config: "{}", historyLineCount: 0, project };
  return { data: { upsertBucket: { bucket, inserted: true } } };
}

Deno.test({
  name: "wandb sync uploads the points, the configuration and the end of a run",
  ignore: needs(python !== undefined, NEEDED.python),
  fn: () =>
    withTracked(async (run, folder) => {
      const tracker = openTracker("wandb", run, {})!;
      tracker.log(POINT);
      tracker.log({ ...POINT, step: 4, metrics: { "train/loss": 0.125 } });
      tracker.close(true);
      const seen: { path: string; body: Message }[] = [];
      await using server = Deno.serve(
        { port: 0, hostname: "127.0.0.1", onListen() {} },
        async (request) => {
          const path = new URL(request.url).pathname;
          const isJson = /json/.test(request.headers.get("content-type") ?? "");
          const stream = request.headers.get("content-encoding") === "gzip"
            ? request.body!.pipeThrough(new DecompressionStream("gzip"))
            : request.body;
          const text = stream === null ? "" : await new Response(stream).text();
          const body = isJson && text !== "" ? JSON.parse(text) : null;
          seen.push({ path, body });
          return Response.json(answer(path, body));
        },
      );
      const { success, stderr } = await new Deno.Command(python!, {
        args: ["-m", "wandb", "sync", "--yes", tracker.place],
        cwd: folder,
        env: {
          WANDB_BASE_URL: `http://127.0.0.1:${server.addr.port}`,
          WANDB_API_KEY: "a".repeat(40),
          WANDB_ERROR_REPORTING: "false",
          HOME: folder,
        },
      }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      const streams = seen.filter(({ path }) => path.endsWith("/file_stream"));
      const points = streams.flatMap(({ body }) =>
        body.files?.["wandb-history.jsonl"]?.content ?? []
      )
        .map((line: string) => JSON.parse(line));
      assert.deepEqual(
        points.map((point) => [point._step, point["train/loss"], point["eval/accuracy"]]),
        [[3, 0.5, 0.25], [4, 0.125, undefined]],
      );
      assert.ok(streams.some(({ body }) => body.complete === true && body.exitcode === 0));
      const [upsert] = seen.filter(({ body }) => /upsertBucket/i.test(body?.query ?? ""));
      assert.equal(upsert!.body.variables.displayName, "run one");
      assert.match(JSON.stringify(upsert!.body.variables.config), /learning_rate/);
    }),
});
