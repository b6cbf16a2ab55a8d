/** What SECURITY.md says of permissions: these commands work without any network. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { rgxProgram, root, tinyConfig } from "../support.ts";

test.inFolder("training, charts and exports need no network", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  for (
    const args of [
      ["train", config, "--output-dir", run, "--quiet"],
      ["curves", run, "--output", `${folder}/curves.svg`],
      ["export", run, "--to", "hf", "--output", `${folder}/hf`],
    ]
  ) {
    const [program, ...given] = rgxProgram(args);
    const words = given.map((word) => word === "-A" ? ["-A", "--deny-net"] : word).flat();
    const { code, stderr } = await new Deno.Command(program!, {
      args: words,
      cwd: root,
      env: { NO_COLOR: "1", SLURM_JOB_ID: "" },
    }).output();
    assert.equal(code, 0, `${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  }
});
