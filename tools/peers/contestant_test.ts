import assert from "node:assert/strict";
import { Contestant, Died } from "./contestant.ts";

/** Answers two lines, and then ends with some last words. */
const MORTAL = `
  console.log(JSON.stringify({ version: "mortal 1" }));
  let rounds = 0;
  for await (const _ of Deno.stdin.readable) {
    if (++rounds > 2) {
      for (let i = 1; i <= 20; i++) console.error("last word " + i);
      Deno.exit(3);
    }
    console.log(JSON.stringify({ seconds: rounds }));
  }`;

const command = (code: string): [string, ...string[]] => [Deno.execPath(), "eval", code];

Deno.test("a process that dies says how, with its last lines, after its rounds", async () => {
  const entry = { name: "mortal", command: command(MORTAL) };
  const { contestant, version } = await Contestant.start<{ seconds: number }>(entry);
  assert.equal(version, "mortal 1");
  await contestant.round();
  await contestant.round();
  assert.equal(contestant.best(({ seconds }) => seconds, Math.max), 2);
  const error = await contestant.round().then(() => null, (reason) => reason);
  assert.ok(error instanceof Died);
  assert.match(error.message, /^mortal died: its process ended \(exit code 3\): last[^]* 20$/);
  await contestant.end();
});

Deno.test("a process that dies before it is ready is reported, too", async () => {
  const entry = { name: "stillborn", command: command(`console.error("no model"); Deno.exit(1)`) };
  await assert.rejects(
    Contestant.start(entry),
    new Died("stillborn", "its process ended (exit code 1): no model"),
  );
});
