import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal, test } from "../../core/testing.ts";
import { parseRename, readRenameFile, resolveRenames } from "./rename.ts";

const models = ["Qwen/Qwen2.5-7B-Instruct", "runs/lr=1e-4/checkpoint-9"];
const refuses = (message: RegExp) => refusal(message, UsageError);

Deno.test("a rename is split where the left side is a model's name", () => {
  const one = parseRename("Qwen/Qwen2.5-7B-Instruct=Qwen = 7B", models);
  assert.deepEqual([one.from, one.to], [models[0], "Qwen = 7B"]);
  const two = parseRename("runs/lr=1e-4/checkpoint-9=tuned", models);
  assert.deepEqual([two.from, two.to], [models[1], "tuned"]);
  const longer = parseRename("a=b=c", ["a", "a=b"]);
  assert.deepEqual([longer.from, longer.to], ["a=b", "c"]);
  for (const text of ["tuned", "=tuned", "Qwen/Qwen2.5-7B-Instruct="]) {
    assert.throws(() => parseRename(text, models), refuses(/expected "name of a model=/), text);
  }
});

Deno.test("an unknown name is refused with the nearest one", () => {
  const rename = parseRename("Qwen/Qwen2.5-7B-Instuct=Qwen", models);
  assert.throws(
    () => resolveRenames([rename], models),
    refuses(/no model "Qwen\/Qwen2\.5-7B-Instuct".*did you mean Qwen\/Qwen2\.5-7B-Instruct\?/),
  );
  assert.throws(
    () => resolveRenames([parseRename("checkpoint-9=tuned", models)], models),
    refuses(/did you mean runs\/lr=1e-4\/checkpoint-9\?/),
  );
});

Deno.test("the short names of the table are names too, unless they mean several models", () => {
  const to = (text: string) => [...resolveRenames([parseRename(text, models)], models)];
  assert.deepEqual(to("Qwen2.5-7B-Instruct=Qwen"), [[models[0], "Qwen"]]);
  assert.deepEqual(to("lr=1e-4/checkpoint-9=tuned"), [[models[1], "tuned"]]);
  assert.deepEqual(to("Qwen/Qwen2.5-7B-Instruct=Qwen"), [[models[0], "Qwen"]]);
  const same = ["a/model", "b/model"];
  assert.throws(
    () => resolveRenames([parseRename("model=x", same)], same),
    (error: UsageError) =>
      refuses(/--rename model=x: "model" means 2 models/)(error) &&
      error.advice === "Write one of: a/model, b/model.",
  );
  // A full name is preferred to the short name of another model.
  const nested = ["model", "b/model"];
  const names = resolveRenames([parseRename("model=x", nested)], nested);
  assert.deepEqual([...names], [["model", "x"]]);
});

Deno.test("a model renamed twice, and two models with one name, are refused", () => {
  const to = (from: string, name: string) => parseRename(`${from}=${name}`, models);
  assert.throws(
    () => resolveRenames([to(models[0]!, "a"), to(models[0]!, "b")], models),
    refuses(/renamed twice, to "a" and to "b"/),
  );
  assert.throws(
    () => resolveRenames([to(models[0]!, "a"), to(models[1]!, "a")], models),
    refuses(/would both be called "a"/),
  );
  assert.throws(
    () => resolveRenames([to(models[0]!, models[1]!)], models),
    refuses(/would both be called/),
  );
});

test.inFolder("a file of renames may have unused names, but no model twice", async (folder) => {
  const notes: string[] = [];
  const file = async (text: string) => {
    await Deno.writeTextFile(`${folder}/names.json`, text);
    return await readRenameFile(`${folder}/names.json`, models, notes);
  };
  const renames = await file(`{\n\t"${models[0]}": "Qwen 7B",\n\t"somebody/else": "Else"\n}`);
  assert.deepEqual([...resolveRenames(renames, models)], [[models[0], "Qwen 7B"]]);
  assert.match(notes.join(), /^[^,]*names\.json: no model "somebody\/else" in these results/);
  const refused: [text: string, message: RegExp][] = [
    ['{"nobody": "x"}', /no model "nobody"/],
    ['{"a": "x", "a": "y"}', /keys must be unique/],
    ['["a"]', /expected an object of names/],
    ['{"a": 1}', /expected an object of names/],
    ["a: *best", /names\.json: .*best/],
  ];
  for (const [text, message] of refused) await assert.rejects(file(text), refuses(message));
  const none = readRenameFile(`${folder}/none.json`, models, notes);
  await assert.rejects(none, refuses(/cannot read the rename/));
});
