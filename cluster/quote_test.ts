import assert from "node:assert/strict";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";
import { refuses, run } from "./testing.ts";

Deno.test("a shell reads quoted words unchanged", async () => {
  const words = [
    "plain",
    "",
    "two words",
    "it's",
    '$HOME `id` "x" \\ !',
    "#1;rm -rf /",
    "--a=b,c",
    "[1,2]",
    "ü\nnew line",
  ];
  const { out } = await run(["bash", "-c", `printf '%s\\0' ${shellWords(words)}`]);
  assert.deepEqual(out.split("\0").slice(0, -1), words);
  assert.equal(shellWord("training.max_steps=4"), "training.max_steps=4");
});

Deno.test("a folder that SLURM cannot handle is refused", async () => {
  for (const path of ["/a\\b", "/a\nb", "/a\x7f"]) {
    await refuses(() => requireScriptPath(path, "--work-dir"), ["--work-dir", "SLURM can not"]);
  }
  requireScriptPath("/it's odd %j #1/ü", "--work-dir");
});
