/**
 * `rgx train` with completions from `rgx serve`: the bits of a run in one process, also when one of
 * two servers is killed while it samples. And with a teacher behind `rgx serve`.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { assertSameRun, type Line, lines, readMetrics, rgx, spawnRgx, TINY } from "../support.ts";

interface Served {
  url: string;
  process: Deno.ChildProcess;
  end(signal: Deno.Signal): Promise<void>;
}

/** Starts `rgx serve` and waits until it listens. */
async function serve(model: string, port = 0): Promise<Served> {
  const process = spawnRgx(argv`serve ${model} --port ${port} --allow-adapter-upload --device wasm
    --threads 1 --grace 0`);
  const reader = process.stdout.getReader(), decoder = new TextDecoder();
  const drained = process.stderr.pipeTo(new WritableStream());
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    assert.ok(!done, "the server ended before it listened");
    text += decoder.decode(value);
  }
  return {
    url: lines(text)[0]!,
    process,
    async end(signal) {
      try {
        process.kill(signal);
      } catch {
        // It has ended already.
      }
      await reader.cancel();
      await drained;
      await process.status;
    },
  };
}

const LORA = `_base_: ./base.yaml
model: { init: null, model_name_or_path: ./warm }
sft: null
eval: { num_examples: 0 }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj, down_proj] }
training: { max_steps: 60, save_steps: 20, learning_rate: 1.0e-2, logging_steps: 1 }
`;
const ON_CPU = ["--device", "wasm", "--threads", "1", "--quiet"];

const ADAPTER = "adapter_model.safetensors";

/** Calls `work` in a folder with a warm-started model and the configuration of an adapter on it. */
function withWarmModel(work: (cwd: string) => Promise<void>): Promise<void> {
  return withFolder(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/base.yaml`, TINY);
    await Deno.writeTextFile(`${cwd}/lora.yaml`, LORA);
    const sft = await rgx(["sft", "base.yaml", "--output-dir", "warm", ...ON_CPU], "", {}, cwd);
    assert.equal(sft.code, 0, sft.err);
    await work(cwd);
  });
}

Deno.test("with rgx serve as backend, and kill -9 of one of two servers, a run has the same bits", () =>
  withWarmModel(async (cwd) => {
    const run = (name: string, ...more: string[]) =>
      rgx(["train", "lora.yaml", "--output-dir", name, ...ON_CPU, ...more], "", {}, cwd);
    const servers = [await serve(`${cwd}/warm`), await serve(`${cwd}/warm`)];
    const [one, two] = servers as [Served, Served];
    try {
      const alone = await run("alone");
      assert.equal(alone.code, 0, alone.err);
      const child = spawnRgx(
        argv`train lora.yaml --output-dir served --device wasm --threads 1 generation.backend=openai
          ${`generation.base_url=[${one.url}, ${two.url}]`}`,
        { cwd },
      );
      // Killed as soon as a step is done, long before the last one.
      const metrics = `${cwd}/served/metrics.jsonl`;
      const began = async () => (await Deno.stat(metrics).catch(() => null))?.size ?? 0;
      let ended = false;
      const output = child.output().finally(() => ended = true);
      while (!ended && await began() === 0) await new Promise((go) => setTimeout(go, 5));
      await two.end("SIGKILL");
      const { code, stderr } = await output, err = new TextDecoder().decode(stderr);
      assert.equal(code, 0, err);
      assert.match(err, /is down/, "the run ended before the server was killed");
      await assertSameRun(`${cwd}/served`, `${cwd}/alone`, ADAPTER);
      // The same server answers rgx generate.
      const asked = ["generate", "--temperature", "0", "--max-new-tokens", "9", "--prompt", "abc"];
      const there = await rgx([...asked, "--model", `${cwd}/warm`, "--base-url", one.url]);
      const here = await rgx([...asked, "--model", `${cwd}/warm`, "--device", "wasm"]);
      assert.deepEqual([there.code, there.out], [0, here.out], there.err);
      const unknown = await rgx([...asked, "--model", "nobody", "--base-url", one.url]);
      assert.equal(unknown.code, 1);
      assert.match(unknown.err, /404: .*nobody/);
      const both = await rgx([...asked, "--model", "x", "--base-url", one.url, "--threads", "1"]);
      assert.equal(both.code, 2);
      assert.match(both.err, /--threads and --base-url exclude each other/);
      // Without any server the run stops resumable, and goes on when one is back.
      await one.end("SIGTERM");
      const served = argv`generation.backend=openai generation.base_url=${one.url}
        generation.server_timeout=0.2`;
      const stopped = await run("stopped", ...served);
      assert.equal(stopped.code, 75, stopped.err);
      const again = await serve(`${cwd}/warm`, Number(new URL(one.url).port));
      servers.push(again);
      const resumed = await run("stopped", ...served, "--resume");
      assert.equal(resumed.code, 0, resumed.err);
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
    const run = (name: string, ...more: string[]) =>
      rgx(["train", "taught.yaml", "--output-dir", name, ...ON_CPU, ...more], "", {}, cwd);
    const server = await serve(`${cwd}/warm`), at = `teacher.base_url=${server.url}`;
    const strange = await serve(goldenPath("models/tinystories-656k"));
    try {
      for (const [beta, count] of [[1, 1], [0.5, 1], [0, 3]]) {
        const how = [`teacher.beta=${beta}`, `teacher.top_k=${count}`];
        const here = await run(`here${beta}`, "teacher.model_name_or_path=warm", ...how);
        assert.equal(here.code, 0, here.err);
        const there = await run(`there${beta}`, at, ...how);
        assert.equal(there.code, 0, there.err);
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
        assert.ok(Number(one[0]!["teacher/divergence"]) > 0.1);
      }
      const other = await run("other", `teacher.base_url=${strange.url}`);
      assert.equal(other.code, 2, other.err);
      assert.match(other.err, /teacher\.base_url: .* has other tokens: .* the student's \d+/);
      const unknown = await run("unknown", at, "teacher.model_name_or_path=nobody");
      assert.match(unknown.err, /teacher\.model_name_or_path: .* has no model nobody/);
      await server.end("SIGKILL");
      const down = await run("down", at, "teacher.server_timeout=0.2");
      assert.equal(down.code, 1, down.err);
      assert.match(down.err, /teacher\.base_url: .* does not answer for 0\.2 s/);
    } finally {
      for (const one of [server, strange]) await one.end("SIGKILL").catch(() => {});
    }
  }));
