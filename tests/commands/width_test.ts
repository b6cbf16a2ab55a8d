/**
 * The width of texts. On a terminal they are broken at its width. In a pipe a paragraph is one
 * line, however wide a terminal is said to be, so that `grep` finds it.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { rgx, tinyConfig } from "../support.ts";
import { HAS_TERMINAL, linesOnTerminal } from "../terminal.ts";

/** A terminal that is narrower than any of the lines below. */
const COLUMNS = 40;

/** A command, and long lines that it writes. */
type Case = readonly [args: readonly string[], ...lines: RegExp[]];

/** Lines of a training run before its first step. */
const PLAN = [
  /^prompts {3}rgx's own questions, without rgx's instruction about the answer's form \(.*\)$/,
  /^memory {4}.* planned of .*: .*$/,
  /^plan {6}8 supervised steps, evaluation on 8 .*, the same evaluation again$/,
];

/** In a folder with tiny.yaml. */
const CASES: readonly Case[] = [
  [argv`train tiny.yaml --dry-run --device wasm`, ...PLAN],
  [
    argv`doctor --plan tiny.yaml --gpu h100-80gb --nodes 2 --gpus 2`,
    /^planned for NVIDIA H100 SXM 80 GB: .* TFLOP\/s in f32, .*\/s$/,
    /^An estimate: docs\/scaling\.md has the formulas, and the parts .* measured\.$/,
  ],
  [["config", "list"], /^ {2}gsm8k +The usual first recipe: .* quantised instruct model\.$/],
  [
    ["tasks", "show", "chain_sum"],
    /^ {2}1 when the answer equals the sum .* else 0\.$/,
    /^ {2}num_terms +min_terms\/max_terms +2, 3, .* 11, 12$/,
  ],
  [
    ["rewards", "show", "cosine_scaled"],
    /^By accuracy_reward and tokens: a right .* max_value_wrong\.$/,
  ],
  [
    ["train", "no_such_configuration"],
    /^error: no configuration "no_such_configuration": neither a file nor .*$/,
    /^help: embedded experiments: .*quickstart.*$/,
  ],
];

/** A run that is trained here, and what reads it. */
const OF_A_RUN: readonly Case[] = [
  [
    argv`train tiny.yaml --output-dir run --device wasm`,
    ...PLAN,
    /^Accuracy .* points on 8 held-out problems; the 95 % intervals .*\.$/,
    /^Memory .* at most \(planned for completions of full length: .*\)\.$/,
  ],
  [
    argv`bench --models run --tasks chain_sum spell_backward --num-examples 2 --output-dir bench
      --no-charts`,
    /^model +score +format +.*$/,
    /^spell_backward +run − run \(untrained\) .*$/,
    /^p: McNemar's exact test on the same problems, with Holm's .*$/,
  ],
];

test.inFolder("in a pipe a paragraph is one line, in every command", async (cwd) => {
  await tinyConfig(cwd);
  for (const [args, ...lines] of [...CASES, ...OF_A_RUN]) {
    const { out, err } = await rgx(args, { cwd, env: { COLUMNS: String(COLUMNS) } });
    const written = `${out}\n${err}`.split("\n"), name = args.join(" ");
    for (const line of lines) {
      const found = written.filter((text) => line.test(text));
      assert.equal(found.length, 1, `${name}: ${line} in\n${written.join("\n")}`);
      assert.ok(found[0]!.length > COLUMNS, `${name}: too short to show anything: ${found[0]}`);
    }
  }
});

test.inFolder("on a terminal texts are broken at its width", async (folder) => {
  const config = await tinyConfig(folder);
  const commands = [
    ["rewards", "list"],
    ["config", "list"],
    ["tasks", "show", "jugs"],
    ["train", config, "--dry-run", "--device", "wasm"],
  ];
  for (const args of commands) {
    const written = await linesOnTerminal(args, 70);
    const most = Math.max(...written.map((line) => [...line].length));
    assert.ok(most > 50 && most <= 70, `${args.join(" ")}: ${most}\n${written.join("\n")}`);
  }
}, needs(HAS_TERMINAL, NEEDED.terminal));
