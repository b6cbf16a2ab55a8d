/**
 * `deno task compile`: builds dist/rgx, one file with the code, the configurations and the kernels.
 * `--safe` builds dist/rgx-safe without the V8 flags for speed, because flags cannot be changed in
 * an executable. It checks every memory access of the kernels and has about a third of the speed on
 * the CPU. The base executable is Deno's; DENORT_BIN names another one where it cannot be
 * downloaded.
 */
import config from "../deno.json" with { type: "json" };
import { SAFE_V8_FLAGS, V8_FLAGS } from "../core/program_command.ts";

/** Packages that the executable does not need. It embeds every other package of `imports` whole. */
const BUILD_ONLY = [
  "assemblyscript/asc",
  "axe-core",
  "esbuild",
  "fast-check",
  "openai",
  "playwright-core",
];

/**
 * Features of Deno that every run needs. Not all versions of `deno compile` read them in deno.json.
 */
const UNSTABLE = config.unstable.map((feature) => `--unstable-${feature}`);

const safe = Deno.args.includes("--safe");
const output = safe ? "dist/rgx-safe" : "dist/rgx";
const root = new URL("..", import.meta.url);
await Deno.mkdir(new URL("dist/", root), { recursive: true });
const imports = Object.entries(config.imports).filter(([name]) => !BUILD_ONLY.includes(name));
const slim = "dist/deno.compile.json";
await Deno.writeTextFile(
  new URL(slim, root),
  JSON.stringify({ ...config, imports: Object.fromEntries(imports), tasks: {} }),
);

const command = new Deno.Command(Deno.execPath(), {
  args: [
    "compile",
    "--config",
    slim,
    "--no-lock",
    "--allow-all",
    "--no-check",
    "--quiet",
    ...UNSTABLE,
    safe ? SAFE_V8_FLAGS : V8_FLAGS,
    "--include",
    "kernels/devices/wasm/worker.ts",
    "--include",
    "rewards/custom/worker.ts",
    "--include",
    "ranks/watch/worker.ts",
    "--include",
    "cli/scoring/score_worker.ts",
    "--include",
    "tasks/custom/relay.ts",
    "--include",
    "tasks/custom/worker.ts",
    "--include",
    "tasks/assets/arc.br",
    "--include",
    "tasks/assets/fonts.br",
    "--include",
    "tasks/assets/ladder.txt",
    "--include",
    "tasks/assets/rush_hour.txt",
    "--include",
    "tasks/assets/words.txt",
    "--output",
    output,
    "main.ts",
  ],
  cwd: root,
  stdout: "inherit",
  stderr: "inherit",
});
const { success } = await command.output();
if (!success) {
  console.error(
    "help: deno compile downloads its base executable once; without network set DENORT_BIN to a " +
      "denort of this Deno version",
  );
  Deno.exit(1);
}
const { size } = await Deno.stat(new URL(output, root));
console.log(`${output}: ${(size / 2 ** 20).toFixed(0)} MiB`);
