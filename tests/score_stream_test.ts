/** `rgx score` on inputs that are larger than what is held at once, or that come slowly. */
import assert from "node:assert/strict";
import { createDataset } from "../tasks/dataset.ts";
import { lines, rgx, spawnRgx } from "./support.ts";

/** Lines with a known score each: right, nearly right, wrong, none, not a line at all. */
function input(count: number): { text: string; scores: number[] } {
  const data = createDataset("chain_sum", { seed: 8, size: count });
  const texts: string[] = [], scores: number[] = [];
  for (const [i, entry] of [...data].entries()) {
    const answers = [entry.answer, `${entry.answer} `, "no", null];
    if (i % 97 === 0) texts.push(i % 2 === 0 ? "" : "  \r");
    if (i % 5 === 4) texts.push("{not a line");
    else texts.push(JSON.stringify({ entry, answer: answers[i % 5] }) + (i % 3 === 0 ? "\r" : ""));
    scores.push([1, 1, 0, 0, 0][i % 5]!);
  }
  return { text: texts.join("\n"), scores };
}

Deno.test("megabytes are scored by several threads, in order, as one thread does it", async () => {
  const { text, scores } = input(12_000);
  const padded = text.replace("{not a line", "{".repeat(600_000));
  assert.ok(padded.length > 3 << 20);
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, padded);
    const several = await rgx(["score", path, "--threads", "3"]);
    assert.equal(several.code, 0, several.err);
    assert.deepEqual(lines(several.out).map((line) => JSON.parse(line).score), scores);
    const one = await rgx(["score", "-", "--threads", "1"], padded);
    assert.equal(one.out, several.out);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a line that comes alone is answered before the next one is there", async () => {
  const entry = createDataset("chain_sum", { seed: 8 }).entry(0);
  const child = spawnRgx(["score"], { stdin: "piped" });
  const writer = child.stdin.getWriter(), reader = child.stdout.getReader();
  for (const [answer, expected] of [[entry.answer, 1], ["no", 0]] as const) {
    await writer.write(new TextEncoder().encode(JSON.stringify({ entry, answer }) + "\n"));
    const { value } = await reader.read();
    assert.deepEqual(JSON.parse(new TextDecoder().decode(value)), { score: expected });
  }
  await writer.close();
  assert.ok((await reader.read()).done);
  assert.ok((await child.status).success);
  await child.stderr.cancel();
});

Deno.test("an output that is closed early ends the command quietly, threads and all", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, (input(12_000).text + "\n").repeat(3));
    const child = spawnRgx(["score", path, "--threads", "2"]);
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    const { code } = await child.status;
    assert.equal(await new Response(child.stderr).text(), "");
    assert.ok(code === 0 || code === 141, String(code));
  } finally {
    await Deno.remove(path);
  }
});
