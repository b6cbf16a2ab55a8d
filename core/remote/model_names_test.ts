import assert from "node:assert/strict";
import { isRemoteName, namedModel } from "./model_names.ts";

Deno.test("a model has the name before its first equals sign, unless that is part of a path", () => {
  const cases: [string, string, string][] = [
    ["runs/a", "runs/a", "runs/a"],
    ["tuned=runs/a", "tuned", "runs/a"],
    ["after 50 steps=runs/lr=0.1/x", "after 50 steps", "runs/lr=0.1/x"],
    ["sweep/lr=0.1", "sweep/lr=0.1", "sweep/lr=0.1"],
    ["openai:a=b", "openai:a=b", "openai:a=b"],
    ["mine=openai:qwen", "mine", "openai:qwen"],
    ["mine=", "mine=", "mine="],
  ];
  for (const [text, name, place] of cases) assert.deepEqual(namedModel(text), { name, place });
  assert.deepEqual(["x=openai:y", "openai:y", "x=y"].map(isRemoteName), [true, true, false]);
});

Deno.test("a folder whose name has an equals sign is itself", async () => {
  const folder = await Deno.makeTempDir(), before = Deno.cwd();
  try {
    await Deno.mkdir(`${folder}/lr=0.1`);
    Deno.chdir(folder);
    assert.deepEqual(namedModel("lr=0.1"), { name: "lr=0.1", place: "lr=0.1" });
  } finally {
    Deno.chdir(before);
    await Deno.remove(folder, { recursive: true });
  }
});
