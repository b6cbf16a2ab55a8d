/**
 * The width of texts. On a terminal they are broken at its width. In a pipe a paragraph is one
 * line, however wide a terminal is said to be, so that `grep` finds it.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { type Result, rgx, tinyConfig } from "../support.ts";
import { HAS_TERMINAL, linesOnTerminal } from "../terminal.ts";

/** A terminal that is narrower than any of the lines below. */
const NARROW = { COLUMNS: "40" };

/** A command, and long lines that it writes; `folder` holds tiny.yaml and its run. */
interface Case {
  args: (folder: string) => string[];
  lines: RegExp[];
  input?: string;
}

/** Lines of a training run before its first step. */
const PLAN = [
  /^prompts {3}rgx's own questions, without rgx's instruction about the answer's form \(.*\)$/,
  /^memory {4}.* planned of .*: .*$/,
  /^plan {6}30 supervised steps, evaluation on 8 .*, the same evaluation again$/,
];

const CASES: Readonly<Record<string, Case>> = {
  "train --dry-run": {
    args: (folder) => ["train", `${folder}/tiny.yaml`, "--dry-run", "--device", "wasm"],
    lines: PLAN,
  },
  "doctor --plan": {
    args: (folder) => argv`doctor --plan ${folder}/tiny.yaml --gpu h100-80gb --nodes 2 --gpus 2`,
    lines: [
      /^planned for NVIDIA H100 SXM 80 GB: .* TFLOP\/s in f32, .*\/s$/,
      /^An estimate: docs\/scaling\.md has the formulas, and the parts .* measured\.$/,
    ],
  },
  "doctor --plan on one card": {
    args: (folder) => argv`doctor --plan ${folder}/tiny.yaml --gpu h100-80gb`,
    lines: [/^on the disk .*: .*$/, /^An estimate from the data sheet, .* the formulas\)\.$/],
  },
  "doctor --plan of what does not fit": {
    args: (folder) =>
      argv`doctor --plan ${folder}/tiny.yaml --device-memory 1GiB model.init.hidden_size=8192
        model.init.intermediate_size=8192 model.init.num_attention_heads=64`,
    lines: [/^fix: .*1\.0\d GB.*$/],
  },
  "config list": {
    args: () => ["config", "list"],
    lines: [/^ {2}gsm8k +The usual first recipe: .* quantised instruct model\.$/],
  },
  "tasks list": {
    args: () => ["tasks", "list"],
    lines: [/^knight_swap +games +yes +Swap white and black knights .* impossible\.$/],
  },
  "tasks show": {
    args: () => ["tasks", "show", "chain_sum"],
    lines: [
      /^ {2}1 when the answer equals the sum .* else 0\.$/,
      /^ {2}num_terms +min_terms\/max_terms +2, 3, .* 11, 12$/,
    ],
  },
  "tasks sample": {
    args: () => ["tasks", "sample", "chain_sum", "--size", "1"],
    lines: [/^\{"question":.*\}$/],
  },
  "rewards list": {
    args: () => ["rewards", "list"],
    lines: [/^check_answer_correctness +3 for .* not matched\.$/],
  },
  "rewards show": {
    args: () => ["rewards", "show", "cosine_scaled"],
    lines: [/^By accuracy_reward and tokens: a right .* max_value_wrong\.$/],
  },
  "slurm, its errors": {
    args: () => ["slurm", "smollm2_chain_sum", "me", "model.model_name_or_path=nobody/nothing"],
    lines: [/^error: model\.model_name_or_path: nobody\/nothing is not here \(looked in .*\)$/],
  },
  "an error with advice": {
    args: () => ["train", "no_such_configuration"],
    lines: [
      /^error: no configuration "no_such_configuration": neither a file nor .*$/,
      /^help: embedded experiments: .*quickstart.*$/,
    ],
  },
  "score": {
    args: () => ["score"],
    input: '{"question": "What is 2 + 2?", "answer": "4"}\n',
    lines: [/^\{"score":.*"error":.*\}$/],
  },
};

/** Runs a command and finds its lines, each whole. */
async function shows(name: string, { args, lines, input }: Case, folder: string): Promise<Result> {
  const result = await rgx(args(folder), { input: input ?? "", env: NARROW });
  const written = `${result.out}\n${result.err}`.split("\n");
  for (const line of lines) {
    const found = written.filter((text) => line.test(text));
    assert.equal(found.length, 1, `${name}: ${line} in\n${written.join("\n")}`);
    assert.ok(
      found[0]!.length > Number(NARROW.COLUMNS),
      `${name}: too short to show anything: ${found[0]}`,
    );
  }
  return result;
}

test.inFolder("in a pipe a paragraph is one line, in every command", async (folder) => {
  await tinyConfig(folder);
  for (const [name, command] of Object.entries(CASES)) await shows(name, command, folder);
});

test.inFolder("in a pipe a run and its benchmark write whole lines", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const lines = [
    ...PLAN,
    /^Accuracy .* points on 8 held-out problems; the 95 % intervals .*\.$/,
    /^Memory .* at most \(planned for completions of full length: .*\)\.$/,
  ];
  const train = ["train", config, "--output-dir", run, "--device", "wasm"];
  await shows("train", { args: () => train, lines }, folder);
  const tasks = ["chain_sum", "spell_backward"];
  const bench = ["bench", "--models", run, "--tasks", ...tasks, "--num-examples", "2"];
  await shows("bench", {
    args: () => [...bench, "--output-dir", `${folder}/bench`, "--no-charts"],
    lines: [
      /^warning: .* was trained on spell_backward with max_word_len=7, .*$/,
      /^model +score +format +.*$/,
      /^spell_backward +run − run \(untrained\) .*$/,
      /^p: McNemar's exact test on the same problems, with Holm's .*$/,
    ],
  }, folder);
  await shows("curves", {
    args: () => ["curves", run, "--metrics", "reward", "--output", `${folder}/no/such/folder.png`],
    lines: [/^error: .*no\/such.*$/],
  }, folder);
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
