/**
 * `rgx train` with completions from `rgx serve`: the bits of a run in one process, also when one of
 * two servers is killed while it samples. And with a teacher behind `rgx serve`.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import {
  assertSameRun,
  type Line,
  readMetrics,
  refuses,
  rgx,
  serveRgx,
  startRgx,
  succeeds,
  TINY,
} from "../support.ts";

/** Starts `rgx serve`. */
const serve = (model: string, port = 0) =>
  serveRgx(argv`serve ${model} --port ${port} --allow-adapter-upload --device wasm --threads 1
    --grace 0`);

const LORA = `_base_: ./base.yaml
model: { init: null, model_name_or_path: ./warm }
sft: null
eval: { num_examples: 0 }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj, down_proj] }
training: { max_steps: 30, save_steps: 10, learning_rate: 1.0e-2, logging_steps: 1 }
`;
const ON_CPU = ["--device", "wasm", "--threads", "1", "--quiet"];

const ADAPTER = "adapter_model.safetensors";

/** Calls `work` in a folder with a warm-started model and the configuration of an adapter on it. */
function withWarmModel(work: (cwd: string) => Promise<void>): Promise<void> {
  return withFolder(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/base.yaml`, TINY);
    await Deno.writeTextFile(`${cwd}/lora.yaml`, LORA);
    await succeeds(["sft", "base.yaml", "--output-dir", "warm", ...ON_CPU], { cwd });
    await work(cwd);
  });
}

Deno.test("with rgx serve as backend, and kill -9 of one of two servers, a run has the same bits", () =>
  withWarmModel(async (cwd) => {
    const train = (name: string, ...more: string[]) =>
      argv`train lora.yaml --output-dir ${name} ${ON_CPU} ${more}`;
    const one = await serve(`${cwd}/warm`), two = await serve(`${cwd}/warm`), servers = [one, two];
    try {
      await succeeds(train("alone"), { cwd });
      const session = startRgx(
        argv`train lora.yaml --output-dir served --device wasm --threads 1 generation.backend=openai
          ${`generation.base_url=[${one.url}, ${two.url}]`}`,
        { cwd },
      );
      // Killed as soon as a step is done, long before the last one.
      const metrics = `${cwd}/served/metrics.jsonl`;
      const began = async () => (await Deno.stat(metrics).catch(() => null))?.size ?? 0;
      await session.reaches("a step", async () => await began() > 0);
      await two.end("SIGKILL");
      const { code, err } = await session.end;
      assert.equal(code, 0, err);
      assert.match(err, /is down/, "the run ended before the server was killed");
      await assertSameRun(`${cwd}/served`, `${cwd}/alone`, ADAPTER);
      // The same server answers rgx generate.
      const asked = ["generate", "--temperature", "0", "--max-new-tokens", "9", "--prompt", "abc"];
      const there = await rgx([...asked, "--model", `${cwd}/warm`, "--base-url", one.url]);
      const here = await rgx([...asked, "--model", `${cwd}/warm`, "--device", "wasm"]);
      assert.deepEqual([there.code, there.out], [0, here.out], there.err);
      const at = [...asked, "--base-url", one.url];
      await refuses([[[...at, "--model", "nobody"], /404: .*nobody/]], { code: 1 });
      const both = [...at, "--model", "x", "--threads", "1"];
      await refuses([[both, "--threads and --base-url exclude each other"]]);
      // Without any server the run stops resumable, and goes on when one is back.
      await one.end("SIGTERM");
      const served = argv`generation.backend=openai generation.base_url=${one.url}
        generation.server_timeout=0.2`;
      const stopped = await rgx(train("stopped", ...served), { cwd });
      assert.equal(stopped.code, 75, stopped.err);
      servers.push(await serve(`${cwd}/warm`, Number(new URL(one.url).port)));
      await succeeds(train("stopped", ...served, "--resume"), { cwd });
      await assertSameRun(`${cwd}/stopped`, `${cwd}/alone`, ADAPTER);
    } finally {
      for (const server of servers) await server.end("SIGKILL").catch(() => {});
    }
  }));

const TAUGHT = `_base_: ./base.yaml
sft: null
rewards: []
eval: { num_examples: 0 }
training: { max_steps: 2, save_steps: 2, learning_rate: 1.0e-3, logging_steps: 1 }
`;

Deno.test("a teacher behind rgx serve teaches what it would in the trainer's process", () =>
  withWarmModel(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/taught.yaml`, TAUGHT);
    const train = (name: string, ...more: string[]) =>
      argv`train taught.yaml --output-dir ${name} ${ON_CPU} ${more}`;
    const server = await serve(`${cwd}/warm`), at = `teacher.base_url=${server.url}`;
    const strange = await serve(goldenPath("models/tinystories-656k"));
    try {
      for (const [beta, count] of [[0.5, 1], [0, 3]]) {
        const how = [`teacher.beta=${beta}`, `teacher.top_k=${count}`];
        const here = train(`here${beta}`, "teacher.model_name_or_path=warm", ...how);
        await succeeds(here, { cwd });
        await succeeds(train(`there${beta}`, at, ...how), { cwd });
        const [one, two] = await Promise.all(
          [`here${beta}`, `there${beta}`].map(async (name) =>
            (await readMetrics(`${cwd}/${name}`)).filter((line) => "teacher/divergence" in line)
          ),
        ) as [Line[], Line[]];
        assert.equal(one.length, 2);
        one.forEach((line, i) => {
          for (const name of ["loss", "grad_norm", "teacher/divergence"]) {
            const [a, b] = [Number(line[name]), Number(two[i]![name])];
            assert.ok(Math.abs(a - b) < 1e-4 * Math.max(1, a), `beta ${beta}, ${name}: ${a}, ${b}`);
          }
        });
        assert.ok(Number(one[0]!["teacher/divergence"]) > 0.01);
      }
      const tokens = /teacher\.base_url: .* has other tokens: .* the student's \d+/;
      await refuses([[train("other", `teacher.base_url=${strange.url}`), tokens]], { cwd });
      const unknown = train("unknown", at, "teacher.model_name_or_path=nobody");
      const { err } = await rgx(unknown, { cwd });
      assert.match(err, /teacher\.model_name_or_path: .* has no model nobody/);
      await server.end("SIGKILL");
      const down = train("down", at, "teacher.server_timeout=0.2");
      const silent = /teacher\.base_url: .* does not answer for 0\.2 s/;
      await refuses([[down, silent]], { cwd, code: 1 });
    } finally {
      for (const one of [server, strange]) await one.end("SIGKILL").catch(() => {});
    }
  }));
