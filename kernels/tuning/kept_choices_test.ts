/** The file of measured kernels: what is kept is found again, and nothing else is used. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { CardFile, choicesFolder, keepChoices, measurableOn, readChoices } from "./kept_choices.ts";

const ADAPTER = { name: "A card / 80 GB", vendor: 4318, device: 1, software: false };
const ABOUT = measurableOn("webgpu", ADAPTER);
const CHOICE = { kernel: "tile", ms: 1, rule: "vector", rule_ms: 2 };
const NOTHING = { choices: {}, bad: {}, running: null, ended: {}, unfinished: null };

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (cache) => {
    const folder = choicesFolder(ABOUT, cache)!;
    assert.match(folder, /\/kernels\/A_card___80_GB-[0-9a-f]{12}$/);
    await Deno.mkdir(folder, { recursive: true });
    await work(folder);
  });
}

Deno.test("measured kernels are found again, and later ones are added", () =>
  inFolder(async (folder) => {
    assert.deepEqual(await readChoices(folder, ABOUT), { ...NOTHING, note: null });
    await keepChoices(folder, ABOUT, { choices: { a: CHOICE }, bad: { a: { x: "wrong" } } });
    const file = new CardFile(folder, ABOUT, ["b"], false, []);
    await file.read();
    const rule = { name: "vector", ms: 2, wrong: null };
    const candidates = [rule, { name: "tile", ms: 1, wrong: null }];
    file.tuned({ class: "b", choice: "tile", rule: "vector", candidates });
    file.isBad({ class: "a", candidate: "y" }, "crash");
    await file.write();
    assert.deepEqual(await readChoices(folder, ABOUT), {
      ...NOTHING,
      choices: { a: CHOICE, b: CHOICE },
      bad: { a: { x: "wrong", y: "crash" } },
      note: null,
    });
  }));

Deno.test("a file that is cut, of another version or card, or a folder in its place is not used", () =>
  inFolder(async (folder) => {
    const path = `${folder}/choices.json`;
    await keepChoices(folder, ABOUT, { choices: { a: CHOICE }, bad: {} });
    const text = await Deno.readTextFile(path);
    const found = async (content: string) => {
      await Deno.writeTextFile(path, content);
      const { note, ...kept } = await readChoices(folder, ABOUT);
      assert.deepEqual(kept, NOTHING);
      return note!;
    };
    assert.match(
      await found(text.slice(0, text.length / 2)),
      /choices\.json is not used: it is damaged/,
    );
    assert.match(await found(""), /damaged/);
    assert.match(await found(text.replace('"choices": {', '"choices": null, "x": {')), /damaged/);
    assert.match(await found(text.replace('"format": 2', '"format": 1')), /another version/);
    assert.match(await found(text.replace(ABOUT.rgx, "9.9.9")), /another card, driver or version/);
    // What is measured again replaces it.
    await keepChoices(folder, ABOUT, { choices: { a: CHOICE }, bad: {} });
    assert.deepEqual((await readChoices(folder, ABOUT)).choices, { a: CHOICE });
    await Deno.remove(path);
    await Deno.mkdir(path);
    assert.deepEqual((await readChoices(folder, ABOUT)).choices, {});
    await assert.rejects(keepChoices(folder, ABOUT, NOTHING), { name: "RgxError" });
  }));
