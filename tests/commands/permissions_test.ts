/** What SECURITY.md says of permissions: these commands work without any network. */
import { test } from "../../core/testing.ts";
import { rgxProgram, runs, tinyConfig } from "../support.ts";

test.inFolder("training, charts and exports need no network", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  for (
    const args of [
      ["train", config, "--output-dir", run, "--quiet"],
      ["curves", run, "--output", `${folder}/curves.svg`],
      ["export", run, "--to", "hf", "--output", `${folder}/hf`],
    ]
  ) {
    await runs(rgxProgram(args).toSpliced(2, 0, "--deny-net"));
  }
});
