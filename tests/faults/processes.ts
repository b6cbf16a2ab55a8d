/**
 * Processes that are killed, stopped, short of memory or of files, or two at one folder. After
 * each, the run resumes to the bits of one that nothing happened to.
 */
import assert from "node:assert/strict";
import { acceptUploads } from "../../hub/upload/testing.ts";
import { withHub } from "../../hub/testing.ts";
import { delay } from "../jobs/waiting.ts";
import { argv } from "../command_line.ts";
import { assertClean, assertSameRun, rgx, succeeds, tinyConfig } from "../support.ts";
import type { Campaign } from "./campaign.ts";
import { alone } from "./disk.ts";

/** A slow reward in a process of its own, which the campaign can kill. */
const SLOW = `export default async ({ completion }) => {
  await new Promise((done) => setTimeout(done, 20));
  return completion.length % 5;
}`;

/** An environment that kills the run in the middle of its reply number N (a file counts down). */
const KILLER = `
const [file] = Deno.args, out = (text) => Deno.stdout.writeSync(new TextEncoder().encode(text));
let pending = "";
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (pending + piece).split("\\n");
  pending = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const step = { observation: params.message?.content.length % 3 + "", reward: 0.5 };
    const results = { "env/reset": { observation: "0" }, "env/step": step, "env/close": {} };
    const result = results[method];
    const error = { code: -32601, message: "no " + method };
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) });
    if (method === "env/step") {
      const left = Number(Deno.readTextFileSync(file)) - 1;
      Deno.writeTextFileSync(file, String(left));
      if (left === 0) {
        out(text.slice(0, 20));
        Deno.kill(Deno.ppid, "SIGKILL");
        Deno.exit(1);
      }
    }
    out(text + "\\n");
  }
}`;

/** The processes that a process has started, and those that these have. */
function descendants(pid: number): number[] {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`);
    const children = text.trim().split(" ").filter((word) => word !== "").map(Number);
    return children.flatMap((child) => [child, ...descendants(child)]);
  } catch {
    return [];
  }
}

/** Sends a signal to a process, which may have ended meanwhile. */
function send(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** A group of control of the kernel with a limit of memory; null where none can be made. */
async function memoryGroup(
  bytes: number,
): Promise<{ procs: string; remove(): Promise<void> } | null> {
  for (const [root, limit] of [["memory/", "memory.limit_in_bytes"], ["", "memory.max"]] as const) {
    const path = `/sys/fs/cgroup/${root}rgx-faults-${Deno.pid}`;
    try {
      await Deno.mkdir(path);
      await Deno.writeTextFile(`${path}/${limit}`, String(bytes));
      return { procs: `${path}/cgroup.procs`, remove: () => Deno.remove(path) };
    } catch {
      await Deno.remove(path).catch(() => {});
    }
  }
  return null;
}

/** Part of the campaign. */
export async function processes(campaign: Campaign): Promise<void> {
  const { folder, isShort } = campaign, config = await tinyConfig(folder);
  await Deno.writeTextFile(`${folder}/slow.js`, SLOW);
  await Deno.writeTextFile(`${folder}/killer.js`, KILLER);
  const run = `${folder}/run`, counter = `${folder}/left`;
  const usual = ["--threads", "1", "sft.max_steps=20", "training.save_steps=1"];
  const slow = [...usual, `rewards=[{path: ${folder}/slow.js}, {name: correctness}]`];
  const command = `[${Deno.execPath()}, run, -A, --no-check, ${folder}/killer.js, ${counter}]`;
  const dialogues = argv`${usual} ${`environment={command: ${command}}`}
    multi_turn.max_assistant_turns=3 training.max_completion_length=40
    multi_turn.max_turn_tokens=8`;
  const wholes = new Map<readonly string[], string>();
  /** Arguments of a run, and one that nothing happened to. */
  const train = async (flags: readonly string[], output = run) => {
    const args = (to: string) => ["train", config, ...flags, "--output-dir", to, "--resume"];
    let whole = wholes.get(flags);
    if (whole === undefined) {
      wholes.set(flags, whole = `${folder}/whole-${wholes.size}`);
      await Deno.writeTextFile(counter, "0");
      await succeeds(args(whole));
    }
    await Deno.remove(output, { recursive: true }).catch(() => {});
    return { args: args(output), whole };
  };
  const resumes = async (args: readonly string[], whole: string, before = "") => {
    const { code, err } = await rgx(args);
    assert.equal(code, 0, `${before}\nand resumed:\n${err}`);
    await assertSameRun(run, whole);
  };
  const times = (short: number, long: number) => [...Array(isShort ? short : long).keys()];
  /** A moment within a run of some seconds. */
  const moment = (i: number, count: number) => delay(300 + 4000 * (i + 0.5) / count);

  for (const i of times(1, 20)) {
    await campaign.try("kill -9 within the answer of a tool", `reply ${3 * i + 2}`, async () => {
      const { args, whole } = await train(dialogues);
      await Deno.writeTextFile(counter, String(3 * i + 2));
      const { signal, err } = await alone(args);
      assert.ok(signal === "SIGKILL", `it was not killed: ${err}`);
      await resumes(args, whole, err);
    });
  }
  for (const i of times(1, 10)) {
    await campaign.try("two runs start in one folder at once", `time ${i}`, async () => {
      const { args, whole } = await train(usual);
      const both = await Promise.all([alone(args), alone(args)]);
      const codes = both.map(({ code }) => code).sort();
      const said = both.map(({ err }) => err).join("\n---\n");
      // The second one may also begin after the first one has ended.
      assert.ok(codes[0] === 0 && [0, 2].includes(codes[1]!), said);
      both.forEach(assertClean);
      if (codes[1] === 2) assert.match(said, /another run is using this folder/);
      await assertSameRun(run, whole);
    });
  }
  for (const i of times(1, 10)) {
    await campaign.try("a process that a run has started is killed", `moment ${i}`, async () => {
      const { args, whole } = await train(slow);
      const ended = await alone(args, {}, async (pid, hasEnded) => {
        while (descendants(pid).length === 0 && !hasEnded()) await delay(5);
        await moment(i, 20);
        for (const one of descendants(pid)) send(one, "SIGKILL");
      });
      assertClean(ended);
      assert.ok([0, 1].includes(ended.code), ended.err);
      await resumes(args, whole, ended.err);
    });
  }
  for (const i of times(0, 10)) {
    await campaign.try("a worker of a benchmark is killed", `moment ${i}`, async () => {
      const { whole } = await train(usual);
      const bench = (name: string) => {
        const where = ["--output-dir", `${folder}/${name}`, "--workers", "2", "--threads", "1"];
        const what = ["--models", whole, "--tasks", "chain_sum", "--num-examples", "40"];
        return ["bench", ...what, "--max-new-tokens", "24", "--no-base", "--json", ...where];
      };
      const answers = async (name: string) => {
        const files = Array.from(Deno.readDirSync(`${folder}/${name}`), ({ name }) => name);
        const file = files.find((file) => file.startsWith("results_chain_sum"));
        const { models } = JSON.parse(await Deno.readTextFile(`${folder}/${name}/${file}`));
        return Object.values(models).map((model) => (model as { examples: unknown }).examples);
      };
      await succeeds(bench(`bench-whole-${i}`));
      const ended = await alone(bench(`bench-${i}`), {}, async (pid, hasEnded) => {
        while (descendants(pid).length < 2 && !hasEnded()) await delay(5);
        await delay(50 + 120 * i);
        for (const one of descendants(pid).slice(0, 1)) send(one, "SIGKILL");
      });
      assert.equal(ended.code, 0, ended.err);
      const found = await answers(`bench-${i}`);
      assert.ok(JSON.stringify(found).length > 1000);
      assert.deepEqual(found, await answers(`bench-whole-${i}`));
    });
  }
  for (const i of times(0, 3)) {
    const seconds = 60;
    await campaign.try(`stopped by SIGSTOP for ${seconds} s`, `moment ${i}`, async () => {
      const { args, whole } = await train(slow);
      const ended = await alone(args, {}, async (pid, hasEnded) => {
        await moment(i, 3);
        const all = [pid, ...descendants(pid)];
        if (hasEnded()) return;
        for (const one of all) send(one, "SIGSTOP");
        await delay(1000 * seconds);
        for (const one of all) send(one, "SIGCONT");
      });
      assert.equal(ended.code, 0, ended.err);
      await assertSameRun(run, whole);
    });
  }
  for (const files of isShort ? [64] : [20, 32, 48, 64]) {
    await campaign.try("few open files", `${files}`, async () => {
      const { args, whole } = await train(slow);
      const ended = await alone(args, {}, () => {}, `ulimit -n ${files}`);
      assertClean(ended);
      if (files === 64) assert.equal(ended.code, 0, ended.err);
      await resumes(args, whole, ended.err);
    });
  }
  for (const megabytes of isShort ? [] : [60, 100, 130, 160, 180, 200, 220, 250, 300, 400]) {
    const group = await memoryGroup(megabytes * 2 ** 20);
    if (group === null) break;
    await campaign.try("a limit of memory", `${megabytes} MiB`, async () => {
      const { args, whole } = await train(usual);
      const ended = await alone(args, {}, () => {}, `echo $$ > ${group.procs}`);
      // The kernel kills it; else it ends by itself, with a message.
      if (ended.code !== 137) assertClean(ended);
      await resumes(args, whole, ended.err);
    });
    await delay(100);
    await group.remove();
  }
  if (isShort) return; // tests of their own have the rest
  const trained = await train(usual, `${folder}/mine`);
  await succeeds(trained.args);
  for (const i of times(0, 12)) {
    await campaign.try(
      "kill -9 within an upload",
      `request ${i + 1}`,
      () =>
        withHub(async (hub) => {
          acceptUploads(hub);
          const args = ["upload", `${folder}/mine`, "--repo-id", "somebody/mine"];
          let pid = 0;
          hub.misbehave = () => {
            if (hub.seen.length === i + 1 && pid > 0) Deno.kill(pid, "SIGKILL");
            return null;
          };
          await alone(args, hub.env, (started) => pid = started);
          hub.misbehave = () => null;
          await succeeds(args, { env: hub.env });
          const sent = hub.repositories.get("models/somebody/mine")!.files;
          const weights = sent.find(({ name }) => name === "model.safetensors");
          assert.deepEqual(weights?.bytes, await Deno.readFile(`${folder}/mine/model.safetensors`));
        }),
    );
  }
}
