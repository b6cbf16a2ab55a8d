/**
 * `deno task test`: format, lint, types, every test, the examples in the library's documentation, and the
 * kernels' tests once more without the V8 flags for speed (with bounds checks on, an access out of bounds traps). The
 * tests run in two processes at once, as most of them wait for one thread. The last line is the sum:
 * `N passed, N failed` (`, N skipped`). Arguments are handed to `deno test` as a filter of files.
 */

import { SAFE_V8_FLAGS, V8_FLAGS } from "../tools/v8_flags.ts";

const root = new URL("..", import.meta.url);
/** Files whose examples are run. */
const DOCUMENTED = ["mod.ts", "docs/library.md"];
/** Rooms whose tests take about as long as all others. */
const ENGINE = ["kernels", "models", "training"];
/** A command that prints nothing for so long hangs: all ends, and it counts as failed. The longest test takes a minute. */
const SILENCE_MS = 8 * 60_000;
const sum = { passed: 0, failed: 0, skipped: 0 };

/** Prints the sum and ends. */
function finish(): never {
  const skipped = sum.skipped > 0 ? `, ${sum.skipped} skipped` : "";
  console.log(`\n${sum.passed} passed, ${sum.failed} failed${skipped}`);
  Deno.exit(sum.failed === 0 ? 0 : 1);
}

function print(text: string): void {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

/**
 * Runs `deno` with `args`; returns the output and whether it succeeded. The output is echoed as it comes, once `turn`
 * has come.
 */
async function deno(
  args: readonly string[],
  turn: Promise<unknown> = Promise.resolve(),
): Promise<{ success: boolean; text: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let text = "", echoed = 0, isTurn = false;
  const echo = () => {
    print(text.slice(echoed));
    echoed = text.length;
  };
  const begin = turn.then(() => {
    isTurn = true;
    echo();
  });
  const decoder = new TextDecoder();
  const end = () => {
    echo();
    console.log(
      `\nnothing was printed for ${SILENCE_MS / 60_000} minutes: deno ${args[0]} is ended`,
    );
    child.kill("SIGKILL");
    sum.failed++;
    // What the command has started may hold its output open.
    finish();
  };
  let watch = setTimeout(end, SILENCE_MS);
  for await (const chunk of child.stdout) {
    clearTimeout(watch);
    watch = setTimeout(end, SILENCE_MS);
    text += decoder.decode(chunk, { stream: true });
    if (isTurn) echo();
  }
  clearTimeout(watch);
  await begin;
  return { success: (await child.status).success, text };
}

/** A check that counts as one test. */
async function check(name: string, ...args: string[]): Promise<void> {
  const { success } = await deno(args);
  console.log(`${success ? "ok" : "FAILED"}: ${name}`);
  sum[success ? "passed" : "failed"]++;
}

/** A run of `deno test`, told once `turn` has come; its closing line is added to the sum. */
async function test(
  name: string,
  args: readonly string[],
  turn = Promise.resolve(),
): Promise<void> {
  const titled = turn.then(() => console.log(`\n# ${name}`));
  const { success, text } = await deno(["test", "-A", "--no-check", ...args], titled);
  const closing = text.match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
  const number = (word: string) => Number(closing.match(new RegExp(`(\\d+) ${word}`))?.[1] ?? 0);
  sum.passed += number("passed");
  sum.failed += number("failed");
  sum.skipped += number("ignored");
  // A crash, a leak outside a test or a module that does not load has no count of its own.
  if (!success && number("failed") === 0) sum.failed++;
}

const files = Deno.args;
if (files.length > 0) {
  await test("the files asked for, with the V8 flags", [V8_FLAGS, ...files]);
} else {
  await check("format", "fmt", "--check", "--quiet");
  await check("lint", "lint", "--quiet");
  await check("types", "check", "--quiet", ".");
  await check("types of examples", "check", "--quiet", "--doc-only", ...DOCUMENTED);
  await check(
    "kernels.wasm is what its sources build",
    "run",
    "-A",
    "kernels/devices/wasm/build.ts",
    "--check",
  );
  const engine = test("tests of the engine, with the V8 flags", [
    V8_FLAGS,
    ...ENGINE.map((room) => `${room}/`),
  ]);
  await Promise.all([
    engine,
    test("all other tests, with the V8 flags", [V8_FLAGS, `--ignore=${ENGINE}`], engine),
  ]);
  const examples = test("examples in the library's documentation", [
    V8_FLAGS,
    "--doc",
    ...DOCUMENTED,
  ]);
  // Of the next process alone: the flags change nothing on a GPU, and nothing in TypeScript.
  Deno.env.set("RGX_TEST_WEBGPU", "off");
  Deno.env.set("RGX_TEST_REFERENCE", "off");
  await test("kernels with bounds checks", [
    SAFE_V8_FLAGS,
    "--ignore=kernels/webgpu,kernels/**/webgpu_test.ts,kernels/conformance/gradients_test.ts",
    "kernels/",
  ], examples);
}

finish();
