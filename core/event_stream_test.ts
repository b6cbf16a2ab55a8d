import assert from "node:assert/strict";
import { eventStream } from "./event_stream.ts";
import { pause } from "./remote/retry.ts";

Deno.test("events come in their order, and the result at the end", async () => {
  const events = eventStream<number, string>(async (emit) => {
    emit(1);
    emit(2);
    await pause(5);
    emit(3);
    return "done";
  });
  const seen: number[] = [];
  let next = await events.next();
  for (; !next.done; next = await events.next()) seen.push(next.value);
  assert.deepEqual([seen, next.value], [[1, 2, 3], "done"]);
});

Deno.test("an error of the work comes after its events; leaving the loop ends the work", async () => {
  const failing = eventStream<number, void>(async (emit) => {
    emit(1);
    await pause(1);
    throw new Error("lost");
  });
  assert.equal((await failing.next()).value, 1);
  await assert.rejects(failing.next(), /lost/);
  let ended = false;
  const endless = eventStream<number, void>(async (emit, signal) => {
    while (!signal.aborted) {
      emit(0);
      await pause(1, signal);
    }
    ended = true;
  });
  for await (const event of endless) {
    assert.equal(event, 0);
    break;
  }
  assert.ok(ended);
});
