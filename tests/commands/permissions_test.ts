/** What SECURITY.md says of permissions: these commands work without any network. */
import { test } from "../../core/testing.ts";
import { V8_FLAGS } from "../../core/program_command.ts";
import { root, runs, tinyConfig } from "../support.ts";

test.inFolder("training, charts and exports need no network", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const commands = [
    ["train", config, "--output-dir", run, "--quiet"],
    ["curves", run, "--output", `${folder}/curves.svg`],
    ["export", run, "--to", "hf", "--output", `${folder}/hf`],
  ];
  // One process runs all of them, because starting one takes a moment.
  const input = `
    const { runCli } = await import(${JSON.stringify(new URL("cli/program.ts", root).href)});
    for (const args of ${JSON.stringify(commands)}) {
      if (await runCli(args) !== 0) throw new Error(args.join(" "));
    }
    Deno.exit(0);`;
  const flags = ["run", "-A", "--deny-net", "--no-check", V8_FLAGS, "-"];
  await runs([Deno.execPath(), ...flags], { input, cwd: root.pathname });
});
