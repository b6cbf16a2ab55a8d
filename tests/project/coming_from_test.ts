/**
 * The page docs/coming_from.md as a reader tries it: its files are written into an empty folder,
 * and each of its commands is run there by a shell.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { goldenPath } from "../golden.ts";
import { copyFiles, HOST, root, runs } from "../support.ts";
import { commandsOf, filesOf, writeProgram } from "./page_commands.ts";

const PAGE = await Deno.readTextFile(new URL("docs/coming_from.md", root));

const COMMANDS = commandsOf("docs/coming_from.md", PAGE).map(({ text }) => text)
  .filter((text) => text.startsWith("rgx "));

test.inFolder("every command of docs/coming_from.md runs on the files that it shows", async (folder) => {
  for (const [name, text] of filesOf(PAGE)) await Deno.writeTextFile(`${folder}/${name}`, text);
  await copyFiles(goldenPath("models/stories260k"), `${folder}/model`);
  const actor = `${folder}/global_step_100/actor`;
  await copyFiles(goldenPath("fsdp/fsdp2/actor"), actor);
  await Deno.mkdir(`${actor}/huggingface`);
  await Deno.copyFile(goldenPath("fsdp/config.json"), `${actor}/huggingface/config.json`);
  const entry = { question: "2 + 3 =", answer: "5", metadata: { source_dataset: "chain_sum" } };
  await Deno.writeTextFile(`${folder}/entries.jsonl`, JSON.stringify(entry) + "\n");
  await writeProgram(folder);
  assert.ok(COMMANDS.length >= 15, `${COMMANDS.length} commands`);
  // What exports a file comes before what reads it.
  const isExport = (command: string) => command.startsWith("rgx tasks export");
  for (const command of [...COMMANDS.filter(isExport), ...COMMANDS.filter((c) => !isExport(c))]) {
    const PATH = `${folder}/bin:${Deno.env.get("PATH")}`;
    await runs(["sh", "-c", command], { cwd: folder, env: { PATH, RGX_TEST_HOST: HOST } });
  }
  const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
  assert.match(await read("runs/short/report.md"), /short/);
  assert.ok((await Deno.stat(`${folder}/trained/model.safetensors`)).isFile);
  assert.equal((await read("sums.jsonl")).trim().split("\n").length, 64);
});

Deno.test("the files that docs/coming_from.md shows are all used by its commands", () => {
  const text = COMMANDS.join("\n") + [...filesOf(PAGE).values()].join("\n");
  for (const name of filesOf(PAGE).keys()) {
    assert.ok(text.includes(name.replace(/\.yaml$/, "")), name);
  }
});
