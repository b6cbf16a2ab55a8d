import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "./testing.ts";
import { UsageError } from "./errors.ts";
import { holderHere, LOCK_FILE, lockFolder } from "./lock.ts";
import { processStartTicks } from "./machine/process_alive.ts";
import { NEEDED, needs } from "../tests/skipped.ts";

function refusal(...parts: string[]): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof UsageError);
    for (const part of ["another run is using this folder", ...parts]) {
      assert.ok(error.message.includes(part), `${error.message} lacks ${part}`);
    }
    assert.ok(error.advice?.includes(LOCK_FILE));
    return true;
  };
}

async function writeLock(folder: string, holder: Record<string, unknown>): Promise<void> {
  await Deno.writeTextFile(`${folder}/${LOCK_FILE}`, JSON.stringify(holder));
}

test.inFolder("a second run in a folder is refused until the first releases it", async (folder) => {
  const lock = await lockFolder(folder);
  await assert.rejects(
    lockFolder(folder),
    refusal(`process ${Deno.pid} on ${Deno.hostname()}`, folder),
  );
  await lock.release();
  await lock.release();
  assert.deepEqual([...Deno.readDirSync(folder)], []);
  await (await lockFolder(folder)).release();
});

/** Lines of a lock file that name a process that runs, and the time at which it started. */
const HOLDER = { pid: Deno.ppid, host: Deno.hostname(), started: "2020-01-01T00:00:00Z" };
/** Known on Linux only. */
const HOLDER_TICKS = processStartTicks(Deno.ppid);
/** A process that runs no more. */
const GONE = { ...HOLDER, pid: 999_999_999 };

test.inFolder("a process that runs holds its lock", async (folder) => {
  await writeLock(folder, { ...HOLDER, ticks: HOLDER_TICKS });
  await assert.rejects(lockFolder(folder), refusal(`process ${Deno.ppid}`, "since 2020"));
});

test.inFolder("a reused process id does not hold a lock", async (folder) => {
  const ticks = `${Number(HOLDER_TICKS) - 1}`;
  assert.equal(holderHere(JSON.stringify({ ...HOLDER, ticks: HOLDER_TICKS })), Deno.ppid);
  assert.equal(holderHere(JSON.stringify({ ...HOLDER, ticks })), null);
  await writeLock(folder, { ...HOLDER, ticks });
  await (await lockFolder(folder)).release();
}, needs(HOLDER_TICKS !== null, NEEDED.system));

test.inFolder("the lock of another machine is kept as long as it has heartbeats", async (folder) => {
  await writeLock(folder, { pid: 1, host: "node-17", started: "2020-01-01T00:00:00Z" });
  await assert.rejects(
    lockFolder(folder),
    refusal("process 1 on node-17", "last sign of life"),
  );
  const longAgo = Date.now() / 1000 - 301;
  await Deno.utime(`${folder}/${LOCK_FILE}`, longAgo, longAgo);
  await (await lockFolder(folder)).release();
});

test.inFolder("an unreadable lock is kept while it is new", async (folder) => {
  await Deno.writeTextFile(`${folder}/${LOCK_FILE}`, "");
  await assert.rejects(lockFolder(folder), refusal("its lock file is not readable"));
  const longAgo = Date.now() / 1000 - 301;
  await Deno.utime(`${folder}/${LOCK_FILE}`, longAgo, longAgo);
  await (await lockFolder(folder)).release();
});

test.inFolder("a lock is never seen without its holder, and what a dead process began is removed", async (folder) => {
  const path = `${folder}/${LOCK_FILE}`;
  await Deno.writeTextFile(`${folder}/${LOCK_FILE}.new-a`, "");
  let seen = 0;
  for (let i = 0; i < 50; i++) {
    let isLocked = false;
    const locking = lockFolder(folder).finally(() => isLocked = true);
    while (!isLocked) {
      const text = await Deno.readTextFile(path).catch(() => null);
      if (text === null) continue;
      assert.equal(JSON.parse(text).pid, Deno.pid);
      seen++;
    }
    await (await locking).release();
  }
  assert.ok(seen > 0);
  assert.deepEqual([...Deno.readDirSync(folder)], []);
});

test.inFolder("a folder or link in place of the lock file is an error: nobody would release it", async (folder) => {
  const path = `${folder}/${LOCK_FILE}`;
  await Deno.symlink("nowhere", path);
  await assert.rejects(lockFolder(folder), /a file that locks the folder is expected there/);
  await Deno.remove(path);
  await Deno.mkdir(path);
  await assert.rejects(lockFolder(folder), /a file that locks the folder is expected there/);
});

test.inFolder("the heartbeat updates the lock's time, but not of a lock that is no longer ours", async (folder) => {
  // Long enough that the lock is given away and released between two beats.
  const lock = await lockFolder(folder, { heartbeatMs: 300 });
  const longAgo = Date.now() / 1000 - 1000;
  await Deno.utime(lock.path, longAgo, longAgo);
  const age = async () => Date.now() - (await Deno.stat(lock.path)).mtime!.getTime();
  for (let i = 0; i < 500 && await age() > 100_000; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(await age() < 100_000);
  await writeLock(folder, { pid: 1, host: "node-17" });
  await lock.release();
  assert.match(await Deno.readTextFile(lock.path), /node-17/);
});

test.inFolder("a deleted lock is created again, unless its folder is gone", async (parent) => {
  const folder = `${parent}/run`;
  await Deno.mkdir(folder);
  const lock = await lockFolder(folder);
  await Deno.remove(lock.path);
  assert.ok(await lock.isOurs());
  await assert.rejects(lockFolder(folder), refusal(`process ${Deno.pid} on`));
  await Deno.rename(folder, `${parent}/elsewhere`);
  assert.ok(!await lock.isOurs());
  await lock.release();
  assert.deepEqual([...Deno.readDirSync(parent)].map(({ name }) => name), ["elsewhere"]);
});

test.inFolder("of many processes that find an abandoned lock at the same time, one gets it", async (folder) => {
  for (let round = 0; round < 5; round++) {
    await writeLock(folder, GONE);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i % 4));
        return await lockFolder(folder);
      }),
    );
    const got = outcomes.filter((o) => o.status === "fulfilled");
    assert.equal(got.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") assert.ok(outcome.reason instanceof UsageError);
      else await outcome.value.release();
    }
    assert.deepEqual([...Deno.readDirSync(folder)], [], "nothing is left");
  }
});

test.inFolder("a process that died while it took a lock over keeps nobody out", async (folder) => {
  await writeLock(folder, GONE);
  const path = `${folder}/${LOCK_FILE}`, text = await Deno.readTextFile(path);
  const id = createHash("sha256").update(text).digest("hex").slice(0, 16);
  await Deno.writeTextFile(`${path}.taken-${id}`, "");
  const minuteAgo = new Date(Date.now() - 60_000);
  await Deno.utime(`${path}.taken-${id}`, minuteAgo, minuteAgo);
  await (await lockFolder(folder)).release();
  assert.deepEqual([...Deno.readDirSync(folder)], []);
});
