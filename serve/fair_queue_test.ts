import assert from "node:assert/strict";
import { FairQueue } from "./fair_queue.ts";

const NEVER = new AbortController().signal;

/** Work that ends when it is told to, and the order in which works begin. */
function works() {
  const begun: string[] = [], ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
  };
  return { begun, work, end: (name: string) => ends.get(name)!() };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("requests take turns, and never more run than there is room for", async () => {
  const queue = new FairQueue(2, 9), { begun, work, end } = works();
  const large = queue.open(), small = queue.open(), done: Promise<string>[] = [];
  for (const i of [0, 1, 2, 3]) done.push(large(1, NEVER, work(`large ${i}`)));
  done.push(small(1, NEVER, work("small")));
  await turn();
  assert.deepEqual(begun, ["large 0", "large 1"]);
  assert.deepEqual([queue.running, queue.waiting], [2, 2]);
  end("large 0");
  await turn();
  end("large 1");
  await turn();
  assert.deepEqual(begun.slice(2), ["large 2", "small"]);
  for (const name of ["small", "large 2"]) end(name);
  await turn();
  end("large 3");
  assert.equal((await Promise.all(done)).length, 5);
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});

Deno.test("a piece that is larger than the room runs alone", async () => {
  const queue = new FairQueue(2, 9), { begun, work, end } = works(), add = queue.open();
  const done = [add(1, NEVER, work("a")), add(5, NEVER, work("b")), add(1, NEVER, work("c"))];
  await turn();
  assert.deepEqual(begun, ["a"]);
  end("a");
  await turn();
  assert.deepEqual(begun, ["a", "b"]);
  end("b");
  await turn();
  end("c");
  await Promise.all(done);
});

Deno.test("what is aborted leaves the queue, and a full queue refuses", async () => {
  const queue = new FairQueue(1, 1), { work, end } = works(), control = new AbortController();
  const first = queue.open()(1, NEVER, work("first"));
  const waits = queue.open()(1, control.signal, work("waits"));
  await turn();
  assert.throws(() => queue.open(), { status: 429 });
  control.abort(new Error("left"));
  await assert.rejects(waits, /left/);
  await assert.rejects(queue.open()(1, control.signal, work("never")), /left/);
  const next = queue.open()(1, NEVER, work("next"));
  end("first");
  await turn();
  end("next");
  assert.deepEqual(await Promise.all([first, next]), ["first", "next"]);
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});
