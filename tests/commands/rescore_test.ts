/** `rgx rescore`: the completions of a run with the same rewards, with others, and bad input. */
import assert from "node:assert/strict";
import { parquetWriteBuffer } from "hyparquet-writer";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { jsonLines, refuses, succeeds, tinyConfig } from "../support.ts";

test.inFolder("a run scored again with its own rewards has the same values; others differ", async (folder) => {
  const run = `${folder}/run`, config = await tinyConfig(folder);
  const reward = `${folder}/mine.ts`;
  await Deno.writeTextFile(
    reward,
    "export default ({ completionIds, truncated, entry, info, step }) => {\n" +
      "  if (!entry.question || info.source_dataset !== 'spell_backward' || step < 1) throw 1;\n" +
      "  return truncated ? null : -completionIds.length;\n};\n",
  );
  const never = `${folder}/never.ts`;
  await Deno.writeTextFile(never, "export default () => null;\n");
  await succeeds(["train", config, "--output-dir", run, "--quiet"]);
  const files = () =>
    Object.fromEntries(
      [...Deno.readDirSync(run)].map(({ name }) => [name, Deno.statSync(`${run}/${name}`).mtime]),
    );
  const before = files();

  const same = await succeeds(["rescore", run, "--json"]);
  const summary = JSON.parse(same.out);
  assert.deepEqual([summary.steps, summary.groups, summary.completions], [4, 16, 64]);
  assert.deepEqual(summary.after, summary.before);
  assert.ok(Math.abs(summary.correlation - 1) < 1e-9);
  assert.deepEqual([summary.other_sign, summary.errors], [0, 0]);

  const output = `${folder}/scores.jsonl`;
  const other = await succeeds(argv`rescore ${run} --steps 2-3 --output ${output} --reward ${reward}
      --reward ${"{name: format_answer, weight: 2}"} --reward ${never}`);
  assert.match(other.out, /^32 completions of 8 prompts in 2 steps$/m);
  assert.match(other.out, /^now +mine +1 +-\d+\.\d+ +\d+$/m);
  assert.match(other.out, /^never applies to none of these completions/m);
  assert.match(other.out, /^rank correlation over all completions +-?\d\.\d+$/m);
  const rows = jsonLines(await Deno.readTextFile(output));
  assert.equal(rows.length, 32);
  for (const { step, before, after, values } of rows) {
    assert.ok(step === 2 || step === 3);
    assert.equal(after, (values.mine ?? 0) + 2 * values.format_answer);
    assert.equal(typeof before, "number");
  }
  assert.ok(rows.some(({ values }) => values.mine === null), "no completion was cut off");
  assert.deepEqual(files(), before);

  await refuses([
    [[folder], /is not the folder of a run: it has no config\.yaml/],
    [[run, "--reward", "corectness"], /^error: --reward: unknown reward "corectness", did/],
  ], { before: ["rescore"] });
  const unreadable = { before: ["rescore"], code: 1 };
  const steps = "the run has completions of steps 1 to 4";
  await refuses([[[run, "--steps", "7"], steps]], unreadable);
  const table = `${run}/completions/completions_00002.parquet`;
  const bytes = await Deno.readFile(table);
  await Deno.writeFile(table, bytes.subarray(0, bytes.length / 2));
  await refuses([[[run], "completions_00002.parquet: is cut or damaged"]], unreadable);
  const old = { name: "step", data: [2], type: "INT32" as const };
  await Deno.writeFile(table, new Uint8Array(parquetWriteBuffer({ columnData: [old] })));
  await refuses([[[run], /does not hold the problems.*\nhelp: An earlier version/]], unreadable);
});
