import assert from "node:assert/strict";
import { argv } from "./command_line.ts";

Deno.test("a command line has the words that a shell would see", () => {
  const folder = "/tmp/a b", flags = ["--json", "two words"], none: string[] = [];
  assert.deepEqual(
    argv`train ${folder}/c.yaml --out=${folder}/run ${flags}
      --seed ${5} ${none} --prompt ${""} x${1}${2}`,
    ["train", "/tmp/a b/c.yaml", "--out=/tmp/a b/run", "--json", "two words"]
      .concat(["--seed", "5", "--prompt", "", "x12"]),
  );
  assert.deepEqual(argv` ${flags} `, flags);
  assert.throws(() => argv`--models=${flags}`, /space around --json,two words/);
  assert.throws(() => argv`${flags}x`, TypeError);
});
