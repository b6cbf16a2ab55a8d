/** The end of threads. */
import { strict as assert } from "node:assert";
import { CLOSED, CONTROL_BYTES, controlViews, IDLE, WORD } from "./control.ts";
import { dismiss, help, lead } from "./team.ts";

Deno.test("a thread that is about to sleep when the device is closed does not sleep", () => {
  for (let programs = 0; programs < 5; programs++) {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    const control = controlViews(new SharedArrayBuffer(CONTROL_BYTES), memory, 0);
    const { wait } = Atomics;
    const member = (thread: number) => ({ control, thread, spin: false, plan: () => [] });
    control.words[WORD.state] = IDLE;
    const found: string[] = [];
    // What other threads do between this thread's read of the state and its sleep.
    Atomics.wait = ((words: Int32Array, at: number, state: number) => {
      for (let i = 0; i < programs; i++) lead(member(0), []);
      dismiss(control);
      found.push(wait(words, at, state, 300));
    }) as typeof wait;
    try {
      help(member(1), CLOSED);
    } finally {
      Atomics.wait = wait;
    }
    assert.deepEqual(found, ["not-equal"], `after ${programs} programs`);
  }
});
