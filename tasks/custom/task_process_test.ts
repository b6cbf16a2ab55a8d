/**
 * A user's task in its process: what is forbidden, what ends the process, and that calls go on
 * afterwards.
 */
import assert from "node:assert/strict";
import { RandomStream } from "../../core/philox.ts";
import { HELPERS } from "./protocol.ts";
import { loadCode } from "../../core/sandbox/code_file.ts";
import { TaskProcess } from "./task_file.ts";

async function withTask(
  source: string,
  body: (task: TaskProcess, name: string) => void,
  seconds = 10,
): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(path, source);
  const { url } = await loadCode(path, { what: "task", helpers: HELPERS });
  const task = new TaskProcess("mine.ts", url, seconds);
  try {
    body(task, (await task.load()).name!);
  } finally {
    await task.close();
    await Deno.remove(path);
  }
}

const TASK = `import { defineTask, int as whole } from "@rgx/rgx";
export default defineTask({
  name: "mine",
  params: { most: whole(9, "most", { min: 1 }) },
  generate(random, { most }, index) {
    const n: number = random.int(0, most);
    return { question: index + ": " + n + "?", answer: "a".repeat(n), metadata: {} };
  },
  score(answer, { question }) {
    if (answer === "loop") for (;;);
    if (answer === "throw") throw new Error("no");
    if (answer === "files") return Deno.readTextFileSync("/etc/hosts").length;
    return question.length / 100;
  },
});`;
const of = { question: "12345", answer: null, metadata: {} };

Deno.test("entries are those of the stream that the program has", () =>
  withTask(TASK, (task, name) => {
    assert.equal(name, "mine");
    for (const index of [0, 1, 2 ** 33]) {
      const random = RandomStream.forTask(2 ** 40 + 3, "test", "mine", index);
      const { origin } = random, n = random.int(0, 50_000);
      const call = { call: "generate", stream: origin, config: { most: 50_000 }, index } as const;
      // Answers of many lengths, also longer than the first size of the shared memory.
      const { value } = task.call(call);
      assert.deepEqual(value, {
        question: `${index}: ${n}?`,
        answer: "a".repeat(n),
        metadata: {},
      });
    }
    const random = RandomStream.forTask(1, "train", "mine", 0);
    const config = { most: 1_000_000 }, n = new RandomStream(...random.origin).int(0, 1_000_000);
    const { value } = task.call({ call: "generate", stream: random.origin, config, index: 0 });
    assert.equal((value as { answer: string }).answer.length, n);
  }));

Deno.test("a call that throws, hangs or reads a file is an error, and the next one works", () =>
  withTask(TASK, (task) => {
    const score = (answer: string) => task.call({ call: "score", answer, entry: of }).value;
    assert.throws(() => score("throw"), /mine\.ts: score: .*no \(line 11/);
    assert.equal(score("x"), 0.05);
    assert.throws(() => score("files"), /Deno/);
    assert.throws(() => score("loop"), /score: it gave no answer within 0\.5 s/);
    assert.equal(score("x"), 0.05);
  }, 0.5));
