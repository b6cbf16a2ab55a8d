/**
 * Locks on a cluster. Each simulated node is a process with a separate host name, clock and job;
 * the times of the folder's files come from one clock, as on a file server.
 */
import assert from "node:assert/strict";
import { test } from "./testing.ts";
import { type Env, slurmJob } from "./machine/job.ts";
import { LOCK_FILE, lockFolder, type LockOptions } from "./lock.ts";

interface Node {
  host: string;
  /** Seconds by which the node's clock is ahead. */
  ahead?: number;
  /** SLURM_… variables of the node's job. */
  env?: Record<string, string>;
  /** After this many milliseconds without a heartbeat the node takes a holder for dead. */
  staleMs?: number;
}

/**
 * A process on a node that tries to take the lock and reports the result. The holder runs until the
 * test stops it.
 */
async function onNode(folder: string, node: Node) {
  const { host, ahead = 0, env = {}, staleMs = 1000 } = node;
  const code = `
    Object.defineProperty(Deno, "hostname", { value: () => ${JSON.stringify(host)} });
    const now = Date.now;
    Date.now = () => now() + ${1000 * ahead};
    const { lockFolder } = await import(${
    JSON.stringify(new URL("./lock.ts", import.meta.url).href)
  });
    try {
      const lock = await lockFolder(
        ${JSON.stringify(folder)}, { heartbeatMs: 50, staleMs: ${staleMs} });
      console.log("locked");
      for await (const _ of Deno.stdin.readable);
      await lock.release();
    } catch (error) {
      console.log(error.message);
    }
    Deno.exit(0);`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", code],
    env,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const said = new TextDecoder().decode((await reader.read()).value).trim();
  const end = async () => {
    await reader.cancel();
    await child.status;
  };
  return {
    said,
    pid: child.pid,
    async release() {
      await child.stdin.close();
      await end();
    },
    /** Kills the process without releasing the lock, like a failing node. */
    async die() {
      child.kill("SIGKILL");
      await child.stdin.close().catch(() => {});
      await end();
    },
  };
}

test.inFolder("the holder is named, and its lock is taken over after it was killed", async (folder) => {
  const host = Deno.hostname(), other = await onNode(folder, { host });
  const isNamed = ({ message }: Error) => message.includes(`process ${other.pid} on ${host}`);
  await assert.rejects(lockFolder(folder), isNamed).finally(() => other.die());
  const lock = await lockFolder(folder);
  assert.equal(JSON.parse(await Deno.readTextFile(lock.path)).pid, Deno.pid);
  await lock.release();
  assert.deepEqual([...Deno.readDirSync(folder)], []);
});

/** Nodes that start together. Their clocks are right, two hours ahead and two hours behind. */
const atOnce = (folder: string, first: number) =>
  Promise.all([0, 7200, -7200].map((ahead, i) => onNode(folder, { host: `n${first + i}`, ahead })));

test.inFolder("only one of several nodes gets the folder, however wrong their clocks are", async (folder) => {
  const nodes = await atOnce(folder, 1);
  const others = nodes.filter(({ said }) => said !== "locked");
  assert.equal(others.length, 2, nodes.map(({ said }) => said).join("\n"));
  // Others are refused later too: the holder writes heartbeats.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const late = await atOnce(folder, 4);
  for (const { said } of [...others, ...late]) {
    assert.match(said, /another run is using this folder: process \d+ on n[123]/);
  }
  for (const node of [...nodes, ...late]) await node.release();
  assert.deepEqual([...Deno.readDirSync(folder)], []);
});

test.inFolder("a node without heartbeats loses the folder to one waiting node, and notices", async (folder) => {
  const first = await onNode(folder, { host: "n1" });
  await first.die();
  // This node waits a minute, so that a busy machine does not change what it finds.
  const soon = await onNode(folder, { host: "n2", ahead: 7200, staleMs: 60_000 });
  assert.match(soon.said, /last sign of life \d{1,2} s ago/);
  await soon.release();
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const nodes = await atOnce(folder, 3);
  assert.equal(nodes.filter(({ said }) => said === "locked").length, 1);
  for (const node of nodes) await node.release();

  const lock = await lockFolder(folder);
  assert.ok(await lock.isOurs());
  await Deno.writeTextFile(`${folder}/${LOCK_FILE}`, `{"pid": 1, "host": "n9"}`);
  assert.ok(!await lock.isOurs());
  await lock.release();
});

test.inFolder("a holder that blocks timers writes heartbeats with keepAlive while it is locked", async (folder) => {
  const lock = await lockFolder(folder, { heartbeatMs: 20 });
  const written = () => Deno.statSync(lock.path).mtime!.getTime();
  const busy = () => {
    const longAgo = Date.now() / 1000 - 1000;
    Deno.utimeSync(lock.path, longAgo, longAgo);
    for (const end = performance.now() + 100; performance.now() < end;) lock.keepAlive();
    return Date.now() - written();
  };
  assert.ok(busy() < 100_000);
  await Deno.writeTextFile(lock.path, `{"pid": 1, "host": "n9"}`);
  assert.ok(busy() > 900_000);
  await lock.release();
  lock.keepAlive();
});

const job = (id: string, restarts = 0) => {
  const variables: Record<string, string> = {
    SLURM_JOB_ID: id,
    ...(restarts === 0 ? {} : { SLURM_RESTART_COUNT: `${restarts}` }),
  };
  const env: Env = (name) => variables[name];
  return { env: variables, job: slurmJob(env) };
};

test.inFolder("a restarted job takes over its own lock at once, on any node", async (folder) => {
  const first = await onNode(folder, { host: "n1", env: job("17", 1).env });
  assert.equal(first.said, "locked");
  // The holder is start 1 of the job: neither start 0 nor start 1 may take over the lock.
  for (const restarts of [0, 1]) {
    const same = await onNode(folder, { host: "n2", env: job("17", restarts).env });
    assert.match(same.said, /process \d+ on n1 \(job 17\), since/);
    await same.release();
  }
  await first.die();
  const again = await onNode(folder, { host: "n2", env: job("17", 2).env });
  assert.equal(again.said, "locked");
  await again.release();
});

test.inFolder("the lock of another job is taken over when SLURM says that the job has ended", async (folder) => {
  const writeLock = () =>
    Deno.writeTextFile(
      `${folder}/${LOCK_FILE}`,
      JSON.stringify({ pid: 1, host: "n1", started: "2020-01-01T00:00:00Z", job: "16" }),
    );
  const take = (answer: boolean | null, options: LockOptions = {}) =>
    lockFolder(folder, {
      job: job("17").job,
      hasEnded(id) {
        assert.equal(id, "16");
        return Promise.resolve(answer);
      },
      ...options,
    });
  for (const answer of [false, null]) {
    await writeLock();
    await assert.rejects(take(answer), /process 1 on n1 \(job 16\), since 2020/);
  }
  // A suspended job is silent for long, and SLURM still has it.
  await assert.rejects(take(false, { staleMs: -1 }), /job 16/);
  await assert.rejects(take(true, { job: null }), /job 16/);
  const lock = await take(true);
  await lock.release();
});

test.inFolder("a holder in another container or before a reboot is judged by its heartbeat", async (folder) => {
  const path = `${folder}/${LOCK_FILE}`, host = Deno.hostname();
  const holder = { pid: 999_999_999, host, started: "2020-01-01T00:00:00Z" };
  await Deno.writeTextFile(path, JSON.stringify({ ...holder, space: "elsewhere" }));
  await assert.rejects(lockFolder(folder), /last sign of life/);
  await Deno.writeTextFile(path, JSON.stringify(holder));
  await (await lockFolder(folder)).release();
});
